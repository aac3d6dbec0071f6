"""pflow export: what it says beside what it writes."""

from pflow.commands._click import run_click
from pflow.commands.export import command


def test_what_is_doubtful_in_pipe_syntax_is_said_and_the_flow_is_exported_all_the_same(capfd):
    assert run_click(command, "export", ["--to=dot", "llm --prompt='in ${a'"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("digraph {")
    assert "pflow export: warning: '${a' in --prompt is no reference\n" in err
