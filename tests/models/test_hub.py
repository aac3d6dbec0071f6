"""Models from a hub: which file it is, and what is there after each way that getting it can end."""

from functools import partial
from hashlib import sha256

import pytest

from pflow.errors import PflowError
from pflow.models.hub import choose_file, get_model
from tests.peers.hub import CONTENT, FILE, Answering, hub

WHOLE = ["mmproj-Q4_K_M.gguf", "README.md", "a-BF16.gguf", "a-F16.gguf", "a-Q4_K_M.gguf", "a-Q8_0.gguf"]


def outcome(act, *words, **more):
    try:
        return act(*words, **more)
    except PflowError as error:
        return error.exit, f"{error.message}; {error.hint}"


@pytest.mark.parametrize(
    ("files", "quant", "file", "chosen"),
    [
        (WHOLE, "", "", "a-Q4_K_M.gguf"),
        (WHOLE, "f16", "", "a-F16.gguf"),
        (["x.gguf", "x-Q8_0.gguf"], "", "", "x-Q8_0.gguf"),
        (["mmproj-x.gguf", "z.gguf", "y.gguf"], "", "", "z.gguf"),
        (WHOLE, "", "mmproj-Q4_K_M.gguf", 66),
        (["b-Q4_K_M-00001-of-00002.gguf"], "", "", 65),
    ],
)
def test_the_file_is_the_one_that_llama_cpp_takes(files, quant, file, chosen):
    found = outcome(choose_file, "", files, quant, file)
    assert chosen in (found, found[0])


get = partial(outcome, get_model, is_agreed=False)


@pytest.fixture(scope="module")
def server():
    """A hub for huggingface_hub, which reads HF_ENDPOINT when it is imported."""
    with Answering(hub) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield server


@pytest.fixture
def model(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    server.downloads.clear()
    return tmp_path / "pflow" / "models" / FILE


def test_a_model_is_brought_once_and_another_of_its_name_stays(model, server):
    assert (get("good/tree"), get("good/tree:q4_k_m")) == ((str(model), True), (str(model), False))
    assert ([*model.parent.iterdir()], model.read_bytes(), len(server.downloads)) == ([model], CONTENT, 1)
    model.write_bytes(b"another")
    assert get(f"https://hub.example/good/tree/{FILE}")[0] == get("hub.example/good/tree")[0] == 73
    assert model.read_bytes() == b"another"


def test_a_download_that_was_cut_goes_on_and_is_no_model_before(model, server, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    code, said = get("cut/tree")
    assert (code, "the hub answers with 503; try the same command again: it keeps what" in said) == (75, True)
    assert [each.suffix for each in model.parent.iterdir()] == [".part"]
    assert get("cut/tree") == (str(model), True)
    assert [each.get("range") for each in server.downloads] == [None, "bytes=5000-", "bytes=5000-"]
    assert ([*model.parent.iterdir()], model.read_bytes()) == ([model], CONTENT)


def test_a_part_that_is_longer_than_the_file_begins_anew_and_so_does_what_the_hub_makes_longer(model, server):
    assert (get("endless/tree")[0], [*model.parent.iterdir()]) == (65, [])
    part = model.with_name(f"{FILE}.{sha256(CONTENT).hexdigest()[:12]}.part")
    part.write_bytes(CONTENT + b"more")
    assert get("good/tree") == (str(model), True)
    assert ([*model.parent.iterdir()], model.read_bytes()) == ([model], CONTENT)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("gated/tree", 77, "you have no access; HF_TOKEN"),
        ("gone/tree", 66, "there is no such repository"),
        ("odd/tree", 75, "its answer is garbled"),
        ("vague/tree", 65, "what the hub says does not fit: 'siblings[0].lfs.size' should be a valid integer"),
        ("climber/tree", 65, "what the hub says does not fit: 'siblings[0].lfs.sha256' should match pattern"),
        ("wrong/tree", 65, "another digest"),
        ("talker/tree", 65, "what the hub says has no end"),
        ("endless/tree", 65, "more came than the 0 MB that the hub says"),
        ("large/tree", 77, "nobody agreed to 1,000 MB; --yes"),
    ],
)
def test_what_cannot_be_had_is_said_and_leaves_no_model(model, name, code, words):
    found, said = get(name)
    assert (found, words in said, model.exists()) == (code, True, False), said


def test_without_a_network_the_reason_is_said(model, monkeypatch):
    for address, code in (("http://127.0.0.1:1", 69), ("rubbish", 78)):
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        assert (get("good/tree")[0], "protocol; HF_ENDPOINT is" in get("good/tree")[1]) == (code, code == 78)
