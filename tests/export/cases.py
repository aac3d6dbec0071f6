"""Flows that every way to run them must bring to the same store: what each is made of, and that store."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NODES = Path(__file__).parent / "nodes"


@dataclass
class Case:
    """A flow with its flags, stdin and files, the store that it ends with, and where it is no shell script, why."""

    flow: dict[str, Any] | str
    store: dict[str, Any]
    flags: tuple[str, ...] = ()
    stdin: bytes | None = None
    sh: str = ""


FILES = {"a.txt": "one two\n", "b.json": '{"list": [1, "two", null, true], "n": 7}'}


def chain(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"nodes": list(nodes), **more}


def node(id: str, type: str = "", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": type or id, **more}


def edge(source: str, target: str, action: str = "default") -> dict[str, str]:
    return {"from": source, "to": target, "action": action}


def reads(**steps: dict[str, Any]) -> dict[str, Any]:
    return {id: {"input_mappings": mappings} for id, mappings in steps.items()}


READ = node("read", "read-file", inputs={"path": "a.txt"})
WAS_READ = {"path": "a.txt", "content": "one two\n"}
JSON = node("json", "read-file", inputs={"path": "b.json"})
WAS_JSON = {"path": "b.json", "content": '{"list": [1, "two", null, true], "n": 7}'}

INNER = {
    "name": "shout",
    "inputs": {"text": {"type": "str"}, "times": {"type": "int", "default": 2}},
    "outputs": {"loud": "say.said", "times": "times"},
    **chain(node("say", params={"loud": True}), mappings=reads(say={"value": "template:${text}!"})),
}
FORK = chain(
    READ,
    node("left", "say", inputs={"tone": "left"}),
    node("right", "say", inputs={"tone": "right"}),
    node("join", "say", inputs={"tone": "join"}),
    edges=[edge("read", "left"), edge("read", "right"), edge("left", "join"), edge("right", "join")],
    mappings=reads(
        left={"value": "content"},
        right={"value": "content"},
        join={"value": "template:${left.said.tone} ${right.said.tone}"},
    ),
)
LOOP = chain(
    node("count", params={"limit": 3}),
    node("say"),
    edges=[edge("count", "count", "again"), edge("count", "say")],
    mappings=reads(say={"value": "count"}),
)
JUDGED = chain(
    node("say"),
    node("judge"),
    node("praise", "say", inputs={"value": "good"}),
    node("fix", "say", inputs={"value": "fixed, please"}),
    edges=[edge("say", "judge"), edge("judge", "praise", "good"), edge("judge", "fix", "bad"), edge("fix", "judge")],
    mappings={
        "judge": {"input_mappings": {"text": ["say.said.value", "fix.said.value"]}},
        "say": {"input_mappings": {"value": "wish"}},
    },
)


def said(value: Any, tone: str = "plain") -> dict[str, Any]:
    return {"said": {"value": value, "tone": tone}}


SAY_READ = chain(READ, node("say"), mappings=reads(say={"value": "content"}))
QUIET = {**SAY_READ, "inputs": {"tone": {"type": "str", "default": "q"}}}
LOUD, LOUD_READ = b'{"$pflow":{"v":1},"tone":"loud","own":1}', {**WAS_READ, **said("one two\n", "loud"), "tone": "loud"}


def batch(over: str, **more: Any) -> dict[str, Any]:
    return {"over": over, "as": "item", **more}


AWKWARD = ["two\nlines\n", "it's", '"$(>CANARY)`', "-n", "--", "\\'"]
PLAIN = [{"value": value, "tone": "plain"} for value in (1, "two", None, True)]

CASES = {
    "one step": Case(chain(READ), WAS_READ),
    "a chain by names": Case(chain(READ, node("save", "write-file", params={"path": "c.txt"})), WAS_READ),
    "a mapping": Case(
        chain(READ, node("say", params={"loud": True}), mappings=reads(say={"value": "content"})),
        {**WAS_READ, "said": "ONE TWO\n"},
    ),
    "a template in a mapping": Case(
        chain(
            JSON,
            node("say"),
            mappings=reads(say={"value": "template:$$${content.n} ${content.list} ${content.list[2]}."}),
        ),
        {**WAS_JSON, **said('$7 [1,"two",null,true] .')},
        sh="would keep it in the store",
    ),
    "a whole reference keeps its type": Case(
        chain(JSON, node("say"), mappings=reads(say={"value": "template:${content.list}"})),
        {**WAS_JSON, **said([1, "two", None, True])},
    ),
    "a param in place of a read": Case(
        chain(READ, node("say", params={"value": 'it\'s "quoted" $$HOME `x`\n'})),
        {**WAS_READ, **said('it\'s "quoted" $HOME `x`\n')},
        sh="would keep it in the store",
    ),
    "a param that has the name of a key in the store": Case(
        chain(
            node("say", inputs={"value": "warm"}),
            node("greet", params={"tone": "dry"}),
            mappings={"say": {"output_mappings": {"said": "tone"}}},
        ),
        {
            "value": "warm",
            "tone": {"value": "warm", "tone": "plain"},
            "greeting": "{'value': 'warm', 'tone': 'plain'}, dry",
        },
        sh="a stage's flag of that name is data",
    ),
    "an optional read from the store of the pipe": Case(SAY_READ, {**LOUD_READ, "own": 1}, stdin=LOUD),
    "an input's default and the store of the pipe": Case(QUIET, {**LOUD_READ, "own": 1}, stdin=LOUD),
    "an input's default and an empty pipe": Case(
        QUIET, {**LOUD_READ, **said("one two\n", "q"), "tone": "q"}, stdin=b""
    ),
    "nothing for a pipe read": Case(chain(READ, node("say")), {**WAS_READ, **said(None)}),
    "a flag for one step": Case(chain(node("read", "read-file")), {**WAS_READ}, flags=("--path=a.txt",)),
    "a shell with arguments": Case(
        chain(node("echo", "shell", inputs={"command": 'printf "%s|" "$@"', "args": ["a b", "$$c", "[d", "'"]})),
        {"command": 'printf "%s|" "$@"', "stdout": "a b|$c|[d|'|", "stderr": "", "exit_code": 0},
    ),
    "bytes": Case(
        chain(
            node("make", "shell", inputs={"command": "printf '\\377'"}),
            node("say"),
            mappings=reads(say={"value": "stdout"}),
        ),
        {
            "command": "printf '\\377'",
            "stdout": {"$bytes": "/w=="},
            "stderr": "",
            "exit_code": 0,
            **said({"$bytes": "/w=="}),
        },
    ),
    "given inputs": Case(
        {
            "inputs": {
                "n": {"type": "int"},
                "s": {"type": "str"},
                "l": {"type": "list"},
                "f": {"type": "bool", "default": False},
                "g": {"type": "bool", "default": True},
            },
            **chain(node("say", inputs={"tone": "$s", "value": "${n} ${l} ${f} ${g}"})),
        },
        {
            "n": 7,
            "s": "007 $x '\n",
            "l": [1, "$y"],
            "f": True,
            "g": False,
            "value": '7 [1,"$y"] true false',
            **said('7 [1,"$y"] true false', "007 $x '\n"),
        },
        flags=("--n=7", "--s=007 $x '\n", '--l=[1,"$y"]', "--f", "--no-g"),
    ),
    "a float that is written as a whole number": Case(
        {
            "inputs": {"a": {"type": "float", "default": 1}, "b": {"type": "float"}},
            **chain(node("say", inputs={"value": "$a $b"})),
        },
        {"a": 1.0, "b": 2.0, "value": "1.0 2.0", **said("1.0 2.0")},
        flags=("--b:=2",),
    ),
    "an input that no step writes": Case(
        chain(node("say"), mappings=reads(say={"value": "wish"})), {"wish": "x", **said("x")}, flags=("--wish=x",)
    ),
    "two steps that write one key": Case(
        {
            "inputs": {"n": {"type": "int"}},
            **chain(node("a", "say", inputs={"value": 1}), node("b", "say", inputs={"value": "$n"})),
        },
        {"n": 2, "value": 1, **said(2)},
        flags=("--n=2",),
    ),
    "an undeclared name": Case(
        chain(node("a", "say", inputs={"value": 1}), node("b", "say", inputs={"value": "<$n>"})),
        {"n": "2", "value": 1, **said("<2>")},
        flags=("--n=2",),
    ),
    "steps in parentheses come first": Case(
        "( shell 'echo a' => shell cat ) => say --tone=dry", {"stdout": "a\n", **said("a\n", "dry")}
    ),
    "an input of one step": Case(
        chain(READ, node("save", "write-file")),
        WAS_READ,
        flags=("--save.path=$c '.txt",),
        sh="the flag for 'save' and its 'path' is for this step alone, but others use that place",
    ),
    "stdin for a read whose key is optional elsewhere": Case(
        chain(node("split-text"), node("load-json", inputs={"path": "b.json"})),
        {"stdin": "in\n", "chunks": ["in\n"], "path": "b.json", "data": {"list": [1, "two", None, True], "n": 7}},
        stdin=b"in\n",
    ),
    "stdin": Case(chain(node("say")), {"stdin": "in\n", **said("in\n")}, stdin=b"in\n"),
    "stdin for a read that must be there": Case(
        chain(node("save", "write-file", inputs={"path": "o.txt"})),
        {"stdin": "in\n", "path": "o.txt"},
        stdin=b"in\n",
    ),
    "stdin for an input": Case(
        chain(
            node("say"),
            inputs={"text": {"type": "str", "pipe": True, "default": "x"}},
            mappings=reads(say={"value": "text"}),
        ),
        {"stdin": "in\n", "text": "in\n", **said("in\n")},
        stdin=b"in\n",
        sh="takes the data from the pipe",
    ),
    "declared outputs": Case(
        {
            **chain(JSON, node("say"), mappings=reads(say={"value": "json.content.n"})),
            "outputs": {"n": "say.said.value", "first": "json.content.list[0]"},
        },
        {"n": 7, "first": 1},
        sh="declares outputs",
    ),
    "a user's own nodes in prose": Case(
        chain(
            node("fetch", "transcribe", params={"language": "en"}),
            node("summarise", "sum-up", params={"temperature": 0.9}),
        ),
        {"video_url": "u", "raw_transcript": "transcript of u in en", "article_summary": "transcript at 0.9"},
        flags=("--video-url=u",),
    ),
    "an own node that writes what nobody can see": Case(
        chain(READ, node("under"), node("say", params={"loud": True}), mappings=reads(say={"value": "content"})),
        {**WAS_READ, "word": "under", "said": "ONE TWO\n"},
    ),
    "a program": Case(chain(node("upper", inputs={"text": "loud"})), {"text": "loud", "upper": "LOUD"}),
    "tries": Case(chain(node("flaky", retries=2, wait=0)), {"tries": 3}),
    "a loop": Case(LOOP, {"count": 3, **said(3)}, sh="edge for again"),
    "edges by action": Case(
        JUDGED,
        {
            "wish": "now",
            "say": said("now"),
            "verdict": "good",
            "fix": {"value": "fixed, please", **said("fixed, please")},
            "value": "good",
            **said("good"),
        },
        flags=("--wish=now",),
        sh="no branches",
    ),
    "an error edge": Case(
        chain(
            node("read", "read-file", inputs={"path": "none.txt"}),
            node("never", "say"),
            node("say"),
            edges=[edge("read", "never"), edge("read", "say", "error")],
            mappings=reads(say={"value": "template:${read.error.exit}: ${read.error.message}"}),
        ),
        {
            "read": {"error": {"exit": 66, "message": "cannot read 'none.txt': no such file or directory"}},
            **said("66: cannot read 'none.txt': no such file or directory"),
        },
        sh="edge for error",
    ),
    "a batch over a list": Case(
        chain(
            JSON,
            node("say", batch=batch("content.list"), inputs={"tone": "t"}),
            mappings=reads(say={"value": "template:<${item}>"}),
        ),
        {**WAS_JSON, "said": [{"value": text, "tone": "t"} for text in ("<1>", "<two>", "<>", "<true>")]},
        sh="would keep it in the store",
    ),
    "a batch over awkward items": Case(
        chain(
            node("say", inputs={"tone": "t"}, batch=batch("wish")),
            node("echo", "shell", inputs={"command": 'printf "%s" "$1"; cat'}, batch=batch("said")),
            mappings=reads(say={"value": "item"}, echo={"args": "template:${item.value}", "input": "item.tone"}),
        ),
        {
            "wish": AWKWARD,
            "said": [{"value": item, "tone": "t"} for item in AWKWARD],
            "command": 'printf "%s" "$1"; cat',
            "stdout": [f"{item}t" for item in AWKWARD],
            "stderr": [""] * 6,
            "exit_code": [0] * 6,
        },
        flags=(f"--wish={json.dumps(AWKWARD)}",),
    ),
    "a batch over no items, and bytes in one": Case(
        chain(
            node("none", "say", batch=batch('["no items"]')),
            node("cat", "shell", inputs={"command": "head -c 1"}, batch=batch("some")),
            inputs={"no items": {"type": "list", "default": []}, "some": {"type": "list", "default": ["é", "b"]}},
            mappings=reads(none={"value": "item"}, cat={"input": "item"}),
        ),
        {
            "no items": [],
            "some": ["é", "b"],
            "said": [],
            "command": "head -c 1",
            "stdout": [{"$bytes": "ww=="}, "b"],
            "stderr": ["", ""],
            "exit_code": [0, 0],
        },
    ),
    "a batch over the lines of what the pipe brings": Case(
        "shell --command='printf \"%s.\" \"$1\"; cat' --args='$item' --each => say --each",
        {
            "stdin": "a\n\n-b 'c\n",
            "command": 'printf "%s." "$1"; cat',
            "stdout": ["a.", "-b 'c."],
            "stderr": ["", ""],
            "exit_code": [0, 0],
            "said": [{"value": "a.", "tone": "plain"}, {"value": "-b 'c.", "tone": "plain"}],
        },
        stdin=b"a\n\n-b 'c\n",
    ),
    "a batch with jobs whose results know their items": Case(
        chain(
            JSON,
            node("say", batch=batch("content.list", jobs=2, on_error="keep", keep_item=True)),
            mappings=reads(say={"value": "item"}),
        ),
        {**WAS_JSON, "said": [{"item": each["value"], "said": each} for each in PLAIN], "say": {"errors": []}},
    ),
    "a fork": Case(
        FORK,
        {
            "path": "a.txt",
            "content": "one two\n",
            "left": said("one two\n", "left"),
            "right": said("one two\n", "right"),
            **said("left right", "join"),
        },
        sh="forks",
    ),
    "a flow in a flow": Case(
        chain(
            READ,
            node("shout", "inner.pflow.json"),
            node("say"),
            mappings=reads(shout={"text": "content"}, say={"value": "shout.loud"}),
        ),
        {**WAS_READ, "shout": {"loud": "ONE TWO\n!"}, "times": 2, **said("ONE TWO\n!")},
        sh="store of its own",
    ),
    "params of a flow in a flow": Case(
        chain(node("shout", "inner.pflow.json", params={"say.loud": False}, inputs={"text": "x", "times": 5})),
        {"text": "x", "times": 5, "loud": {"value": "x!", "tone": "plain"}},
        sh="store of its own",
    ),
    "pipe syntax": Case(
        "read-file --path=a.txt => shell:count --command='wc -w' => write-file --path='$path.$exit_code'",
        {**WAS_READ, "command": "wc -w", "stdout": "2\n", "stderr": "", "exit_code": 0},
    ),
    "a flow inside a step": Case(
        chain(
            JSON,
            node(
                "in",
                "flow",
                nodes=[node("say"), node("loud", "shell", inputs={"command": "cat"})],
                mappings=reads(say={"value": "wish"}, loud={"input": "said.value"}),
            ),
            node("last", "say", inputs={"value": "${exit_code} ${stdout}"}),
            mappings=reads(**{"in": {"wish": "content.n"}}),
        ),
        {**WAS_JSON, "stdout": "7\n", "exit_code": 0, "value": "0 7\n", **said("0 7\n")},
    ),
    "steps in parentheses, and others inside, for each item": Case(
        "shell --command='echo a/b.x; echo c' => ( ( say --value='$item' --tone='$item_dir' ):g =>"
        " shell:s --args='$item_stem' --command='cat; echo \"$1\"' ):in --each --jobs=2 --id=in"
        " => say --value='${in.stdout[1]}' --tone=x",
        {
            "command": "echo a/b.x; echo c",
            "stdout": "a/b.x\nc\n",
            "stderr": "",
            "exit_code": 0,
            "in": {"stdout": ['{"value":"a/b.x","tone":"a"}\nb\n', '{"value":"c","tone":""}\nc\n']},
            "value": '{"value":"c","tone":""}\nc\n',
            **said('{"value":"c","tone":""}\nc\n', "x"),
        },
    ),
    "the last step's actions in parentheses": Case(
        "read-file a.txt => ( judge --text='$content, please' ):j =good=> say --value='$verdict'; j =bad=> say:no",
        {**WAS_READ, "verdict": "good", "say": {"value": "good", **said("good")}},
        sh="edge for good",
    ),
    "a write to a path": Case(
        chain(node("say", inputs={"value": 1}), mappings={"say": {"output_mappings": {"said": "out/a.b"}}}),
        {"value": 1, "out": {"a.b": {"value": 1, "tone": "plain"}}},
    ),
    "bindings": Case(
        {
            "nodes": [
                {
                    "id": "fetch",
                    "name": "bound",
                    "input_bindings": {"url": "video_url"},
                    "output_bindings": {"transcript": "raw"},
                    "config": {"language": "en"},
                }
            ]
        },
        {"video_url": "u", "raw": "u in en"},
        flags=("--url=u",),
    ),
}
