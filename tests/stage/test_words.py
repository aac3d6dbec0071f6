"""Bare words, letters and files: the short ways to what flags give."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.catalog.find import find_node
from pflow.errors import PflowError
from pflow.interface.common import COMMON
from pflow.interface.grammar import parse_interface
from pflow.interface.interface import Interface
from pflow.stage.flags import flags_of
from pflow.stage.words import is_on, part
from pflow.stage.wrong_words import check_arguments

NODE = parse_interface("""Ask.

Interface:
- Reads: shared["text"]: str = null [pipe]
- Reads: shared["question"]: str [own] [word]
- Reads: shared["where"]: path = null [word] [flag at]
- Reads: shared["args"]: list[str] = [] [word] [short a]
- Reads: shared["token"]: str = null [secret]
- Params: model: str = null [short m]
- Params: option: list[str] = [] [short o] [pairs]
- Params: kind: list[str] = [] [verbatim] [pairs] [types]
- Params: loud: bool = false [short l]
- Params: config: dict = {}
- Params: schema: any = null [verbatim]
""")


def values(*words: str, node: Interface = NODE):
    flags = flags_of(list(words), node)
    found = {name: each.value for name, each in {**flags.data, **flags.params}.items()}
    texts = [text for value in found.values() for text in (value if isinstance(value, list) else [value])]
    assert {type(text) for text in texts} <= {str, int, bool, dict}  # no kind of str of our own gets to a node
    return found


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["Why?"], ["--question=Why?"]),
        (["Why?", "here"], ["--question=Why?", "--where=here"]),
        (["Why?", "here", "a", "b"], ["--question=Why?", "--where=here", "--args=a", "--args=b"]),
        (["here", "a", "--question=Why?"], ["--question=Why?", "--where=here", "--args=a"]),
        (["Why?", "a", "--at=here"], ["--question=Why?", "--where=here", "--args=a"]),
        (["a", "--map-in=question=x", "--map_in", "where=y"], ["--map-in=question=x", "--map-in=where=y", "--args=a"]),
        ([""], ["--question="]),
        (["$text and $$"], ["--question=$text and $$"]),
        (["-r", "a", "--", "b", "-x", "--", "-", "="],
            ["-r", "--question=a", "--where=b", *(f"--args={each}" for each in ("-x", "--", "-", "="))]),
        (["--loud", "Why?"], ["--loud", "--question=Why?"]),
        (["a=b", "@x"], ["--question=a=b", "--where=@x"]),
        (["-m", "x"], ["--model=x"]),
        (["-mx"], ["--model=x"]),
        (["-m=x"], ["--model==x"]),
        (["-vqm", "-q"], ["--model=-q", "-vq"]),
        (["-rlmq", "a"], ["--model=q", "-r", "--loud", "--question=a"]),
        (["-aa", "-a", "b"], ["--args=a", "--args=b"]),
        (["-n", "true", "--quiet", "false"], ["-nq", "--question=true", "--at=false"]),
        (["--option", "seed", "1", "Why?"], ["--option=seed=1", "--question=Why?"]),
        (["--option", "seed=1", "Why?"], ["--option=seed=1", "--question=Why?"]),
        (["--kind", "a=b.dat", "image/png", "Why?"], ["--kind=a=b.dat=image/png", "--question=Why?"]),
        (["--kind", "h/x?id=3", "image/png; a=b"], ["--kind=h/x?id=3=image/png; a=b"]),
        (["--kind", "a.dat=image/png; a=b", "Why?"], ["--kind=a.dat=image/png; a=b", "--question=Why?"]),
        (["-o", "seed=1", "Why?"], ["--option=seed=1", "--question=Why?"]),
        (["-loseed=a=1", "Why?"], ["--option=seed=a=1", "--loud", "--question=Why?"]),
        (["-o", "seed", "1", "-loseed", "2"], ["--option=seed=1", "--option=seed=2", "--loud"]),
    ],
)  # fmt: skip
def test_words_and_letters_give_what_flags_give(words, same):
    outcome, flags = flags_of(words, NODE), flags_of(same, NODE)
    assert values(*words) == values(*same)
    assert [getattr(outcome, name) for name in COMMON] == [getattr(flags, name) for name in COMMON]
    assert (outcome.map_in, outcome.paths()) == (flags.map_in, flags.paths())


UNITS = [
    *(
        ["--question=a"],
        ["--at", "b"],
        ["--args", "c"],
        ["--loud"],
        ["--no-loud"],
        ["-m", "-q"],
        ["-vlm", "x"],
        ["-o", "n", "v"],
    ),
    *([word] for word in ("w", "[1]", "$text", "@w", "a=b", "")),
]


@given(st.lists(st.sampled_from(UNITS)))
def test_bare_words_may_stand_anywhere(units):
    """A flag that comes later counts as one before."""

    def outcome(units: list[list[str]]):
        try:
            return values(*(word for unit in units for word in unit))
        except PflowError as error:
            return error.message

    flags = [unit for unit in units if unit[0].startswith("-")]
    bare = [word for unit in units if unit not in flags for word in unit]
    assert outcome(units) == outcome([*flags, ["--", *bare]])


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
        | st.sampled_from(["[1]", "$text", "$$"])
    )
)
def test_each_word_of_a_list_is_one_item_and_never_json(items):
    flags = flags_of(["--verbatim", "--", "question", "where", *items], NODE)
    assert (flags.data["args"].value if items else []) == items


def test_a_reference_in_a_word_of_a_list_is_one_item():
    assert flags_of(["q", "w", "$text"], NODE).data["args"].value == ["$text"]
    assert values("q", "w", "$$text") == {"question": "q", "where": "w", "args": ["$text"]}


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--args=d", "a", "--", "b", "c"], "the bare word 'c': --at has 'b'", "quotes keep words together: 'a b c'"),
        (["a", "b", "--question=a", "--args=d"], "the bare word 'b': --at has 'a'", "quotes"),
        (["a", "--question=a", "--at=b", "--args=d"], "the bare word 'a': --args is given", "leave one"),
        (["--loud", "true"], "the bare word 'true'", "--loud=true"),
        (["-nl", "true"], "the bare word 'true'", "--loud=true"),
        (["--cache", "false"], "the bare word 'false'", "--cache=false"),
        (["-rl", "false"], "the bare word 'false'", "--loud=false"),
        (["-"], "'-'", "-- -"),
        (["question", "=", "x"], "'='", "--KEY=VALUE"),
        (["-x"], "-x: no such flag", "--help lists the flags"),
        (["-lxm"], "-x: no such flag", "--help lists the flags"),
        (["- a thing"], "no such flag", "-- '- a thing'"),
        (["--- a thing"], "no such flag", "-- '--- a thing'"),
        (["--max-cost=1"], "--max-cost: no such flag", "a budget is a run's: pflow run --max-cost FLOW"),
        (["--if-running", "skip"], "no such flag", "a run takes it: pflow run --if-running FLOW"),
        (["-model", "x"], "-model: no such flag", "did you mean --model?"),
        (["-model=x"], "-model: no such flag", "did you mean --model?"),
        (["-m"], "-m: it needs a value", "-m VALUE"),
        (["-o", "seed"], "-o: it needs a name and a value", "-o NAME VALUE"),
        (["-m", "x", "--model=x"], "--model twice", ""),
        (["-mx", "-my"], "--model twice", ""),
        (["-l=x"], "cannot take -l=x: no = stands behind a letter", "--loud=true, or --loud=false"),
        (["-lq=x"], "cannot take -lq=x: no = stands behind a letter", "--quiet=true"),
        (["-lz"], "cannot take -z: no such flag", ""),
    ],
)
def test_what_is_wrong_is_said_with_the_right_form(words, message, hint):
    with pytest.raises(PflowError) as caught:
        values(*words)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit == 2


def test_a_pattern_that_the_shell_expanded_is_to_be_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).touch()
    node = parse_interface('List.\n\nInterface:\n- Reads: shared["pattern"]: path [word]')
    with pytest.raises(PflowError) as caught:
        values("a.txt", "b.txt", node=node)
    assert (caught.value.message, caught.value.hint) == (
        "cannot take the bare word 'b.txt': --pattern has 'a.txt'",
        "quotes keep a pattern from the shell: '*.txt'",
    )


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["a.txt", "why"], "quotes keep words together: 'a.txt why'"),
        (["why", "a.txt"], "<a.txt reads that file; quotes keep words together: 'why a.txt'"),
        (["why", "a\0"], "quotes keep words together: 'why a"),
        (["why", "gone"], "quotes keep words together: 'why gone'"),
    ],
)
def test_words_without_quotes_may_be_a_text_or_the_file_that_was_meant(tmp_path, monkeypatch, words, hint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").touch()
    with pytest.raises(PflowError) as caught:
        values(*words, node=parse_interface('Ask.\n\nInterface:\n- Reads: shared["text"]: str [word]'))
    assert caught.value.message.endswith(f": --text has '{words[0]}'")
    assert caught.value.hint.startswith(hint)


def test_the_last_of_several_switches_counts():
    found = [is_on("loud", said) for said in ({"loud": ["true", "false"]}, {"loud": ["false", "true"]}, {})]
    assert found == [False, True, False]


@pytest.mark.parametrize(
    ("words", "others", "own"),
    [
        (["-lr", "x"], ["-l", "x"], ["-r"]),
        (["-rl", "x"], ["-l", "x"], ["-r"]),
        (["-rq"], [], ["-rq"]),
        (["-mx", "-r"], ["-mx"], ["-r"]),
        (["-rmx"], ["-mx"], ["-r"]),
        (["--raw", "--loud", "--what"], ["--loud", "--what"], ["--raw"]),
        (["-rz"], ["-rz"], []),
    ],
)
def test_a_commands_own_flags_are_taken_out_of_the_words(words, others, own):
    assert part(words, NODE.params, {name: COMMON[name] for name in ("raw", "quiet")}) == (others, own)


def test_a_node_without_the_mark_and_an_open_one_take_no_words():
    for node in (Interface(), parse_interface('Do.\n\nInterface:\n- Reads: shared["text"]: str')):
        with pytest.raises(PflowError, match="cannot take the bare word 'x': it takes flags only"):
            values("x", node=node)


def test_a_word_that_nothing_takes_may_be_what_is_still_needed():
    node = parse_interface('Do.\n\nInterface:\n- Reads: shared["n"]: int\n- Reads: shared["body"]: str [pipe]')
    with pytest.raises(PflowError) as caught:
        values("--n=1", "hi", node=node)
    assert caught.value.hint == "--body='hi'"
    rows = parse_interface('Do.\n\nInterface:\n- Reads: shared["rows"]: list[dict] [pipe]')
    with pytest.raises(PflowError) as caught:
        values("a.csv", node=rows)
    assert caught.value.hint == "--help lists the flags"


# A value from a file.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("data", "word", "found"),
    [
        (b"Why?\n", "--question@f", {"question": "Why?"}),
        (b"a\r\nb\n\n", "--question@f", {"question": "a\r\nb"}),
        (b"", "--question@f", {"question": ""}),
        ("é\0".encode(), "--question@f", {"question": "é\0"}),
        (b"$$", "--question@f", {"question": "$"}),
        (b"$text", "--question@f", {"question": "$text"}),
        (b'["a"]\n', "--args@f", {"args": ['["a"]']}),
        (b'{"a": 1}\n', "--config@f", {"config": {"a": 1}}),
        (b'{"$a": 1}\n', "--schema@f", {"schema": '{"$a": 1}'}),
        (b"true\n", "--loud@f", {"loud": True}),
        (b"x", "--question=@f", {"question": "@f"}),
        (b"x", "--question=a@f", {"question": "a@f"}),
        (b"x", "--schema:=1", {"schema": 1}),
    ],
)
def test_after_an_at_a_flag_takes_a_files_text(folder, data, word, found):
    (folder / "f").write_bytes(data)
    assert values(word) == found


def test_the_first_sign_splits_a_flag_and_each_file_is_one_item_of_a_list(folder):
    (folder / "a=b:=@").write_text("x y\n")
    assert values("--args@a=b:=@", "--args=c", "--args@a=b:=@") == {"args": ["x y", "c", "x y"]}


@pytest.mark.parametrize(
    ("word", "code", "said"),
    [
        ("--question@none", 66, "'none' for --question: no such file or directory"),
        ("--question@.", 66, "'.' for --question: is a directory"),
        ("--question@latin", 65, "'latin' for --question: it is not UTF-8"),
        ("--question@huge", 65, "'huge' for --question: it has more than 100,000,000 bytes"),
        ("--question@a\0b", 65, "a path cannot contain NUL"),
        ("--question@", 2, "--question@: no file is named"),
        ("--question@-", 2, "--question@-: stdin is not a file"),
        ("--question@/dev/stdin", 2, "--question@/dev/stdin: stdin is not a file"),
        ("--token@f", 2, "a secret is never a flag"),
        ("--id@f", 2, "--id@: it takes no file"),
        ("--tekst@f", 2, "no such flag"),
    ],
)
def test_a_file_that_cannot_be_taken_is_refused_in_words(folder, word, code, said):
    (folder / "latin").write_bytes(b"caf\xe9")
    (folder / "huge").touch()
    os.truncate(folder / "huge", 100_000_001)
    with pytest.raises(PflowError) as caught:
        values(word)
    assert said in caught.value.message
    assert caught.value.exit == code


def test_no_file_is_read_above_the_root(folder, monkeypatch):
    (folder / "f").write_text("x")
    (folder / "root").mkdir()
    monkeypatch.setenv("PFLOW_ROOT", str(folder / "root"))
    with pytest.raises(PflowError, match="is not below") as caught:
        values("--question@f")
    assert caught.value.exit == 77


DOC = Path(__file__).parents[2] / "docs" / "llm.md"
OPTIONS = re.findall(r"^\| (`-[^|]*) \| ([^|]*) \|$", DOC.read_text().partition("## Other options")[2], re.MULTILINE)


def hint_at(node: str, option: str) -> str | None:
    """Return the hint of a refusal; None for an option that is taken, and means something else."""
    try:
        flags_of([option, "x"], find_node(node).interface)
    except PflowError as error:
        return error.hint
    return None


@pytest.mark.parametrize(("options", "there"), OPTIONS)
def test_an_option_of_llms_says_what_its_page_says_and_only_for_pflow_llm(options, there):
    for option in re.findall("`(-[^`]+)`", options):
        hint = hint_at("llm", option)
        assert hint in (None, f"with pflow: {there.replace('`', '')}"), option
        assert hint is None or hint != hint_at("list-files", option)


def test_a_word_behind_a_command_that_uses_no_arguments_is_refused():
    check_arguments(["grep $1", "x"])
    with pytest.raises(PflowError) as caught:
        check_arguments(["echo hi", "x", "y"])
    assert caught.value.message == "cannot take the bare word 'x': 'echo hi' does not use its arguments"
    assert caught.value.hint.startswith("quotes keep words together: 'echo hi x y'; ")
    with pytest.raises(PflowError, match="bare word 'x'"):
        check_arguments(["echo hi", "x"])
