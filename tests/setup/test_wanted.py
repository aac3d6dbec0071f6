"""What setup puts in place: everything that comes with pflow, and what is made for a user's own nodes."""

import os

import pytest

from pflow.catalog.kinds import forget_kinds
from pflow.setup.wanted import find_wanted

NODE = '''from pflow import Node


class {title}(Node):
    """Do it.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the `text` of $x, "quoted"
    """
'''


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("PFLOW_NODES", str(folder))
    monkeypatch.setenv("PATH", "/nowhere")
    forget_kinds()
    yield folder
    forget_kinds()


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def test_own_nodes_get_a_page_and_completions(nodes):
    before = find_wanted().files
    (nodes / "word_stats.py").write_text(NODE.format(title="WordStats"))
    lines = '#!/bin/sh\n# Shout.\n#\n# Interface:\n# - Reads: shared["text"]: str [pipe]  # what\n'
    program(nodes / "pflow-shout", lines)
    wanted = find_wanted()
    assert wanted.left_out == []
    assert sorted(wanted.files.keys() - before.keys()) == [
        "bash-completion/completions/pflow-shout",
        "bash-completion/completions/pflow-word-stats",
        "fish/vendor_completions.d/pflow-shout.fish",
        "fish/vendor_completions.d/pflow-word-stats.fish",
        "man/man1/pflow-shout.1",
        "man/man1/pflow-word-stats.1",
        "zsh/site-functions/_pflow-shout",
        "zsh/site-functions/_pflow-word-stats",
    ]
    assert {name: wanted.files[name] for name in before} == before


def test_nodes_whose_interface_is_not_known_are_left_out_with_a_word(nodes):
    (nodes / "prose.py").write_text('class Prose:\n    """Only prose."""\n')
    (nodes / "broken.py").write_text(NODE.format(title="Broken").replace(": str", ": strange"))
    program(nodes / "pflow-bare", "#!/bin/sh\n")
    wanted = find_wanted()
    assert sorted(line.split("'")[1] for line in wanted.left_out) == ["bare", "broken", "prose"]
    assert not [name for name in wanted.files if "prose" in name or "broken" in name or "bare" in name]


def test_nothing_is_wanted_outside_of_the_four_folders(nodes):
    for name in ("a b.py", "-x.py", "..py", "é.py", "pflow-$(touch hurt)"):
        program(nodes / name, NODE.format(title="A"))
    for name in find_wanted().files:
        assert name.startswith(("man/man", "bash-completion/completions/", "zsh/site-functions/", "fish/vendor_"))
        assert os.path.normpath(name) == name
        assert " " not in name
        assert "$" not in name
