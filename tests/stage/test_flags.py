"""Flags: what a command's words mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.binding.flag_value import BoundField
from pflow.errors import PflowError
from pflow.interface.common import COMMON
from pflow.interface.grammar import parse_interface
from pflow.interface.interface import Field, Interface
from pflow.stage.flags import flags_of
from pflow.values.types import Type

NODE = parse_interface("""Ask.

Interface:
- Reads: shared["text"]: str [pipe]
- Reads: shared["issue_number"]: int [flag issue]
- Reads: shared["files"]: list[str] = []
- Reads: shared["numbers"]: list[int] = []
- Reads: shared["anything"]: list = []
- Reads: shared["config"]: dict = {}
- Reads: shared["where"]: path = null
- Reads: shared["free"]: any = null
- Reads: shared["command"]: str = null [verbatim]
- Reads: shared["token"]: str = null [secret]
- Reads: shared["loud"]: bool = false
- Reads: shared["own"]: str = null [own]
- Writes: shared["answer"]: str [pipe]
- Writes: shared["usage"]: dict
- Params: model: str = null [flag m] [env MODEL]
- Params: temperature: float = 0.7
- Params: check: bool = true
- Params: form: text|json_lines = "text"
- Params: api_key: str = null [secret] [env API_KEY]
""")


def parse(*words: str, node: Interface = NODE):
    return flags_of(list(words), node)


def values_of(*words: str, store: dict | None = None, node: Interface = NODE):
    """Every data flag and param with its value, references looked up in a small store."""
    flags = parse(*words, node=node)
    items = {**node.reads, **node.params}
    values = {**flags.data, **flags.params}
    return {name: BoundField(name, each.source(), items.get(name)).find(store or {}) for name, each in values.items()}


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["--text=a"], {"text": "a"}),
        (["--text", ""], {"text": ""}),
        (["--text=a=b"], {"text": "a=b"}),
        (["--text", "--model"], {"text": "--model"}),
        (["--text", "--"], {"text": "--"}),
        (["--text=007"], {"text": "007"}),
        *(([f"--text={text}"], {"text": text}) for text in ("1.10", "1e5", "true", "null", "[1]", " \n ")),
        (["--text", "-n"], {"text": "-n"}),
        (["--free=007"], {"free": "007"}),
        (["--issue-number=007"], {"issue_number": 7}),
        (["--issue=7"], {"issue_number": 7}),
        (["-n", "--issue", "-7"], {"issue_number": -7}),
        (["--temperature=1e-1"], {"temperature": 0.1}),
        (["--form=json_lines"], {"form": "json_lines"}),
        (["--loud"], {"loud": True}),
        (["--loud=false"], {"loud": False}),
        (["--no-loud"], {"loud": False}),
        (["--no_check"], {"check": False}),
        (["--loud", "--text=x"], {"loud": True, "text": "x"}),
        (["--files=a", "--files", "b"], {"files": ["a", "b"]}),
        (['--files=["a", "b"]'], {"files": ["a", "b"]}),
        (['--files=["a"]', "--files=b"], {"files": ["a", "b"]}),
        (["--files=[1, true, null]"], None),
        (["--numbers=1", "--numbers=02"], {"numbers": [1, 2]}),
        (["--anything=[[1, 2]]"], {"anything": [[1, 2]]}),
        (['--config={"a": [1]}'], {"config": {"a": [1]}}),
        (["--where=a b"], {"where": "a b"}),
        (["--where=caf\udce9"], {"where": "caf\udce9"}),
    ],
)
def test_a_flag_gives_a_value_of_its_declared_type(words, values):
    if values is None:
        with pytest.raises(PflowError):
            values_of(*words)
    else:
        found = values_of(*words)
        assert found == values
        assert {name: value.__class__ for name, value in found.items()} == {
            name: value.__class__ for name, value in values.items()
        }


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["word"], "bare word 'word'"),
        (["--loud", "true"], "bare word 'true'"),
        (["--", "--text=a"], "bare word '--text=a'"),
        (["-"], "cannot take '-'"),
        (["--text=a", "--text=b"], "--text twice"),
        (["--issue=1", "--issue-number=1"], "twice"),
        (["--loud", "--no-loud"], "both --loud and --no-loud"),
        (["--text"], "--text: it needs a value"),
        (["--nonsense"], "--nonsense: no such flag"),
        (["--answer=1"], "no such flag"),
        (["--no-check=true"], "no such flag"),
        (["-x"], "-x: no such flag"),
        (["-nx"], "-x: no such flag"),
        (["--issue=abc"], "--issue-number='abc': it is not an int"),
        (["--issue=18446744073709551616"], "does not fit in 64 bits"),
        (["--issue=1.0"], "it is not an int"),
        (["--temperature=nan"], "it is not a number"),
        (["--config=[]"], "it is not a JSON object"),
        (["--raw=x"], "neither true nor false"),
        (["--wait=-1"], "--wait=-1"),
        (["--id=a", "--id=b"], "--id twice"),
        (["--id=a b"], "cannot name a step 'a b'"),
        (["--id=-a"], "cannot name a step '-a'"),
        (["--loud=yes"], "neither true nor false"),
        (["--form=xml"], "not one of text, json_lines"),
        (["--where="], "it is empty"),
        (["--text=caf\udce9"], "not UTF-8"),
        (["--config=a"], "--config='a': it is not JSON"),
        (["--numbers=[true]"], "it is a bool, not int"),
        (["--token=x"], "--token: a secret is never a flag"),
        (["--api-key=x"], "--api-key: a secret is never a flag"),
        (["--retries=-1"], "--retries=-1"),
        (["--timeout=0"], "--timeout=0"),
        (["--timeout=1e300"], "--timeout"),
        (["--cache=always"], "--cache='always'"),
        (["--cache=require", "--refresh"], "both --refresh and --cache=require"),
        (["--no-cache", "--refresh"], "both --refresh and --no-cache"),
        (["--from=xml"], "not one of auto, store, text, json"),
        (["-rj"], "in two ways: --raw and --json"),
        (["--id=stdin"], "cannot name a step 'stdin'"),
        (["--id=a.b"], "cannot name a step 'a.b'"),
        (["--map-in=text"], "it has no ="),
        (["--map-in=text=a..b"], "empty step"),
        (["--map-in=where="], "--map-in=where=: the pipe does not fill 'where'"),
        (["--map-in=txt=a"], "--map-in=txt=PATH: no such key"),
        (["--map-in=text=a", "--map-in=text=b"], "--map-in"),
        (["--map-out=text=a"], "--map-out=text=PATH: no such key"),
        (["--map-out=answer=x.y", "--map-out=usage=x"], "--map-out"),
        (["--map-out=answer=stdin"], "it is not a place to write to"),
        (["--map-out=answer=stdin.a"], "it is not a place to write to"),
        (["--map-out=answer=$x.a"], "it is not a place to write to"),
        (["--map-out=answer=$x"], "it is not a place to write to"),
        (["--map-out=answer=a[0]"], "it is not a place to write to"),
    ],
)
def test_a_flag_that_is_wrong_is_refused_in_words(words, why):
    with pytest.raises(PflowError) as caught:
        parse(*words)
    assert why in caught.value.message
    assert caught.value.exit == 2
    assert caught.value.message[0].islower()


@pytest.mark.parametrize("wanted", ["help", "version", "describe"])
def test_what_a_node_tells_of_itself_is_told_beside_a_wrong_flag(wanted):
    flags = parse(f"--{wanted}", "--no-such-flag")
    assert [name for name in ("help", "version", "describe") if getattr(flags, name)] == [wanted]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("--txt=a", "did you mean --text?"),
        ("--retry=1", "did you mean --retries?"),
        ("hello", "--text='hello'"),
        ("--token=x", "it comes from the store"),
        ("--api-key=x", "set API_KEY"),
    ],
)
def test_the_hint_says_what_to_write_instead(word, hint):
    with pytest.raises(PflowError) as caught:
        parse(word)
    assert caught.value.hint == hint


# Common flags.


def common(*words):
    flags = parse(*words)
    return {name: getattr(flags, name) for name in COMMON}


def test_each_letter_is_its_long_flag():
    for letter, name in [(flag.letter, flag.name) for flag in COMMON.values() if flag.letter]:
        assert common(f"-{letter}") == common("--" + name.replace("_", "-")) != common()


def test_letters_may_stand_together():
    flags = parse("-nrv")
    assert (flags.no_stdin, flags.raw, flags.verbose) == (True, True, True)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--no-stdin"], "no_stdin", True),
        (["--no_stdin"], "no_stdin", True),
        (["--no-stdin=false"], "no_stdin", False),
        (["--raw=true"], "raw", True),
        (["--from=text"], "from", "text"),
        (["--from", "json"], "from", "json"),
        (["--id=draft-2_b"], "id", "draft-2_b"),
        (["--retries=3"], "retries", 3),
        (["--retries=0"], "retries", 0),
        (["--wait", "0.5"], "wait", 0.5),
        (["--wait=0"], "wait", 0),
        (["--timeout=2"], "timeout", 2),
        (["--cache"], "cache", True),
        (["--no-cache"], "cache", False),
        (["--cache=require"], "cache", "require"),
        (["--refresh"], "refresh", True),
    ],
)
def test_a_common_flag_has_its_own_type(words, name, value):
    assert common(*words)[name] == value


def test_mappings_repeat_and_hold_paths():
    flags = parse("--map-in=text=a.b[0]", "--map-in", "where=docs/a.txt", "--map-out=answer=x.y")
    assert flags.map_in == {"text": ("a", "b", 0), "where": ("docs", "a.txt")}
    assert flags.map_out == {"answer": ("x", "y")}


@pytest.mark.parametrize(
    ("words", "key", "place"),
    [
        ([], "answer", ("answer",)),
        (["--id=draft"], "answer", ("draft", "answer")),
        (["--map-out=answer=x.y"], "answer", ("x", "y")),
        (["--map-out=answer=x.stdin"], "answer", ("x", "stdin")),
        (["--id=draft", "--map-out=answer=x.y"], "answer", ("x", "y")),
        (["--id=draft", "--map-out=answer=x.y"], "usage", ("draft", "usage")),
    ],
)
def test_a_write_goes_where_its_mapping_says_else_below_the_name_of_the_step(words, key, place):
    assert parse(*words).place_of(key) == place


@pytest.mark.parametrize(
    "word",
    ["--text=x $b", "--free=x $b", "--files=x $b", '--config={"k": ["x $b"]}', '--anything=[{"k": "x $b"}]', "--m=x$b"],
)
def test_bytes_inside_text_are_refused_where_they_are_no_text(word):
    with pytest.raises(PflowError, match="its bytes are not UTF-8") as caught:
        values_of(word, store={"b": b"\xff"})
    assert caught.value.exit == 65
    assert list(values_of(word, store={"b": b"y"}).values()) in (
        [["x y"]], ["x y"], ["xy"], [{"k": ["x y"]}], [[{"k": "x y"}]]
    )  # fmt: skip


# Templates in flags.


@pytest.mark.parametrize(
    ("words", "store", "values"),
    [
        (["--text=Hi $n"], {"n": 7}, {"text": "Hi 7"}),
        (["--text=$n"], {"n": 7}, {"text": "7"}),
        (["--text=$n"], {"n": [1, None]}, {"text": "[1,null]"}),
        (["--text=$$n"], {}, {"text": "$n"}),
        (["--free=$n"], {"n": [1, None]}, {"free": [1, None]}),
        (["--issue=$n"], {"n": 7}, {"issue_number": 7}),
        (["--issue=$n"], {"n": "7"}, {"issue_number": 7}),
        (["--issue=1$n"], {"n": 7}, {"issue_number": 17}),
        (["--loud=$n"], {"n": True}, {"loud": True}),
        (["--where=$n"], {"n": b"caf\xe9"}, {"where": "caf\udce9"}),
        (["--files=$n"], {"n": ["a", "b"]}, {"files": ["a", "b"]}),
        (["--files=$n", "--files=c"], {"n": "a b"}, {"files": ["a b", "c"]}),
        (['--files=["$n", "x$n"]'], {"n": "a"}, {"files": ["a", "xa"]}),
        (['--anything=["$n"]'], {"n": [1, 2]}, {"anything": [[1, 2]]}),
        (['--config={"a": "$n", "b": ["$n"]}'], {"n": 7}, {"config": {"a": 7, "b": [7]}}),
        (['--config={"a": "$n"}'], {"n": '","b":"'}, {"config": {"a": '","b":"'}}),
        (["--config=$n"], {"n": {"a": 1}}, {"config": {"a": 1}}),
        (["--verbatim", "--text=$n $$ ${n}"], {}, {"text": "$n $$ ${n}"}),
        (["--command=echo $n $$"], {}, {"command": "echo $n $$"}),
    ],
)
def test_templates_in_a_flag_are_replaced_and_the_outcome_has_the_declared_type(words, store, values):
    assert values_of(*words, store=store) == values


def test_a_flag_knows_the_paths_that_it_refers_to():
    flags = parse("--text=${a.b} and $c", '--files=["$d"]', "--command=$e", "--model=$f")
    assert flags.data["text"].references == [("a", "b"), ("c",)]
    assert flags.data["files"].references == [("d",)]
    assert flags.data["command"].references == []
    assert flags.params["model"].references == [("f",)]


def test_what_looks_like_a_reference_and_is_none_is_a_warning():
    assert parse("--text=a ${1x}").warnings == ["'${1x}' in --text is not a reference"]
    assert parse("--text={{x.y}} {{#each}} {{a b}}").warnings == [
        "'{{x.y}}' in --text is not a reference (${x.y} is one)"
    ]
    assert parse("--text=$${a} $5").warnings == []
    assert parse("--text=${}", "--verbatim").warnings == []
    assert parse("--command=${}").warnings == []


# An open interface takes any flag.


def test_without_an_interface_any_flag_is_data_and_param_and_text():
    flags = parse("--x-y=007", "--z", "[1]", node=Interface())
    assert {name: each.value for name, each in flags.data.items()} == {"x_y": "007", "z": "[1]"}
    assert {name: each.value for name, each in flags.params.items()} == {"x_y": "007", "z": "[1]"}


def test_without_an_interface_a_bare_word_and_a_flag_without_a_value_are_refused_too():
    for words in (["a"], ["--x"], ["--x", "--y=1"], ["--x", "-r"], ["--x=1", "--x=2"]):
        with pytest.raises(PflowError) as caught:
            parse(*words, node=Interface())
        assert caught.value.exit == 2


WORDS = st.lists(
    st.text(st.characters(exclude_characters="\0"), max_size=8)
    | st.sampled_from(
        [
            *("--" + name.replace("_", "-") for name in [*COMMON, *NODE.reads, *NODE.params]),
            *("--" + name + "=" for name in [*COMMON, *NODE.reads, *NODE.params]),
            *["--text=$x", "--numbers=1", "--files=[", "--map-in=text=a", "--no-loud", "--config={", "-nr", "--", "="],
        ]
    ),
    max_size=6,
)


def outcome(words: list[str], node: Interface):
    try:
        parse(*words, node=node)
    except PflowError as error:
        return error.exit
    return "flags"


@given(WORDS, st.booleans())
def test_any_words_are_flags_or_refused_with_2(words, is_open):
    assert outcome(words, Interface() if is_open else NODE) in ("flags", 2)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("--issue=$n", "x"),
        ("--issue=$n", True),
        ("--where=$n", 5),
        ("--loud=$n", 1),
        ("--form=$n", "xml"),
        ("--config=$n", [1]),
        ("--files=$n", b"\xff"),
        ("--numbers=$n", ["x"]),
        ("--temperature=$n", True),
    ],
)
def test_a_references_value_that_does_not_fit_is_refused_and_named(word, value):
    with pytest.raises(PflowError, match="cannot take --") as caught:
        values_of(word, store={"n": value})
    assert caught.value.exit in (2, 65)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (['--free:=[1, {"a": null}]'], {"free": [1, {"a": None}]}),
        (["--free:=null"], {"free": None}),
        (['--free:=["$$", "$a"]'], {"free": ["$", 7]}),
        (['--free:="$a"'], {"free": 7}),
        (['--free:="$a"', "--verbatim"], {"free": "$a"}),
        (['--command:="$a"'], {"command": "$a"}),
        (["--text:=5"], {"text": "5"}),
        (["--issue:=5"], {"issue_number": 5}),
        (["--numbers:=[1]", "--numbers:=2"], {"numbers": [1, 2]}),
        (["--check:=false"], {"check": False}),
        (["--text=:=1"], {"text": ":=1"}),
    ],
)
def test_after_a_colon_a_flag_takes_json(words, values):
    assert values_of(*words, store={"a": 7}) == values


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--free:=x", "it is not JSON"),
        ("--free:=", "it is not JSON"),
        ("--issue:=1.5", "it is a float, not int"),
        ("--tekst:=1", "no such flag"),
        ('--token:="x"', "a secret is never a flag"),
        ("--retries:=3", "it takes no JSON"),
    ],
)
def test_json_that_does_not_fit_is_refused(word, said):
    with pytest.raises(PflowError, match=said) as caught:
        parse(word)
    assert caught.value.exit == 2


def test_an_open_node_takes_any_json_but_not_what_is_near_to_a_name_that_it_reads():
    node = Interface()
    node.params["steps"] = Field("param", "steps", Type("int"))
    flags = parse("--steps:=0.5", "--timeuot:={}", "--other=1", "--max-retries=5", node=node)
    others = {"timeuot": {}, "other": "1", "max_retries": "5"}
    assert {name: each.value for name, each in flags.params.items()} == {"steps": 0.5, **others}
    assert flags.warnings == [
        "--timeuot is a key of its own (did you mean --timeout?)",
        "--max-retries is a key of its own (--retries is one less: max_retries counts the first try too)",
    ]
    with pytest.raises(PflowError, match="cannot take --stesp: no such flag") as caught:
        parse("--stesp:={}", node=node)
    assert (caught.value.exit, caught.value.hint) == (2, "did you mean --steps?")


@pytest.mark.parametrize(
    ("line", "is_shared"),
    [
        ("Params: encoding: str = null", True),
        ('Params: encoding: str = "h264"', False),
        ('Params: encoding: latin-1|h264 = "h264"', False),
        ('Reads: shared["encoding"]: str', False),
    ],
)
def test_a_node_that_has_an_encoding_of_its_own_gets_the_flag(line, is_shared):
    flags = parse("--encoding=latin-1", node=parse_interface(f"Encode.\n\nInterface:\n- {line}\n"))
    assert {**flags.data, **flags.params}["encoding"].value == "latin-1"
    assert flags.encoding == ("latin-1" if is_shared else None)
