"""Batches in pipe syntax: what they run over, what an item fills, and how a wrong one is refused."""

import pytest

from pflow.errors import PflowError
from pflow.flow.ir import flow_to_ir
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.steps import flag_words
from pflow.flow.subflow import FlowCatalog
from pflow.interface.interface import Field
from pflow.values.types import Type
from tests.flow.own_nodes import own_nodes
from tests.flow.refusal import refusal

NODES = {
    "greet": """
    - Reads: shared["name"]: str [word]  # whom
    - Reads: shared["item"]: str = ""  # what with
    - Writes: shared["greeting"]: str [pipe]  # the greeting""",
    "dated": '\n    - Writes: shared["date"]: str [pipe]  # today',
}


@pytest.fixture(autouse=True)
def nodes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text("content")
    with own_nodes(tmp_path, NODES):
        yield


def batches(text):
    """Of each step that is a batch what it says of it, and its mappings."""
    ir = flow_to_ir(parse_pipe([text], FlowCatalog()))
    mappings = {id: each.get("input_mappings", {}) for id, each in ir.get("mappings", {}).items()}
    return [(node["batch"], mappings.get(node["id"], {})) for node in ir["nodes"] if "batch" in node]


LIST = "list-files --pattern='*' => "


@pytest.mark.parametrize(
    ("text", "batch", "mappings"),
    [
        (LIST + "read-file --each", {"over": "files"}, {"path": "item"}),
        ("read-file --each", {"over": "stdin"}, {"path": "item"}),
        ("shell --command=ls => llm --each", {"over": "stdout"}, {"text": "item"}),
        ("shell --command=ls => llm --each=stderr", {"over": "stderr"}, {"text": "item"}),
        ("shell:a --command=ls => shell:b --command=ls => llm --each=a.stdout", {"over": "a.stdout"}, {"text": "item"}),
        ("shell --id=a --command=ls => llm --each=stdout", {"over": "a.stdout"}, {"text": "item"}),
        ("shell --id=a --command=ls => write-file --path=o => llm --each", {"over": "a.stdout"}, {"text": "item"}),
        (LIST + "read-file --each --as=f --jobs=256 --keep-going --with-item",
         {"over": "files", "as": "f", "jobs": 256, "on_error": "keep", "keep_item": True}, {"path": "f"}),
        # an optional read is left alone where the step itself names the item
        (LIST + "llm --each --prompt='On $item'", {"over": "files"}, {"prompt": "template:On $item"}),
        (LIST + "llm --each --prompt='On $item_stem'", {"over": "files"}, {"prompt": "template:On $item_stem"}),
        (LIST + "llm --each --as=prompt", {"over": "files", "as": "prompt"}, {}),
        (LIST + "greet --each", {"over": "files"}, {}),
        (LIST + "greet --each --as=x", {"over": "files", "as": "x"}, {"name": "x"}),
        (LIST + "write-file --each --path='o/$item_dir/$item_name'", {"over": "files"}, {"content": "item"}),
        (LIST + "shell --command=x --each --map-in=args=item", {"over": "files"}, {"args": "item"}),
        # what is named with --each leaves what the pipe carries to the [pipe] read
        ("read-file --path=a => llm --each=topics --prompt='On $item'", {"over": "topics"},
         {"prompt": "template:On $item", "text": "content"}),
        # the very list that the pipe carries is no text beside its items
        ("load-csv a => llm '${item.b}' --each=rows", {"over": "rows"}, {"prompt": "item.b"}),
        ("load-csv a => ( llm '${item.b}' ) --each=rows", {"over": "rows"}, {}),
        # in parentheses a name is an input, which no item fills by its position
        (LIST + "( template '$item_stem' ) --each", {"over": "files"}, {}),
        (LIST + "( template '$lang $item' ) --each", {"over": "files"}, {}),
        (LIST + "( ( llm '$item_stem' ) => llm X ) --each", {"over": "files"}, {}),
        (LIST + "( write-file 'o/$item_name' ) --each", {"over": "files"}, {"content": "item"}),
        (LIST + "( read-file => llm 'On $item' ) --each", {"over": "files"}, {"path": "item"}),
        ("unknown-thing --each", {"over": "stdin"}, {}),
    ],
)  # fmt: skip
def test_flags_make_a_step_a_batch_and_its_item_fills_a_read(text, batch, mappings):
    assert batches(text) == [(batch, mappings)]


def test_a_batch_after_a_batch_runs_over_what_that_wrote():
    assert batches(LIST + "read-file --each => llm --each --jobs=2 => llm --each") == [
        ({"over": "files"}, {"path": "item"}),
        ({"over": "content", "jobs": 2}, {"text": "item"}),
        ({"over": "llm.response"}, {"text": "item"}),
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--jobs=2", "cannot take --jobs without --each; --each runs the step once for each item"),
        ("--as=x --no-each", "cannot take --as without --each"),
        ("--keep-going", "cannot take --keep-going without --each"),
        ("--each --each=x", "cannot take --each twice"),
        ("--each=a..b", "cannot take --each=a..b"),
        ("--each@list.txt", "cannot take --each@: it takes no file; --each=PATH"),
        ("--each=", "cannot take --each="),
        ("--each --jobs=0", "cannot take --jobs=0: it must be from 1 to 256"),
        ("--each --jobs=257", "cannot take --jobs=257: it must be from 1 to 256"),
        ("--each --jobs=two", "cannot take --jobs='two': it is not an int"),
        ("--each --as=", "cannot take --as='': an item needs a name"),
        ("--each --path=a", "cannot take --each: nothing in this step takes an item; name it: --path='$item'"),
    ],
)
def test_a_wrong_batch_is_refused(words, why):
    assert why in refusal(LIST + "read-file " + words)


def test_a_step_that_no_single_step_passes_a_value_to_cannot_run_for_each():
    assert "no single step passes a value to it" in refusal("dated --map-out=date=x =error=> llm --each")
    assert "--each=PATH" in refusal("shell:a --command=x => llm:b => llm:d --each; a =error=> llm:c => d")


def test_a_secret_is_never_written_as_a_flag():
    secret = Field("read", "key", Type("str"))
    assert flag_words("a", "key", secret, "x y") == ["--key='x y'"]
    assert flag_words("a", "other", None, "x") == ["--other=x"]
    secret.marks |= {"secret"}
    with pytest.raises(PflowError, match="no flag gives 'a' its 'key': a secret is never a flag"):
        flag_words("a", "key", secret, "x y")
