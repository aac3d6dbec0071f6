"""A stage as a process: what it prints, what it stores and how it ends, whatever it is given."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.errors import EXIT_CODES, PflowError
from pflow.node import Node
from pflow.stage.visit import NodeRunner, Visit
from tests.stage.running import Ended, run

NODE = '''
import asyncio
import os

from pflow import Node, PflowError


class Echo(Node):
    """Hand a text on.

    Interface:
    - Reads: shared["text"]: any = "default" [pipe]  # what to hand on
    - Reads: shared["kept"]: str = null
    - Reads: shared["own"]: str = null [own]
    - Reads: shared["number"]: int = 0
    - Reads: shared["items"]: list[str] = []
    - Reads: shared["how"]: str = "well" [explicit]
    - Writes: shared["out"]: any [pipe]
    - Writes: shared["more"]: any
    - Params: loud: bool = false
    - Params: config: dict = null
    - Params: api_key: str = null [secret] [env ECHO_KEY]
    """

    def prep(self, shared):
        return shared["text"], shared["how"], shared

    def exec(self, prepared):
        text, how, shared = prepared
        if how == "noisy":
            print("noise")
            os.system("echo more noise")
        elif how == "emit":
            self.emit("a")
            self.emit(b"b")
            return "ab"
        elif how == "fail":
            raise ValueError("in the node")
        elif how == "explain":
            raise PflowError("cannot echo", hint="whisper", exit=75)
        elif how == "exit":
            raise SystemExit(0)
        elif how == "cancel":
            raise asyncio.CancelledError
        elif how == "interrupt":
            raise KeyboardInterrupt
        elif how == "clear":
            shared["items"].clear()
        elif how == "nan":
            return float("nan")
        elif how == "object":
            return object()
        return text

    def post(self, shared, prepared, out):
        shared["out"] = out
        how = prepared[1]
        if how == "stray":
            shared["stray"] = 1
        if how == "action":
            return "other"
'''


@pytest.fixture(scope="module")
def node(tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("nodes") / "echo.py"
    file.write_text(NODE)
    return str(file)


def store(text: str = '"a":1', header: str = "") -> bytes:
    return f'{{"$pflow":{{"v":1,"by":"x","run":"R"{header}}},\n{text}\n}}\n'.encode()


def is_documented(ended: Ended) -> bool:
    return (ended.code in EXIT_CODES or ended.code > 128) and "Traceback" not in ended.err


# What goes in, and what comes out.


def test_raw_input_is_carried_as_stdin_and_what_the_node_writes_after_it(node):
    ended = run(node, [], b"hello")
    assert (ended.code, ended.err) == (0, "")
    assert ended.store == {"stdin": "hello", "out": "hello"}
    assert ended.header["last"] == "out"
    (step,) = ended.header["steps"]
    assert (step["id"], step["node"]) == ("echo", "echo")
    assert (step["reads"], step["writes"]) == ({"text": ["stdin"]}, {"out": ["out"]})


@pytest.mark.parametrize("words", [["-r"], ["--raw=true"]])
@pytest.mark.parametrize(
    ("text", "out"), [('"é"', "é\n"), ('""', ""), ("[1,null]", "[1,null]\n"), ('{"$bytes":"/w=="}', b"\xff")]
)
def test_raw_output_is_only_what_the_pipe_carries(node, words, text, out):
    ended = run(node, words, store(f'"t":{text}', ',"last":"t"'))
    assert ended.code == 0
    assert ended.out == (out.encode() if isinstance(out, str) else out)


@pytest.mark.parametrize(
    ("words", "is_document"), [(["-r"], False), (["-nr"], False), (["--raw=false"], True), (["--raw=maybe"], True)]
)
def test_beside_a_wrong_flag_the_form_of_the_output_is_that_of_the_others(node, words, is_document):
    ended = run(node, ["--zzz", *words], b"hello")
    assert (ended.code, ended.out.startswith(b'{"$pflow"')) == (2, is_document)


@pytest.mark.parametrize("words", [["-q"], ["--quiet=true"], ["-vq"]])
def test_quiet_output_is_none(node, words):
    ended = run(node, words, b"hello")
    assert (ended.code, ended.out) == (0, b"")


@pytest.mark.parametrize("words", [[], ["-j"], ["--quiet=false"], ["--no-stdin"]])
def test_any_other_output_is_the_document(node, words):
    ended = run(node, words, b"" if "--no-stdin" in words else b"hello")
    assert ended.code == 0
    assert "out" in ended.store


@pytest.mark.parametrize("value", ["-q", "-r", "--quiet", "--raw", "--json", "-quick question", "--debug"])
def test_a_value_that_looks_like_a_flag_is_a_value(node, value):
    ended = run(node, ["-n", "--text", value])
    assert ended.code == 0
    assert ended.store["out"] == value


def test_what_is_emitted_is_the_raw_output(node):
    for words in (["-nr"], ["-nr", "--stream"]):
        assert run(node, [*words, "--how=emit"]).out == b"ab\n"
        assert run(node, [*words, "--how=emit", "--exact"]).out == b"ab"
    assert run(node, ["-n", "--how=emit"]).store["out"] == "ab"


# What is stored.


def test_what_a_node_prints_goes_to_stderr(node):
    ended = run(node, ["-nr", "--how=noisy", "--text=x"])
    assert (ended.code, ended.out) == (0, b"x\n")
    assert "noise\n" in ended.err
    assert "more noise\n" in ended.err


def test_an_action_is_in_the_trace_but_default_is_not(node):
    assert run(node, ["-n", "--how=action"]).header["steps"][0]["action"] == "other"
    assert "action" not in run(node, ["-n"]).header["steps"][0]


def test_data_flags_are_stored_but_own_reads_defaults_and_params_are_not(node):
    ended = run(node, ["--text=t", "--kept=k", "--own=o", "--number=007", "--loud"], store())
    assert ended.store == {"a": 1, "text": "t", "kept": "k", "number": 7, "out": "t"}


def test_a_data_flag_is_stored_as_it_was_given_whatever_the_node_does_to_it(node):
    ended = run(node, ["-n", "--items=a", "--how=clear"])
    assert ended.store["items"] == ["a"]


def test_a_key_that_is_there_already_keeps_its_value_and_the_flag_counts_for_this_stage_alone(node):
    ended = run(node, ["--text=new"], store('"text":"old"'))
    assert ended.store == {"text": "old", "out": "new"}


def test_a_name_that_is_taken_by_what_is_no_object_is_refused(node):
    ended = run(node, ["--id=a", "--text=t"], store())
    assert ended.code == 65
    assert ended.store == {"a": 1}


def test_mappings_by_hand(node):
    ended = run(node, ["--map-in=text=deep.x[1]", "--map-out=out=there.it.is"], store('"deep":{"x":[1,2]}'))
    assert ended.store == {"deep": {"x": [1, 2]}, "there": {"it": {"is": 2}}}
    assert ended.header["last"] == "there.it.is"


def test_a_named_step_keeps_its_flags_and_writes_under_its_name(node):
    ended = run(node, ["--id=draft", "--text=t"], store('"text":"old","out":"old"'))
    assert ended.store == {"text": "old", "out": "old", "draft": {"text": "t", "out": "t"}}
    assert ended.header["last"] == "draft.out"
    assert ended.header["steps"][0]["id"] == "draft"


# How it fails.


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--how=fail"], 1, "cannot run echo: ValueError: in the node"),
        (["--how=explain"], 75, "cannot echo"),
        (["--how=exit"], 1, "cannot run echo: it called exit(0)"),
        (["--how=nan"], 65, "cannot store 'out': cannot write a float as JSON: nan is not JSON"),
        (["--how=object"], 65, "cannot store 'out': cannot write a object as JSON: a object is not a JSON value"),
        (["--how=stray"], 1, "the node wrote 'stray', which its interface does not name"),
        (["--map-in=text=nope"], 66, "cannot find 'nope': no 'nope' in the store; it has a"),
        (["--map-in=number=text"], 65, "cannot read 'number' from text: it is a str, not int"),
    ],
)
def test_a_failure_is_a_line_on_stderr_and_an_error_document_with_the_store_as_it_was(node, words, code, message):
    given_store = '"text":"t"' if "--map-in=number=text" in words else '"a":1'
    ended = run(node, words, store(given_store))
    assert ended.code == code
    assert ended.err.startswith(f"pflow-echo: {message}")
    assert ended.err.count("\n") == 1
    assert ended.header["error"] == {"step": "echo", "node": "echo", "exit": code, "message": message}
    assert ended.store == json.loads("{" + given_store + "}")


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
def test_what_is_no_exception_of_a_node_is_no_traceback_either(node, how):
    ended = run(node, ["-n", f"--how={how}"])
    assert is_documented(ended)
    assert ended.code not in (0, 70)
    assert "error" in ended.header


def test_wrong_flags_are_told_without_reading_the_store(node):
    ended = run(node, ["--nonsense"], store())
    assert ended.code == 2
    assert ended.store == {}
    assert ended.header["error"]["exit"] == 2


def test_a_lone_surrogate_in_a_header_is_refused_before_the_node_runs(node):
    ended = run(node, ["--how=noisy"], store('"a":1', ',"more":"\\ud800"'))
    assert ended.code == 65
    assert "noise" not in ended.err
    assert ended.header["error"]["exit"] == 65


@pytest.mark.parametrize("words", [["-r"], ["-q"], ["--raw"], ["--quiet", "--how=fail"]])
def test_a_failure_prints_no_document_where_none_was_asked_for(node, words):
    ended = run(node, [*words, "--how=fail"] if "--how=fail" not in words else words, store())
    assert (ended.code, ended.out) == (1, b"")


def test_an_error_document_is_passed_on_as_it_came_and_nothing_is_done(node):
    failed = store('"a":1.10', ',"error":{"step":"x","node":"y","exit":66,"message":"m"}')
    for words in ([], ["--how=fail"], ["--text=$nope"]):
        ended = run(node, words, failed)
        assert (ended.code, ended.out, ended.err) == (66, failed, "")


def test_a_secret_appears_nowhere(node, monkeypatch):
    monkeypatch.setenv("ECHO_KEY", "hush-hush")
    for words in (["-n"], ["-nv"], ["-n", "--how=fail"], ["-n", "--debug", "--how=fail"], ["-n", "--dry-run"]):
        ended = run(node, words)
        assert "hush" not in ended.err + ended.out.decode()
    ended = run(node, ["-n", "--api-key=hush-hush"])
    assert ended.code == 2
    assert "hush" not in ended.err + ended.out.decode()


# Whatever it is given.

ALL_WORDS = [
    *("text", "kept", "own", "number", "items", "how", "loud", "no-loud", "config", "api-key", "from", "no-stdin"),
    *("allow-empty", "id", "map-in", "map-out", "verbatim", "raw", "exact", "json", "quiet", "dry-run", "retries"),
    *("wait", "timeout", "debug", "verbose", "describe", "help", "version", "cache", "no-cache", "refresh", "nonsense"),
]
VALUES = st.sampled_from(
    ["", "x", "0", "1", "007", "true", "false", "$a", "${a.b}", "$text", "${", "$stdin", "[", "[1]", "[[1]]", "{}", "{",
     '{"a":"$a"}', "null", "auto", "store", "text", "out=a", "out=a.b", "text=a", 'out=["\\ud800"]', "stdin", "fail",
     "emit", "noisy", "cancel", "nan", "stray", "\udcff", "-q", "--raw"]
) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)  # fmt: skip
FLAGS = st.builds(lambda name, value: [f"--{name}={value}"], st.sampled_from(ALL_WORDS), VALUES)
SPACED = st.builds(lambda name, value: [f"--{name}", value], st.sampled_from(ALL_WORDS), VALUES)
LONE = st.sampled_from(ALL_WORDS).map(lambda name: [f"--{name}"]) | st.sampled_from("nrjqvhx").map(lambda c: ["-" + c])
# Words that are right by themselves, so that some stages get far.
RIGHT = st.builds(
    lambda name, value: [f"--{name}={value}"],
    st.sampled_from(["text", "kept", "own", "items", "config", "how", "number"]),
    st.sampled_from(["$a", "${a.b}", "x$a", "$text", '["$a"]', '{"k":"$a"}', "1", "fail", "nan", "stray", "emit"]),
) | st.sampled_from(
    ["-r", "-q", "-j", "-n", "-v", "--verbatim", "--dry-run", "--allow-empty", "--loud", "--id=a", "--id=x",
     "--from=text", "--from=json", "--map-in=text=a", "--map-in=text=a.b[0]", "--map-in=number=a",
     "--map-out=out=a", "--map-out=out=a.b", "--map-out=out=x.y", '--map-out=out=["\\ud800"]',
     "--retries=0", "--timeout=1e300", "--wait=1e300"]
).map(lambda word: [word])  # fmt: skip
ARGV = st.lists(RIGHT, max_size=4, unique_by=lambda words: words[0].partition("=")[0]).flatmap(
    lambda right: st.lists(FLAGS | SPACED | LONE | VALUES.map(lambda value: [value]), max_size=1).map(
        lambda wrong: [word for words in [*right, *wrong] for word in words]
    )
)
STDIN = st.sampled_from(
    [
        None,
        b"",
        b"text",
        b"\xff\0",
        store(),
        store('"a":null', ',"last":"a"'),
        store('"a":{"b":[1,"x"]},\n"text":5,\n"config":{}', ',"last":"a.b"'),
        store('"a":[nonsense]', ',"last":"a"'),
        store('"a":1', ',"last":"gone"'),
        store('"a":1', ',"dry":["text","out"]'),
        store('"a":1', ',"error":{"exit":66}'),
        b'{"a":1}',
        b'{"$pflow":{"v":2}}',
        b'{"$pflow":{"v":1}',
    ]
)


def _bounded(words: list[str]) -> list[str]:
    """The same words without what would take long, waits and tries, and without what asks for a traceback."""
    slow = ("--wait", "--retries", "--timeout")
    bounded = [
        f"{word.partition('=')[0]}=0" if word.startswith(slow) and "1e300" not in word else word for word in words
    ]
    return [word for word in bounded if not word.startswith("--debug")]


@settings(max_examples=60)  # a process each; the words and what comes in are few, and each run draws others
@given(ARGV, STDIN)
def test_any_words_and_any_input_end_in_a_documented_code_without_a_traceback(node, words, stdin):
    ended = run(node, _bounded(words), stdin)
    assert is_documented(ended), ended
    assert ended.code != 70, ended
    if ended.out.startswith(b'{"$pflow"') and not _asks_for_raw(words):
        assert (ended.code == 0) == ("error" not in ended.header)


def _asks_for_raw(words: list[str]) -> bool:
    """Then what comes out may be a text that looks like a document."""
    return any(word in ("-r", "--raw") or (word[0] == "-" != word[1:2] and "r" in word) for word in words if word)


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 300)
    | st.text(max_size=3)
    | st.sampled_from(["a", "text", "a.b", "a[0]"]),
    lambda values: (
        st.lists(values, max_size=2) | st.dictionaries(st.sampled_from(["id", "exit", "a"]), values, max_size=2)
    ),
    max_leaves=4,
)
HEADERS = st.dictionaries(
    st.sampled_from(["by", "run", "last", "steps", "error", "dry", "traceparent", "more"]), ANY_JSON, max_size=4
)


@settings(max_examples=60)  # a process each; eight members, of values of a few kinds
@given(HEADERS, st.sampled_from([[], ["-r"], ["--text=$a"], ["--dry-run"], ["--id=x"]]))
def test_any_header_is_taken_or_refused_and_never_a_bug(node, header, words):
    document = json.dumps({"$pflow": {"v": 1, **header}, "a": {"b": 1}}).encode()
    ended = run(node, words, document)
    error = header.get("error")
    is_handed_on = isinstance(error, dict) and ended.code == error.get("exit")  # a child's own code is kept
    assert is_documented(ended) or is_handed_on, ended
    assert ended.code != 70, ended


TELLS = '''
from pflow import Node


class Tell(Node):
    """Tell a secret.

    Interface:
    - Reads: shared["token"]: str [secret]  # it
    """

    def exec(self, prepared):
        raise ValueError(f"no access with {prepared}")

    def prep(self, shared):
        return shared["token"]
'''


def test_a_secret_that_comes_through_the_pipe_is_in_no_message(tmp_path):
    (tmp_path / "tell.py").write_text(TELLS)
    ended = run(str(tmp_path / "tell.py"), [], b'{"$pflow":{"v":1},\n"token":"s3cret-4711"\n}\n', name="tell")
    assert ended.code == 1
    assert "no access with" in ended.err
    assert "s3cret" not in f"{ended.err}{ended.header}"


class Calls:
    """Calls of models: how many ended well, and how many failed."""

    def __init__(self, well=0, failed=0):
        error = PflowError("late", exit=75)
        self.made = [(1.0, 1.5, {"tokens": 3}, None)] * well + [(2.0, 2.5, {}, error)] * failed

    def of_visit(self):
        return self


@pytest.mark.parametrize(("calls", "noted"), [((0, 0), 0), ((1, 0), 0), ((2, 0), 2), ((0, 1), 1), ((1, 1), 2)])
def test_the_calls_of_a_visit_are_noted_if_there_were_several_or_one_failed(monkeypatch, calls, noted):
    runner, visit = NodeRunner(), Visit()
    visit.begun = 0.5
    monkeypatch.setattr(runner, "act", lambda *_: "acted", raising=False)
    node = SimpleNamespace(tells_budget=True, calls=Calls(*calls))
    assert runner._act_counted(node, {}, visit) == "acted"
    asked = visit.more.get("asked", [])
    assert len(asked) == noted
    if noted and calls[0]:
        assert asked[0] == {"at": 500.0, "ms": 500.0, "tokens": 3}
    if noted and calls[1]:
        assert asked[-1] == {"at": 1500.0, "ms": 500.0, "exit": 75}


class Flaky(Node):
    """Fails a number of times."""

    def exec(self, prepared):
        self.failed = getattr(self, "failed", 0) + 1
        if self.failed <= self.params["fails"]:
            raise ValueError(f"try {self.failed}")


@pytest.mark.parametrize(("fails", "more"), [(0, {}), (1, {"tries": 2}), (2, {"tries": 3})])
def test_how_many_tries_a_visit_took_is_noted_if_it_took_several(fails, more):
    node, visit = Flaky(), Visit()
    node.set_params({"fails": fails})
    NodeRunner().try_node(node, {}, visit, retries=2, wait=0)
    assert visit.more == more
