"""pflow export: what it says beside what it writes, and where it puts that."""

import pytest

from pflow.commands._click import run_click
from pflow.commands.export import command
from pflow.errors import PflowError


def export(*words):
    return run_click(command, "export", ["--to=dot", *words, "llm --prompt='in ${a'"])


def test_what_is_doubtful_in_pipe_syntax_is_said_and_the_flow_is_exported_all_the_same(capfd):
    assert export() == 0
    out, err = capfd.readouterr()
    assert out.startswith("digraph {")
    assert "pflow export: warning: '${a' in --prompt is no reference\n" in err


def test_an_output_is_made_with_the_folders_above_it_or_it_is_73(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert export("-o", "new/out") == 0
    assert (tmp_path / "new" / "out").read_text().endswith("}\n")
    for output in ("new", "new/out/below"):
        with pytest.raises(PflowError, match=f"cannot write '{output}': ") as caught:
            export("-o", output)
        assert caught.value.exit == 73
