"""The interface grammar: strict, and the same for a docstring and for a script's comments."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.catalog.node_type import program_interface
from pflow.errors import PflowError
from pflow.interface.account import account_of
from pflow.interface.common import COMMON
from pflow.interface.grammar import parse_interface
from pflow.interface.source import read_interface, read_python
from pflow.text.printable import clean_json


def interface(*lines: str):
    return parse_interface("\n".join(["Do a thing.", "", "Interface:", *lines]))


def only_item(line: str):
    parsed = interface(line)
    (item,) = [*parsed.reads.values(), *parsed.writes.values(), *parsed.params.values()]
    return item


def test_an_item_has_a_name_a_type_a_default_marks_and_what_it_is():
    item = only_item('- Reads: shared["text"]: list[str] = ["a#b"] [pipe] [verbatim] [flag t]  # what to read # twice')
    assert (item.kind, item.name, str(item.type), item.default) == ("read", "text", "list[str]", ["a#b"])
    assert (item.marks, item.flags, item.doc) == ({"pipe", "verbatim"}, ["t"], "what to read # twice")


@pytest.mark.parametrize(
    ("type", "json", "value"),
    [
        ("str", '"]  # [pipe]"', "]  # [pipe]"),
        ("int", "2.0", 2),
        ("list[str]", '["a", "b"]', ["a", "b"]),
        ("dict{a: int}", '{"a": 1}', {"a": 1}),
        ("a|b", '"b"', "b"),
        *[(type, "null", None) for type in ("str", "int", "float", "bool", "path", "bytes", "list", "dict", "a|b")],
    ],
)
def test_a_default_is_json_of_the_type_or_null(type, json, value):
    item = only_item(f"- Params: x: {type} = {json}  # doc")
    assert item.default == value
    assert item.default.__class__ is value.__class__ or type == "int"
    assert (item.required, item.doc) == (False, "doc")


@pytest.mark.parametrize(
    ("line", "required", "value"),
    [
        ('language: str  # Transcript language (default: "en")', False, "en"),
        ("model: str  # whom to ask (default gpt-4), if any", False, "gpt-4"),
        ("x: float  # (default = 0.7)", False, 0.7),
        ("x: str  # (default: None)", False, None),
        ("x: bool  # (default: True)", False, True),
        ('x: str = "de"  # (default: "en")', False, "de"),
        ("x: int  # how many (default: ten)", True, None),
        ("x: str  # (default: what the file says)", True, None),
        ("x: str  # by (default)", True, None),
        ("x: str  # the (defaults) of a server", True, None),
        ("x: str [secret] [env X]  # (default: none)", True, None),
    ],
)
def test_a_description_may_state_the_default(line, required, value):
    item = only_item(f"- Params: {line}")
    assert item.required is required
    assert required or item.default == value
    assert only_item('- Writes: shared["x"]: str  # (default: "en")').required


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        *[
            ("Reads", mark)
            for mark in ("pipe", "explicit", "own", "word", "verbatim", "secret", "flag issue", "short i")
        ],
        *[("Writes", mark) for mark in ("pipe", "secret")],
        *[("Params", mark) for mark in ("verbatim", "flag k", "short K", "short X", "env PFLOW_K", "env NAME")],
    ],
)
def test_each_mark_is_taken_where_it_means_something(kind, mark):
    name = "x: str" if kind == "Params" else 'shared["x"]: str'
    item = only_item(f"- {kind}: {name} [{mark}]")
    word, _, argument = mark.partition(" ")
    found = {"flag": item.flags == [argument], "env": item.env == argument, "short": item.letter == argument}
    assert found.get(word, mark in item.marks)


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        *[("Reads", mark) for mark in ("env X", "pipes", "Pipe", "", "pipe x", "pipe, own")],
        *[("Reads", mark) for mark in ("flag", "flag a b", "flag --a")],
        *[("Writes", mark) for mark in ("explicit", "own", "word", "verbatim", "flag x", "short x", "env X")],
        *[("Params", mark) for mark in ("pipe", "explicit", "own", "word", "env", "env A B", "env A=B")],
    ],
)
def test_any_other_mark_is_refused(kind, mark):
    name = "x: str" if kind == "Params" else 'shared["x"]: str'
    with pytest.raises(PflowError, match=r"cannot have the mark \["):
        interface(f"- {kind}: {name} [{mark}]")


REFUSED = [
    ('Reads: shared["a"]: str', "begins with '- '"),
    ("- reads: x", "a line begins with one of Reads, Writes"),
    ('- Reads: shared["prompt"] - prompt to send to LLM', 'a read is written shared["key"]: TYPE'),
    ("- Reads: shared['prompt']: str", 'a read is written shared["key"]: TYPE'),
    ('- Writes: shared["a"]', 'a write is written shared["key"]: TYPE'),
    ('- Writes: shared["a"]: # text', "a type is missing"),
    ("- Params: model (default gpt-4), temperature", "a param is written name: TYPE"),
    ("- Params: a-b: str", "not a plain word"),
    ('- Reads: shared["a"]: string', "unknown type 'string'; did you mean str"),
    ('- Reads: shared["a"]: str [pipe] = "x"', "not a default, a mark or a comment"),
    ('- Reads: shared["a"]: str  what it is', "not a default, a mark or a comment"),
    ('- Reads: shared["a"]: str [pipe', "a mark ends with ']'"),
    ('- Reads: shared["a"]: any = None', "a default is written as JSON"),
    ('- Reads: shared["a"]: str = 1', "the default does not have the type str"),
    ('- Reads: shared["a"]: a|b = "c"', "the default does not have the type a|b"),
    ('- Writes: shared["a"]: str = "x"', "a write has no default"),
    ('- Writes: shared["stdin"]: str', "'stdin' is reserved"),
    ("- Params: key: str = null [secret]", "a [secret] param needs [env NAME]"),
    *[
        (f"- Params: x: str [short{text}]", "a letter is marked [short X]")
        for text in ("", " xy", " é", " 1", " x two")
    ],
    ("- Params: x: str [short x] [short y]", "it has two marks [short X]"),
    *[(f"- Params: x: {type} [pairs]", "needs a list[str]") for type in ("str", "list[int]", "dict")],
    *[(f"- Params: x: str [implies{text}]", "cannot have the mark [implies") for text in ("", " a", "=b")],
    ('- Writes: shared["a"]: str [implies b=c]', "cannot have the mark [implies"),
    ("- Params: x: str [short q]", "the same flag as every stage"),
    *[
        (f"- Params: {name}: int", f"'{name}' has the same flag as every step of a flow")
        for name in ("jobs", "repeats")
    ],
    ('- Reads: shared["x"]: str [flag with-item]', "the same flag as every step of a flow"),
    ("- Params: x: str [secret] [env X] [short x]", "a [secret] cannot have a letter or be a bare word"),
    ('- Reads: shared["a"]: str [secret] [word]', "a [secret] cannot have a letter or be a bare word"),
    ("- Actions:", "not the name of an action"),
    ("- Effects: reads file", "unknown effect 'reads file'"),
    *[
        (f"- Repeats: {text}", "is yes, no, unless PARAM or unless")
        for text in ("", "maybe", "Yes", "unless", "unless a b")
    ],
    ("- Repeats: unless fast  # why", "there is no param 'fast'"),
    ("- Repeats: unless fast is a", "there is no param 'fast'"),
    ("- Version: 1.0.0-beta", "a version is written 1.0.0"),
    ("- Flow-safe: true", "Flow-safe is yes or no"),
]


@pytest.mark.parametrize(("line", "why"), REFUSED)
def test_a_line_that_does_not_parse_is_refused_with_the_reason(line, why):
    with pytest.raises(PflowError, match=re.escape(why)) as caught:
        interface(line)
    assert caught.value.exit == 65
    assert line.strip() in caught.value.message


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (['- Reads: shared["a"]: str [pipe]', '- Reads: shared["b"]: str [pipe]'], r"the mark \[pipe\]"),
        (['- Writes: shared["a"]: str [pipe]', '- Writes: shared["b"]: str [pipe]'], r"the mark \[pipe\]"),
        (['- Reads: shared["a"]: str', '- Reads: shared["a"]: int'], "declared twice"),
        (['- Reads: shared["a"]: str', "- Params: a: str"], "another read or param"),
        (['- Reads: shared["a"]: str [flag c]', '- Reads: shared["b"]: str [flag c]'], "another read or param"),
        (['- Reads: shared["a"]: str [short c]', "- Params: b: str [short c]"], "another read or param"),
        (['- Reads: shared["a"]: list [word]', '- Reads: shared["b"]: str [word]'], "never gets a bare word"),
        (["- Flow-safe: yes", "- Effects: network"], "effects"),
        (["- Repeats: yes", "- Repeats: no"], "already a line Repeats"),
        (["- Repeats: unless do is c", "- Params: do: a|b"], "'c' is not a choice of 'do'"),
        (["- Repeats: unless do is a,", "- Params: do: a|b"], "'' is not a choice of 'do'"),
        (["- Repeats: unless fast is true", "- Params: fast: bool"], "'true' is not a choice of 'fast'"),
    ],
)
def test_lines_that_contradict_each_other_are_refused(lines, why):
    with pytest.raises(PflowError, match=why) as caught:
        interface(*lines)
    assert caught.value.exit == 65


@pytest.mark.parametrize("name", sorted({*COMMON, "no_cache"} - {"encoding"}))
def test_the_name_of_a_common_flag_is_refused(name):
    for line in (f'- Reads: shared["{name}"]: str', f"- Params: {name}: str", f"- Params: x: str [flag {name}]"):
        with pytest.raises(PflowError, match=r"the same flag as every stage|is reserved|not a plain word"):
            interface(line)


def test_words_and_letters_are_described():
    about = account_of(
        interface(
            '- Reads: shared["a"]: str [explicit] [word]',
            '- Reads: shared["b"]: list[str] = [] [word]',
            "- Params: c: list[str] = [] [short c] [pairs]",
        ),
    )
    assert [about["reads"][key]["marks"] for key in "ab"] == [["explicit", "word"], ["word"]]
    assert (about["params"]["c"]["short"], about["params"]["c"]["marks"]) == ("c", ["pairs"])


def test_actions_effects_version_and_flow_safety_are_read():
    parsed = interface(
        "- Actions: default, not-found  # when each is returned",
        "- Effects: reads files, runs commands  # why",
        "- Version: 2.10.0",
        "- Flow-safe: no",
    )
    assert parsed.actions == ("default", "not-found")
    assert parsed.actions_doc == "when each is returned"
    assert parsed.effects == ("reads files", "runs commands")
    assert (parsed.version, parsed.flow_safe) == ("2.10.0", False)


@pytest.mark.parametrize(
    ("lines", "repeats"),
    [
        ([], "yes"),
        (["- Effects: none"], "yes"),
        (["- Effects: reads files  # many"], "yes"),
        (["- Effects: reads files, network"], "no"),
        (["- Effects: writes files"], "no"),
        (["- Effects: runs commands"], "no"),
        (["- Effects: anything"], "no"),
        (["- Repeats: yes  # why", "- Effects: network"], "yes"),
        (["- Repeats: no"], "no"),
        (
            ["- Effects: writes files", "- Repeats: unless fast  # then twice", "- Params: fast: bool = false"],
            "unless fast",
        ),
        (["- Repeats: unless max-size", "- Params: max_size: int = null"], "unless max_size"),
    ],
)
def test_an_interface_says_whether_its_node_may_run_again_or_its_effects_do(lines, repeats):
    assert interface(*lines).repeats == repeats


@pytest.mark.parametrize("value", [True, 1, "x", ["x"], {"x": 1}])
def test_unless_a_param_means_where_it_is_set(value):
    parsed = interface("- Repeats: unless fast", "- Params: fast: any = null")
    assert not parsed.may_repeat({"fast": value})
    assert all(parsed.may_repeat({"fast": unset}) for unset in (None, False, 0, "", [], {}))
    assert parsed.may_repeat({})


def test_unless_a_choice_is_one_of_some_values_means_these():
    parsed = interface("- Repeats: unless do is add,  move", '- Params: do: look|add|move = "look"')
    assert parsed.repeats == "unless do is add, move"
    assert [each for each in ("look", "add", "move", "$what", None) if parsed.may_repeat({"do": each})] == ["look"]


def test_what_declares_no_interface_does_not_repeat():
    assert parse_interface("Do a thing.").repeats == "no"


def test_a_wrong_repeats_line_is_found_by_its_number():
    with pytest.raises(PflowError, match=r"at x\.py:12: '- Repeats: unless fast'"):
        parse_interface("Do.\n\nInterface:\n- Repeats: unless fast\n- Params: slow: int = 1", file="x.py", first_line=9)


@pytest.mark.parametrize("text", ["", "Do a thing.", "Interface", "The Interface: prose", "interface:\n- Reads: x"])
def test_without_an_interface_it_is_open(text):
    assert parse_interface(text).open


def test_prose_before_the_interface_is_a_summary_and_a_description():
    prose = "Do a\nthing.\n\nFirst.\nStill first.\n\nSecond.\n\n"
    parsed = parse_interface(prose + "Interface:\n- Params: a: str\n\nExamples:\n")
    assert parsed.summary == "Do a thing."
    assert parsed.description == "First.\nStill first.\n\nSecond."


LINES = [
    "Interface:",
    '- Reads: shared["text"]: str [pipe]  # the text',
    '- Writes: shared["words"]: int [pipe]  # how many',
    "- Params: minimum: int = 1  # letters that make a word",
    "- Actions: default, none  # none where there are none",
]

SCRIPTS = {
    "count.sh": ["#!/bin/sh", "# Count the words.", "#", *["# " + line for line in LINES], "", "wc -w"],
    "count.rb": ["#!/usr/bin/env ruby", "", "# Count the words.", "#", *["# " + line for line in LINES], "puts 1"],
    "count.js": ["// Count the words.", "//", *["// " + line for line in LINES], "console.log(1)"],
    "count.lua": ["-- Count the words.", "--", *["-- " + line for line in LINES], "print(1)"],
    "count.c": ["/* Count the words.", " *", *[" * " + line for line in LINES], " */", "int main() {}"],
    "count_words.py": [
        '"""A module."""', "import os", "class Helper:", "    pass", "class CountWords:", '    """Count the words.', "",
        *["    " + line for line in LINES], '    """', "    version = '9'",
    ],
}  # fmt: skip


def read(file):
    return read_interface(str(file)) if file.suffix == ".py" else program_interface(str(file))[0]


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_the_same_block_gives_the_same_interface_in_every_language(tmp_path, name, newline):
    file = tmp_path / name
    file.write_text("\n".join(SCRIPTS[name]) + "\n", newline=newline)
    expected = parse_interface("Count the words.\n\n" + "\n".join(LINES))
    assert account_of(read(file)) == account_of(expected)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_line_that_does_not_parse_is_named_with_its_file_and_line_in_every_language(tmp_path, name):
    file = tmp_path / name
    lines = [line.replace(": int = 1", ": integer = 1") for line in SCRIPTS[name]]
    file.write_text("\n".join(lines) + "\n")
    number = next(n for n, line in enumerate(lines, 1) if "integer" in line)
    with pytest.raises(PflowError, match=f"{name}:{number}: .*'integer'") as caught:
        read(file)
    assert caught.value.exit == 65


def test_of_a_program_only_the_first_4_kib_are_read(tmp_path):
    file = tmp_path / "pflow-late"
    file.write_text("# Late.\n" + "#\n" * 4096 + "# Interface:\n# - Nonsense\n")
    assert read(file).open
    binary = tmp_path / "pflow-binary"
    binary.write_bytes(b"\x7fELF\xff\xfe\0" * 1000)
    assert read(binary).open


def pipe_of(*lines):
    found = interface(*lines)
    return found.pipe_read and found.pipe_read.name, found.pipe_write and found.pipe_write.name, found.inferred


READS = ('- Reads: shared["a"]: str', '- Reads: shared["b"]: str')
WRITES = ('- Writes: shared["x"]: str', '- Writes: shared["y"]: str')


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((*READS, *WRITES), ("a", "x", True)),
        ((READS[0] + " = null", READS[1], WRITES[1]), ("b", "y", True)),
        ((READS[0] + " [explicit]", READS[1] + " [own]", *WRITES), (None, "x", True)),
        ((READS[0] + " [secret]", READS[1], WRITES[0] + " [secret]"), ("b", None, True)),
        ((READS[0] + " = null",), (None, None, False)),
        ((*READS, WRITES[0], WRITES[1] + " [pipe]"), (None, "y", False)),
        ((READS[0], READS[1] + " [pipe]", *WRITES), ("b", None, False)),
        (("- Params: a: str",), (None, None, False)),
    ],
)
def test_without_a_mark_pipe_the_first_required_read_and_the_first_write_have_it(lines, found):
    assert pipe_of(*lines) == found


def test_an_inferred_pipe_fills_the_read_that_is_called_as_what_it_carries():
    plain = interface(*READS, READS[0].replace('"a"', '"c"') + " [explicit]")
    assert [plain.read_fed(key).name for key in ("a", "b", "c", "x")] == ["a", "b", "a", "a"]
    assert interface(READS[0] + " [pipe]", READS[1]).read_fed("b").name == "a"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1))
@example("\x1b[31m\x9b2J\u202e\x07")
def test_no_word_of_an_interface_holds_what_a_terminal_obeys(text):
    lines = [f"Do {text}", "", f"More {text}", "", "Interface:", f'- Reads: shared["a"]: str  # {text}']
    parsed = parse_interface("\n".join([*lines, f"- Actions: default  # {text}", "", "Examples:", f"    run {text}"]))
    shown = [
        parsed.summary,
        parsed.reads["a"].doc,
        parsed.actions_doc,
        *parsed.examples,
        *parsed.description.split("\n"),
    ]
    assert all(each.isprintable() for each in shown)


def test_nor_does_the_fault_of_an_interface(tmp_path):
    file = tmp_path / "odd.py"
    file.write_text('class Odd:\n    """Do.\n\n    Interface:\n    -\x1b[31m Reads: x\n    """\n')
    assert "'-\\x1b[31m Reads: x'" in read_python(str(file))[0].fault


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_that_is_shown_is_the_same_json(text):
    shown = clean_json(json.dumps([text], ensure_ascii=False))
    assert json.loads(shown) == [text]
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("default", "params", "found"),
    [
        ("out.$form", {}, "out.json"),
        ("out.$form", {"form": "csv"}, "out.csv"),
        ("for $price", {"price": "5"}, "for $price"),
        ("for $nothing", {}, "for $nothing"),
        (7, {}, 7),
    ],
)
def test_a_default_may_end_in_what_was_chosen(default, params, found):
    given = '- Params: form: json|csv = null\n- Params: price: str = "1"'
    interface = parse_interface(f'Do.\n\nInterface:\n- Reads: shared["x"]: any = {json.dumps(default)}\n{given}')
    assert interface.default_of(interface.reads["x"], params) == found
