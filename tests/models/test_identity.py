"""Which model a request would go to, told without the llm library."""

import json
import subprocess
import sys

import llm
import pytest

from pflow.errors import PflowError
from pflow.models.identity import identify, model_parts, options_of

WITHOUT_LLM = "import sys, json; from pflow.files import reading; reading._MOMENT = 0; \
from pflow.models.identity import identify; print(json.dumps([identify(sys.argv[1] or None), 'llm' in sys.modules]))"


@pytest.fixture
def settings(server, tmp_path, monkeypatch):
    """llm's settings, of a user with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("LLM_MODEL", raising=False)
    return server.llm_user_path


def told_by_another_process(name=""):
    done = subprocess.run([sys.executable, "-P", "-c", WITHOUT_LLM, name], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_the_second_time_llm_is_not_imported(settings):
    (settings / "aliases.json").write_text('{"parrot": "echo"}')
    first, second = told_by_another_process("parrot"), told_by_another_process("parrot")
    assert (first[1], second[1]) == (True, False)
    assert first[0] == second[0] == identify("echo")
    assert first[0]["id"] == "echo"


def test_what_decides_which_model_it_is_decides_anew(settings, monkeypatch):
    def chosen(name=None):
        return identify(name)["id"]

    (settings / "default_model.txt").write_text("echo")
    assert chosen() == "echo"
    (settings / "default_model.txt").write_text("reply")
    assert chosen() == "reply"
    monkeypatch.setenv("LLM_MODEL", "whole")
    assert chosen() == "whole"
    monkeypatch.delenv("LLM_MODEL")
    (settings / "default_model.txt").unlink()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert chosen() == llm.get_default_model()
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(PflowError, match="cannot choose a model"):
        chosen()


def test_what_is_said_of_a_model_counts_and_what_is_said_of_others_does_not(settings):
    file = settings / "extra-openai-models.yaml"
    models = json.loads(file.read_text())
    before = identify("echo")
    file.write_text(json.dumps([*models, {"model_id": "new", "model_name": "new"}]))
    assert identify("echo") == before
    of_echo = next(model for model in models if model["model_id"] == "echo")
    of_echo["model_name"] = "reply"
    file.write_text(json.dumps(models))
    assert identify("echo") != before


def test_where_the_provider_is_said_to_be_counts(settings, monkeypatch):
    before = model_parts("gpt-4o-mini", [], None)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert model_parts("gpt-4o-mini", [], None) != before


@pytest.mark.parametrize("variable", ["ANTHROPIC_BASE_URL", "OLLAMA_HOST", "OPENAI_API_BASE"])
def test_the_variables_of_servers_count_for_the_models_of_their_plugin(settings, monkeypatch, variable):
    def model(plugin):
        return type("Voice", (), {"__module__": f"llm_{plugin}.models", "model_id": "voice", "needs_key": None})()

    of = {name: model(name) for name in ("anthropic", "ollama")}
    monkeypatch.setattr("pflow.models.choose.choose", lambda name: of[name])
    before = {name: model_parts(name, [], None) for name in of}
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    changed = [name for name in of if model_parts(name, [], None) != before[name]]
    assert changed == [name for name in of if variable.startswith(("OPENAI", name.upper()))]


def test_a_model_on_this_machine_is_its_file(settings, tmp_path):
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    assert identify(str(tmp_path / "small.gguf"))["weights"] == str(tmp_path / "small.gguf")
    with pytest.raises(PflowError, match="cannot find the model") as caught:
        identify("gone.gguf")
    assert caught.value.exit == 66


def test_options_that_were_chosen_for_a_model_are_told(settings):
    assert options_of("echo") == {}
    (settings / "model_options.json").write_text('{"echo": {"seed": 1}}')
    assert options_of("echo") == {"seed": 1}
    for damaged in ("[1]", "{", '{"echo": 5}'):
        (settings / "model_options.json").write_text(damaged)
        assert options_of("echo") == {}
