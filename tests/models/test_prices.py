"""What an answer costs where its provider does not say it: never guessed, and nothing only on this machine."""

from types import SimpleNamespace

import pytest
from llm import Attachment

from pflow.errors import PflowError
from pflow.models.prices import call_of, cost_of, longest_answer, most_of, size_of


@pytest.fixture(autouse=True)
def prices(tmp_path, monkeypatch):
    """The user's file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (tmp_path / "pflow").mkdir()
    return tmp_path / "pflow" / "prices.toml"


def model(id, key=None, **more):
    return SimpleNamespace(model_id=id, needs_key=key, **more)


OPENAI = model("gpt-4o-mini", "openai", model_name="gpt-4o-mini", api_base=None)
CLAUDE = model("anthropic/claude-opus-4-5", "anthropic")


@pytest.mark.parametrize(
    "asked",
    [
        OPENAI,
        CLAUDE,
        model("gemini/gemini-2.0-flash", "gemini"),
        model("mine", model_name="gpt-4o-mini", api_base="https://api.openai.com/v1"),
        model("openrouter/openai/gpt-4o", model_name="openai/gpt-4o", api_base="https://openrouter.ai/api/v1"),
        model("SmolLM2", cost=0),
    ],
)
def test_a_price_is_that_of_the_provider_at_the_address_or_of_the_key(asked):
    cost = cost_of(asked, 1000, 100, {})
    assert cost_of(asked, 0, 0, {}) is not None
    assert cost == 0 if asked.model_id == "SmolLM2" else 0 < cost < 0.1
    assert cost_of(asked, None, 100, {}) in (None, 0)


@pytest.mark.parametrize(
    "asked",
    [
        model("gpt-4o-mini", model_name="gpt-4o-mini", api_base="http://127.0.0.1:8000/v1"),
        model("gpt-4o-mini", "openai", model_name="gpt-4o-mini", api_base="https://example.org/v1"),
        model("gpt-99", "openai", model_name="gpt-99", api_base=None),
        model("gpt-4o-mini", "somebody"),
        model("gpt-4o-mini"),
        model("llama3:latest"),
        model(""),
    ],
)
def test_a_known_name_at_an_unknown_place_has_no_price(asked):
    assert cost_of(asked, 1000, 100, {}) is None
    assert cost_of(asked, 0, 0, {}) is None


def test_an_address_in_the_environment_is_where_a_model_is(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    assert cost_of(OPENAI, 0, 0, {}) is None
    assert cost_of(CLAUDE, 0, 0, {}) is not None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (OPENAI, {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 900}}),
        (OPENAI, {"input_tokens": 1000, "output_tokens": 10, "input_tokens_details": {"cached_tokens": 900}}),
    ],
)
def test_what_a_provider_had_in_its_cache_is_cheaper(asked, said):
    whole = {**said, "prompt_tokens_details": None, "input_tokens_details": None}
    assert cost_of(asked, 1000, 10, said) < cost_of(asked, 1000, 10, {}) == cost_of(asked, 1000, 10, whole)


@pytest.mark.parametrize(
    ("host", "name", "cost"),
    [
        (None, "oak:latest", 0),
        ("", "oak:latest", 0),
        *[(host, "oak:latest", 0) for host in ("127.0.0.1", "127.0.0.2:1", "0.0.0.0", "localhost:8000", "[::1]:11434")],
        *[(host, "oak", 0) for host in ("http://localhost:11434", "https://me:pw@127.0.0.1:1/api", ":11435")],
        *[(host, "oak", None) for host in ("gpu.lan", "10.0.0.7:11434", "https://ollama.com", "http://[2001:db8::1]")],
        (None, "gpt-oss:120b-cloud", None),
        ("http://127.0.0.1:11434", "oak:cloud", None),
    ],
)
def test_a_model_of_ollama_costs_nothing_on_this_machine(monkeypatch, prices, host, name, cost):
    monkeypatch.setenv("OLLAMA_HOST", host) if host is not None else monkeypatch.delenv("OLLAMA_HOST", raising=False)
    asked = model(f"ollama/{name}", ollama_name=name)
    assert cost_of(asked, 1000, 10, {}) == cost_of(asked, None, None, {}) == cost
    prices.write_text(f'"ollama/{name}" = {{ input = 1_000_000, output = 0 }}')
    assert cost_of(asked, 2, 1, {}) == 2


def test_your_own_price_comes_before_the_list(prices):
    prices.write_text('"gpt-4o-mini" = { input = 1000, output = 0.5 }\n[llama3]\ninput = 0\noutput = 2\n')
    assert cost_of(OPENAI, 1000, 2, {}) == 1.000001
    assert cost_of(model("llama3"), 1000, 1000, {}) == 0.002
    prices.write_text('"llama3" = { input = 1_000_000, output = 5_000_000 }')
    assert cost_of(model("llama3"), 2, 1, {}) == 7
    assert cost_of(model("llama3"), None, 1000, {}) is None
    at = "https://example.org/v1#llama3"
    assert [cost_of(model(id, cost=0), 2, 1, {}) for id in (at, "mine#llama3")] == [7, 0]
    prices.write_text(f'"llama3" = {{ input = 1, output = 1 }}\n"{at}" = {{ input = 0, output = 3_000_000 }}')
    assert cost_of(model(at), 2, 1, {}) == 3


@pytest.mark.parametrize(
    "text",
    [
        "m = {",
        "m = 3",
        "[m]\ninput = 1\n",
        '[m]\ninput = 1\noutput = "2"\n',
        "[m]\ninput = 1\noutput = -2\n",
        "[m]\ninput = 1\noutput = inf\n",
        "[m]\ninput = true\noutput = 1\n",
        b"\xff",
    ],
)
def test_a_malformed_file_is_named(prices, text):
    prices.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PflowError, match=r"cannot read '.*/prices\.toml'") as caught:
        cost_of(OPENAI, 0, 0, {})
    assert caught.value.exit == 78


def test_a_malformed_file_costs_no_answer(prices, server, capfd):
    from tests.nodes.test_llm import run

    prices.write_text("m = 3")
    assert run("reply")["usage"].keys() == {"model", "input", "output"}
    assert "the price of this answer is not known: cannot read" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "own", "answer"),
    [({}, {}, 4096), ({"max_tokens": None}, {"default_max_tokens": 256}, 256), ({"num_predict": 9}, {}, 9),
     ({"num_predict": -1}, {}, 4096), ({"max_output_tokens": 7}, {"default_max_tokens": 256}, 7)],
)  # fmt: skip
def test_a_call_reserves_its_bytes_and_the_longest_answer(options, own, answer):
    assert most_of(model("m", **own), 41, options, is_priced=False) == {"tokens": 11 + answer}
    assert most_of(model("SmolLM2", cost=0, **own), 41, options, is_priced=True) == {"tokens": 11 + answer, "cost": 0}


def prompt(*parts, schema=None, **options):
    parts = [SimpleNamespace(**part) for part in parts]
    return SimpleNamespace(messages=[SimpleNamespace(parts=parts)], schema=schema, options=SimpleNamespace(**options))


def test_a_question_has_the_bytes_that_it_sends(tmp_path):
    picture, page = tmp_path / "a.png", tmp_path / "a.pdf"
    for file, size in ((picture, 200_001), (page, 200_001)):
        file.write_bytes(b"x" * size)
    found = {
        "texts": prompt({"text": "é"}, {"text": "ab"}),
        "schema": prompt({"text": ""}, schema={"a": 1}),
        "url": prompt({"attachment": Attachment(url="https://h/a.png", type="image/png")}),
        "picture": prompt({"attachment": Attachment(path=str(picture), type="image/png")}),
        "page": prompt({"attachment": Attachment(path=str(page), type="application/pdf")}),
        "bytes": prompt({"attachment": Attachment(content=b"xy", type="image/png")}),
        "gone": prompt({"attachment": Attachment(path=str(tmp_path / "gone"), type="image/png")}),
    }
    sizes = {name: size_of(each) for name, each in found.items()}
    pictures = {"url": 200_000, "picture": 200_000, "page": 200_001, "bytes": 2, "gone": 0}
    assert sizes == {"texts": 4, "schema": 7, **pictures}


def test_under_a_limit_of_money_a_model_needs_a_price(prices):
    calls = SimpleNamespace(is_priced=True, in_map=True)
    with pytest.raises(PflowError, match="cannot ask 'm' under --max-cost: its price is not known") as caught:
        call_of(calls, model("m"), prompt({"text": "x"}))
    assert (caught.value.exit, caught.value.ends_run) == (78, True)
    prices.write_text("m = {input = 1.0, output = 2.0}")
    call = call_of(calls, model("m"), prompt({"text": "x" * 9}, max_tokens=10))
    assert call.about["most"] == {"tokens": 13, "cost": 0.000023}
    assert longest_answer(model("m"), {"max_tokens": True, "num_predict": 0}) in (1, 4096)
    calls.is_priced = False
    assert call_of(calls, model("m"), prompt({"text": "x"})).about["most"] == {"tokens": 4097}
