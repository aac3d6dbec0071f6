"""pflow export: a target is one file, what is said beside what is written, and where that is put."""

import importlib

import pytest

import pflow.export
from pflow.commands import export as export_command
from pflow.commands._command import run_command
from pflow.commands.export import command
from pflow.errors import PflowError


def export(*words, to="dot"):
    return run_command(command, [f"--to={to}", *words, "llm --prompt='in ${a'"])


def test_what_is_doubtful_in_pipe_syntax_is_said_and_the_flow_is_exported_all_the_same(capfd):
    assert export() == 0
    out, err = capfd.readouterr()
    assert out.startswith("digraph {")
    assert "pflow export: warning: '${a' in --prompt is not a reference\n" in err


def test_an_output_is_made_with_the_folders_above_it_or_it_is_73(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert export("-o", "new/out") == 0
    assert (tmp_path / "new" / "out").read_text().endswith("}\n")
    for output in ("new", "new/out/below"):
        with pytest.raises(PflowError, match=f"cannot write '{output}': ") as caught:
            export("-o", output)
        assert caught.value.exit == 73


@pytest.mark.parametrize(("target", "mode"), [("sh", 0o750), ("dot", 0o640)])
def test_a_script_is_executable_over_a_file_that_was_not(tmp_path, target, mode):
    (tmp_path / "out").touch()
    (tmp_path / "out").chmod(0o640)
    assert export("-o", str(tmp_path / "out"), to=target) == 0
    assert (tmp_path / "out").stat().st_mode & 0o777 == mode


COUNT = '''"""How many steps there are."""


def export(wired):
    return f"{len(wired.steps)}\\n"
'''


@pytest.fixture
def one_more(monkeypatch, tmp_path):
    """The command, with one exporter more."""
    (tmp_path / "count.py").write_text(COUNT)
    with monkeypatch.context() as patch:
        patch.setattr(pflow.export, "__path__", [*pflow.export.__path__, str(tmp_path)])
        yield importlib.reload(export_command).command
    importlib.reload(export_command)


def test_a_file_beside_the_others_is_an_exporter(one_more, capfd):
    assert run_command(one_more, ["--to=count", "shell --command=true => shell --command=true"]) == 0
    assert capfd.readouterr().out == "2\n"
    assert run_command(one_more, ["--help"]) == 0
    assert "count    How many steps there are." in capfd.readouterr().out
