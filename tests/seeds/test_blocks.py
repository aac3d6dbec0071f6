"""Every code block of the papers has its test or a note, and every node that is printed is used as it is printed."""

import ast
import re
from pathlib import Path

import pytest

from tests.seeds.blocks import HERE, PAPERS, block, blocks

NOTES = {
    ("001", 4): "a story in comments; tests/bats/missing_inputs.bats asks for an issue",
    ("002", 2): "the way of one flag, in the walk of section 13",
    ("002", 8): "comments",
    ("002", 9): "comments",
    ("003", 4): "the way of one flag; test_a_mapped_read_has_its_flag_where_the_mapping_says",
    ("003", 5): "the same with a mapping, in the same test",
    ("003", 7): "a sentence, which planning takes (DESIGN.md, section 8)",
    ("003", 14): "comments",
    ("003", 15): "comments",
    ("003", 18): "a sentence",
    ("003", 21): "a sentence",
    ("003", 24): "a sentence",
    ("003", 27): "a sentence",
    ("003", 36): "comments",
}
"""The blocks that no test takes from the papers, and why."""

PRINTED = {
    ("000", 1): "keys/summarize.py",
    ("001", 7): "printed/llm_node.py",
    ("002", 1): "bindings/yt_transcript.py",
    ("002", 14): "bindings/yt_transcript.py",
    ("002", 15): "bindings/yt_transcript.py",
    ("002", 16): "bindings/yt_transcript.py",
    ("002", 18): "bindings/summarise_text.py",
    ("002", 19): "bindings/summarise_text.py",
    ("002", 20): "bindings/summarise_text.py",
    ("003", 3): "printed/yt_transcript.py",
    ("003", 31): "printed/yt_transcript.py",
    ("003", 32): "printed/yt_transcript.py",
    ("003", 33): "printed/yt_transcript.py",
    ("003", 35): "stand_ins/summarise_text.py",
}
"""The file that has the node of a block."""


def taken():
    """The blocks that tests name."""
    sources = [file.read_text() for file in Path(__file__).parent.glob("test_seed_*.py")]
    found = re.findall(r'(?:block|execute|line)\("(\d+)", (\d+)', "\n".join(sources))
    return {(paper, int(number)) for paper, number in found}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_block_has_a_test_or_a_note(paper):
    known = {number for each, number in (taken() | set(NOTES) | set(PRINTED)) if each == paper}
    assert known == set(range(1, len(blocks(paper)) + 1))


def test_no_note_is_for_what_a_test_takes():
    assert taken() & set(NOTES) == set()


def body(function):
    """What a function does, whatever it calls what it is given, and without comments."""
    names = {argument.arg: f"_{n}" for n, argument in enumerate(function.args.args)}
    for each in ast.walk(function):
        if isinstance(each, ast.Name):
            each.id = names.get(each.id, each.id)
    return [ast.unparse(line) for line in function.body]


def methods(text):
    return {each.name: body(each) for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize(("place", "file"), PRINTED.items(), ids=[f"{paper}-{n}" for paper, n in PRINTED])
def test_a_printed_node_is_used_as_it_is_printed(place, file):
    text = (HERE / "nodes" / file).read_text()
    printed = {name: lines for name, lines in methods(block(*place)).items() if name in ("prep", "exec", "post")}
    assert printed
    assert printed.items() <= methods(text).items()
    for node in ast.walk(ast.parse(block(*place))):
        if isinstance(node, ast.ClassDef):
            assert ast.unparse(node) in ast.unparse(ast.parse(text))
