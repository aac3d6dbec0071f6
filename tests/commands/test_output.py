"""Where a command puts a text: a file that cannot be written is said, and is 73 whichever command it was."""

import pytest

from pflow.commands._click import run_click
from pflow.commands.export import command as export
from pflow.errors import PflowError

FLOW = "from pocketflow import Flow, Node\n\n\nclass Say(Node):\n    pass\n\n\ndef make():\n    return Flow(Say())\n"


def words_of(name, output):
    return {
        "export": ["--to=dot", "-o", output, "read-file --path=a => write-file --path=b"],
        "import": ["-o", output, "say.py:make"],
    }[name]


def command_of(name):
    return export if name == "export" else __import__("pflow.commands.import", fromlist=["command"]).command


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "say.py").write_text(FLOW)
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", ["export", "import"])
@pytest.mark.parametrize("output", ["folder", "say.py/below"])
def test_an_output_that_cannot_be_written_is_73(name, output):
    with pytest.raises(PflowError, match=f"cannot write '{output}': ") as caught:
        run_click(command_of(name), name, words_of(name, output))
    assert caught.value.exit == 73


@pytest.mark.parametrize("name", ["export", "import"])
def test_an_output_is_made_with_the_folders_above_it(here, name):
    assert run_click(command_of(name), name, words_of(name, "new/out")) == 0
    assert (here / "new" / "out").read_text().endswith("}\n")
