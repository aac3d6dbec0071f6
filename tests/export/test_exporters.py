"""An exporter is one file, which nothing else names; the one for pipe syntax writes the same flow or says why not."""

import importlib

import pytest

import pflow.export
from pflow.commands import export as export_command
from pflow.commands._click import run_click

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
    assert run_click(one_more, "export", ["--to=count", "shell --command=true => shell --command=true"]) == 0
    assert capfd.readouterr().out == "2\n"
    assert run_click(one_more, "export", ["--help"]) == 0
    assert "count    How many steps there are." in capfd.readouterr().out
