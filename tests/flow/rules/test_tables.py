"""What each rule finds: flows, and the findings that each has, a warning with a `?`."""

import os

import pytest

from pflow.values.paths import look_up
from tests.flow.checked import edges, errors, findings, flow, found, only, shown, told

NUMBER = {"issue_number": {"type": "int"}}
COUNT = {"id": "count", "type": "count", "params": {"least": 1}}
LOAD = {"id": "load", "type": "load", "inputs": {"path": "p"}}
SAVE = {"id": "save", "type": "save", "inputs": {"path": "q"}}


def query(**members):
    return flow("fetch", {"id": "query", "type": "query", **members})


def step(type, **members):
    return flow({"id": "a", "type": type, **members})


def mapped(source, *nodes, key="prompt", **members):
    return flow("fetch", "query", *nodes, mappings={"query": {"input_mappings": {key: source}}}, **members)


def written(target, **members):
    return flow("query", mappings={"query": {"output_mappings": {"answer": target}}}, **members)


def to(**targets):
    """Mappings of each step's answer."""
    return {id: {"output_mappings": {"answer": path}} for id, path in targets.items()}


def batch(over, item="text", **inputs):
    return flow("fetch", {"id": "query", "type": "query", "batch": {"over": over, "as": item}, "inputs": inputs})


def counted(source, node="fetch"):
    return flow(node, COUNT, mappings={"count": {"input_mappings": {"items": source}}})


def node(name, *lines):
    """A file with a node of this name and interface."""
    items = "".join(f"    - {line}\n" for line in lines)
    text = f"import pocketflow\nclass {name}(pocketflow.Node):\n    '''It.\n\n    Interface:\n{items}    '''\n"
    return {f"{name.lower()}.py": text}


GRAPH = [
    (flow("a:query", "b:judge"), []),
    (flow("a:query", "b:save", "a:query", "a:query"), ["PF12 nodes[2].id", "PF12 nodes[3].id"]),
    *((flow(f"{id}:query"), ["PF12 nodes[0].id"]) for id in ("1st", "läs", "a b", "a.b")),
    (flow("as-k_2:query"), []),
    (flow("query", "judge", edges=edges("query judg")), ["PF12 edges[0].to"]),
    (flow("query", "judge", edges=edges("query judge", "nowhere judge")), ["PF12 edges[1].from"]),
    (flow("query", "judge", edges=[]), ["PF12 nodes[1]"]),
    (flow("a:fetch", "b:query", "c:query", "d:save", edges=edges("b c", "c d")), ["PF12 nodes[1]"]),
    (flow("a:fetch", "b:query", "c:query", "d:save", edges=edges("a b", "c d", "d c")), ["PF12 nodes[2]"]),
    (flow("a:fetch", "b:query", "c:query", "d:save", edges=edges("a d")), ["PF12 nodes[1]", "PF12 nodes[2]"]),
    (flow("a:query", "b:save", edges=edges("a b", "b a")), ["PF12 nodes[0]"]),
    (flow("a:query", edges=edges("a a")), ["PF12 nodes[0]"]),
    (flow("a:query", "b:save", "c:fetch", edges=edges("a b", "b a", "b error c")), []),
    (flow("a:query", "b:judge", edges=edges("a b", "b failed a")), ["PF12? nodes[1]"]),
    (flow("a:query", "b:judge", "c:save", edges=edges("a b", "b failed a", "b c")), []),
    (flow("a:query", "b:anything", edges=edges("a b", "b a")), ["PF11? nodes[1].type"]),
    (
        flow("query", "judge", edges=edges("query judge", "judge default query", "judge failed query")),
        ["PF12 nodes[0]"],
    ),
    (flow("query", "judge", edges=edges("query judge", "query maybe judge")), ["PF12? edges[1].action"]),
    ({"nodes": []}, ["PF00 nodes"]),
]

KEYS = [
    (mapped("stdin", key="text"), []),
    (written("stdin.text"), ["PF05 mappings.query.output_mappings.answer"]),
    (written("$pflow"), ["PF05 mappings.query.output_mappings.answer"]),
    (flow("stdin:query"), ["PF05 nodes[0].id"]),
    (flow("query", inputs={"stdin": {}, "prompt": {}}), ["PF05 inputs.stdin"]),
    (flow("query", outputs={"stdin": "query.answer"}), ["PF05 outputs.stdin"]),
    (step("query", batch={"over": "list", "as": "stdin"}), ["PF05 nodes[0].batch.as"]),
    (flow("query", inputs={"prompt": {"pipe": True}, "text": {"pipe": True}}), ["PF05 inputs.text.pipe"]),
    *((written(target), []) for target in ("summary", "out.summary_2", "_x", "query.answer")),
    *(
        (written(target), ["PF10? mappings.query.output_mappings.answer"])
        for target in ("mySummary", "out.Summary", "summary-2", "texts/doc1.txt", "out.1st", "out.ÄÖ")
    ),
    (flow("query", inputs={"Prompt": {}, "prompt": {}}), ["PF02? inputs.Prompt", "PF10? inputs.Prompt"]),
    (flow("query", inputs={"prompt": {}, "stdin": {}}), ["PF05 inputs.stdin"]),
    *((flow("query", inputs={"prompt": {}, "more": more}), ["PF02? inputs.more"]) for more in ({}, {"pipe": True})),
    (flow("query", inputs={"prompt": {}, "more": {}}, outputs={"it": "more"}), []),
    (flow("query", inputs={"prompt": {}, "answer": {}}), ["PF07 inputs.answer"]),
    (flow("query", "anything", inputs={"prompt": {}, "more": {}}), ["PF11? nodes[1].type"]),
    (flow("judge", inputs={"anser": {}}), ["PF03 nodes[0]"]),
    (step("query", inputs={"prompt": "$promt"}) | {"inputs": {"prompt": {}}}, ["PF14 nodes[0].inputs.prompt"]),
    (step("query", inputs={"prompt": "${m}", "text": ["${more.x}"]}) | {"inputs": {"m": {}, "more": {}}}, []),
    (batch("allTexts", prompt="$thePrompt"), ["PF10? nodes[1].batch.over", "PF10? nodes[1].inputs.prompt"]),
    (flow(LOAD, SAVE, inputs={"content": {}}), ["PF07 inputs.content"]),
    (flow(SAVE, LOAD, inputs={"content": {}}), []),
    (written("prompt.answer", inputs={"prompt": {"type": "str"}}), ["PF07 inputs.prompt"]),
    (written("prompt.answer", inputs={"prompt": {}}), []),
]

KINDS = [
    *((step(type), []) for type in ("query", "Query", "AskNode", "list_files", "ListFiles")),
    *((step("query", version=version), []) for version in ("1.4.2", "1", "1.3.9")),
    *((step("query", version=version), ["PF11 nodes[0].version"]) for version in ("1.4.3", "1.5", "2.0.0", "0.9")),
    (flow("anything", "b:anything", {"id": "c", "type": "anything", "params": {"x": 1}}), ["PF11? nodes[0].type"]),
    (
        flow(
            "fetch",
            {"id": "a", "type": "nope", "params": {"x": 1}, "inputs": {"y": 2}},
            "save",
            inputs={**NUMBER, "path": {}},
            mappings={
                "a": {"input_mappings": {"text": "fetch.issue_data"}, "output_mappings": {"out": "a.out"}},
                "save": {"input_mappings": {"content": "a.more", "path": "path"}},
            },
        ),
        ["PF11 nodes[1].type"],
    ),
]

PARAMS = [
    (query(repeats=True), []),
    (query(params={"model": "m", "temperature": 1, "prompt": "a read"}), []),
    (query(params={"modle": "m"}), ["PF13 nodes[1].params.modle"]),
    (query(inputs={"prompt": "p", "text": [1]}), []),
    (query(inputs={"promt": "p"}), ["PF13 nodes[1].inputs.promt"]),
    (query(inputs={"model": "m"}), ["PF13 nodes[1].inputs.model"]),
    ({**query(inputs={"promt": "p"}), "inputs": NUMBER}, ["PF13 nodes[1].inputs.promt"]),
    ({**query(params={"promt": "p"}), "inputs": NUMBER}, ["PF13 nodes[1].params.promt"]),
    (query(config={"whatever": 1}, input_bindings={}, output_bindings={}), []),
    (query(params={"input_key": "x", "output_key": "y"}), []),
    (query(params={"input_key": ["x"]}), ["PF13 nodes[1].params.input_key"]),
    (query(params={"output_key": {"y": 1}}), ["PF13 nodes[1].params.output_key"]),
    (mapped("fetch.issue_data.body", key="promt", inputs=NUMBER), ["PF13 mappings.query.input_mappings.promt"]),
    (mapped("fetch.issue_data.body", key="model"), ["PF13 mappings.query.input_mappings.model"]),
    (
        flow("query", mappings={"query": {"output_mappings": {"anser": "x.y"}}}),
        ["PF13 mappings.query.output_mappings.anser"],
    ),
    *(
        (query(params=params), [])
        for params in (
            {"temperature": 1},
            {"model": None},
            {"model": ["a"]},
            {"style": "plain"},
            {"text": None},
            {"temperature": "${fetch.issue_data.votes}"},
            {"temperature": "${fetch.issue_data.title}"},
            {"temperature": "${unknown}"},
            {"model": "a ${fetch.issue_data}"},
        )
    ),
    *(
        (query(params=params), [f"PF13 nodes[1].params.{name}" for name in params])
        for params in (
            {"temperature": True},
            {"temperature": None},
            {"style": "PLAIN"},
            {"temperature": "${fetch.issue_data.labels}"},
            {"temperature": ["${fetch.issue_data.votes}"]},
        )
    ),
    *((flow({**COUNT, "inputs": {"items": value}}), []) for value in (["a"], [], [1], ["${x}", "y"])),
    *((flow({**COUNT, "inputs": {"items": value}}), ["PF13 nodes[0].inputs.items"]) for value in ("a", [None], {})),
    (step("fetch", params={"token": "$token"}), []),
    (step("fetch", params={"token": None}), []),
    (step("count", inputs={"items": []}), ["PF13? nodes[0]"]),
    (step("count", inputs={"items": []}, params={}), ["PF13? nodes[0].params"]),
    (
        step("query", inputs={"prompt": "p"}, config={"modle": "m", "temperature": "hot"}),
        ["PF13 nodes[0].config.temperature"],
    ),
    (step("count", inputs={"items": []}, params={"laest": 1}), ["PF13 nodes[0].params.laest"]),
    (flow("fetch", inputs={"issue_number": {"type": "int", "default": None}}), []),
    (flow("fetch", inputs={"issue_number": {"type": "int", "default": "3"}}), ["PF13 inputs.issue_number.default"]),
]

PATHS = [
    *(
        (mapped(source), [])
        for source in (
            "fetch.issue_data",
            "fetch.issue_data.title.inside.json[0]",
            "fetch.issue_data.labels.0",
            "issue_data.body",
            "video_url",
            "stdin",
            "template:${fetch.issue_data.title}: $issue_data and $other",
            "template:$$5 and 5$ and $1",
            ["fetch.issue_data.title", "fetch.issue_data.body"],
        )
    ),
    (batch("fetch.list", prompt="${fetch.title}"), ["PF14 nodes[1].batch.over", "PF14 nodes[1].inputs.prompt"]),
    (flow("fetch", "query", outputs={"it": "query.anser"}), ["PF14 outputs.it"]),
    (query(params={"model": ["${fetch.model}"]}), ["PF14 nodes[1].params.model"]),
    (batch("fetch.issue_data.labels", "label", prompt="${label.name}"), []),
    (mapped("who.name", inputs={**NUMBER, "who": {"type": "dict{name: str}"}}), []),
    *(
        (step("query", inputs={"prompt": text}), ["PF14? nodes[0].inputs.prompt"])
        for text in ("${a", "${}", "x ${a b} y")
    ),
    (step("query", inputs={"prompt": "p", "text": [{"deep": "${1x}"}]}), ["PF14? nodes[0].inputs.text"]),
    *(
        (step("query", inputs={"prompt": text}), ["PF14 nodes[0].inputs.prompt"])
        for text in ("${a.}", "${l[${i}].x}", "${a[b]}")
    ),
    (batch("${fetch.issue_data.labels}", prompt="p"), ["PF14 nodes[1].batch.over"]),
    (batch("template:$list", prompt="p"), ["PF14 nodes[1].batch.over"]),
    (mapped("${fetch.issue_data.title}"), ["PF14 mappings.query.input_mappings.prompt"]),
    (mapped(["stdin", "template:$stdin"]), ["PF14 mappings.query.input_mappings.prompt"]),
    (flow("fetch", outputs={"it": "${fetch.issue_data}"}), ["PF14 outputs.it"]),
    (written("${query.x}"), ["PF14 mappings.query.output_mappings.answer"]),
    (
        step("query", input_bindings={"prompt": "a..b"}, output_bindings={"answer": "b.."}),
        ["PF14 nodes[0].input_bindings.prompt", "PF14 nodes[0].output_bindings.answer"],
    ),
    (step("query", params={"input_key": "prompt..", "output_key": "answer"}), ["PF14 nodes[0].params.input_key"]),
    (mapped("template:${a"), ["PF14? mappings.query.input_mappings.prompt"]),
    (step("shell", inputs={"command": 'echo "${HOME}" $x ${1x}'}), []),
    *(
        (
            flow(
                {
                    "id": "one",
                    "type": "shell",
                    "inputs": {"command": command},
                    "batch": {"over": "stdin", "as": "line"},
                },
                {"id": "other", "type": "shell", "inputs": {"command": command}},
                inputs={"city": {}},
                outputs={"x": "city"},
                mappings={"other": {"output_mappings": {"*": "other"}}},
            ),
            [f"PF14? nodes[{n}].inputs.command" for n in steps],
        )
        for command, steps in (
            ("echo ${city}", [0, 1]),
            ('echo "${city.name[0]}" ${city}', [0, 0, 1, 1]),
            ("echo ${line}", [0]),
            ("echo ${one.stdout}", [1]),
            ("echo ${stdout}", [1]),
            ("echo $city ${city:-x} ${HOME} ${arr[@]} ${#city} ${other.stdout} ${town}", []),
            ('city=$1; echo "${city}.txt"', []),
            ('while IFS= read -r city; do echo "${city}"; done', []),
            ('for city in "$@"; do\n echo "${city}"; done', []),
            ("echo --city=x city ${city}", [0, 1]),
        )
    ),
    (
        flow("a:shell", mappings={"a": {"input_mappings": {"command": "template:echo ${x}"}}}),
        ["PF14 mappings.a.input_mappings.command"],
    ),
    (step("query", inputs={"prompt": "p", "text": {"$a": 1}}), ["PF14 nodes[0].inputs.text"]),
    *((written(target), ["PF14 mappings.query.output_mappings.answer"]) for target in ("out..summary", "out[0]", "")),
    (
        flow("anything", SAVE, inputs={"x": {}}, mappings={"save": {"input_mappings": {"content": "summary"}}}),
        ["PF11? nodes[0].type", "PF14? mappings.save.input_mappings.content"],
    ),
    (mapped("fetch.issue_data.body", "judge", edges=edges("fetch judge")), ["PF12 nodes[1]"]),
    (mapped("fetch.issue_data.body", edges=edges("fetsh query")), ["PF12 edges[0].from"]),
]

READS = [
    (flow("fetch", "query"), []),
    (flow("fetch", "save"), []),
    (flow("fetch", "query", inputs={**NUMBER, "prompt": {"type": "str"}}), []),
    ({**query(inputs={"prompt": "p"}), "inputs": NUMBER}, []),
    ({**query(params={"prompt": "$issue_data"}), "inputs": NUMBER}, []),
    (flow("query", "judge", inputs={"prompt": {}}), []),
    (flow(SAVE, inputs={"other": {}}), ["PF02? inputs.other"]),
    ({**batch("issue_data.labels", "prompt"), "inputs": NUMBER}, []),
    (flow("fetch", "query", inputs=NUMBER), ["PF03 nodes[1]"]),
    (flow("fetch", "j:judge", inputs={**NUMBER, "prompt": {}}), ["PF03 nodes[1]"]),
    (flow("query", "save", inputs={"prompt": {}}), ["PF03 nodes[1]", "PF08 nodes[1]"]),
    (flow("load", inputs={"path": {"type": "path"}}), ["PF08 nodes[0]"]),
    (flow("anything", "judge", inputs={"x": {}}), ["PF11? nodes[0].type", "PF03? nodes[1]"]),
    (flow("fetch", "query", inputs=NUMBER, edges=edges("query fetch")), ["PF12 nodes[1]"]),
    (flow("fetch", "query", inputs=NUMBER, mappings={"qurey": {}}), ["PF12 mappings.qurey"]),
]

AGAIN = edges("query judge", "judge failed mend", "mend query", "judge save")


def again(source, **members):
    """A loop back to the first step, whose `text` is mapped from there."""
    mend = {"id": "mend", "type": "query", "inputs": {"prompt": "Mend it"}}
    asked = {"query": {"input_mappings": {"text": source}}} if source else {}
    nodes = [{"id": "query", "type": "query", "inputs": {"prompt": "Begin"}}, "judge", mend, SAVE]
    saved = {"save": {"input_mappings": {"content": "judge.verdict"}}}
    mappings = {**asked, **to(mend="mended"), **saved}
    return flow(*nodes, edges=AGAIN, mappings=mappings, outputs={"it": "judge.verdict"}, **members)


LOOPS = [
    (again(""), []),
    (again("mended"), []),
    (again("mended", inputs={"mended": {}}), []),
    (again(["stdin", "mended"], inputs={"content": {}}), []),
    (again("template:$stdin$mended", inputs={"content": {}}), ["PF14 mappings.query.input_mappings.text"]),
    (again("mended", inputs={"content": {}}), ["PF14 mappings.query.input_mappings.text"]),
    (again("mend.answer"), ["PF14 mappings.query.input_mappings.text"]),
    (again(["mend.answer", "judge.verdict"]), ["PF14 mappings.query.input_mappings.text"]),
    (flow("judge", "query", inputs={"prompt": {}}, edges=edges("judge failed query", "query judge")),
     ["PF03 nodes[0]", "PF12? nodes[0]"]),
    (flow("judge", "query", inputs={"prompt": {}, "answer": {}}, edges=edges("judge failed query", "query judge")),
     ["PF12? nodes[0]"]),
]  # fmt: skip

TYPES = [
    *(
        (counted(source), [])
        for source in (
            "fetch.issue_data.labels",
            "template:${fetch.issue_data.labels}",
            "template:${fetch.issue_data.title}",
            "template:${fetch.issue_data}",
            "somewhere",
        )
    ),
    *(
        (counted(source), ["PF15 mappings.count.input_mappings.items"])
        for source in (
            "fetch.issue_data.title",
            "fetch.issue_data",
            ["fetch.issue_data.labels", "fetch.issue_data.votes"],
        )
    ),
    (counted("load.content", LOAD), ["PF15? mappings.count.input_mappings.items"]),
    (counted("anything.content", "anything"), ["PF11? nodes[0].type"]),
    *((flow("fetch", inputs={"issue_number": {"type": type}}), []) for type in ("int", "any", "float")),
    (flow("fetch", inputs={"issue_number": {"type": "str"}}), ["PF15 inputs.issue_number.type"]),
    *((batch(over, prompt="p"), []) for over in ("fetch.issue_data.labels", "fetch.issue_data", "unknown")),
    (batch("fetch.issue_data.votes", prompt="p"), ["PF15 nodes[1].batch.over"]),
]

CHOICE = ["j:judge", "a:query", "b:query", "c:save"]

WRITES = [
    # what nobody reads may be overwritten where the flow says what it gives
    (flow("a:query", "b:query", mappings=to(a="x.a", b="x.b")), ["PF16? nodes[1]"]),
    (flow("a:query", "b:query", mappings=to(a="x.a", b="x.b"), outputs={"it": "x"}), []),
    (flow("a:query", "b:query", mappings=to(a="x.a", b="x.b"), outputs={"it": "used"}), ["PF16? nodes[1]"]),
    (flow("a:query", "b:query", "c:query", mappings=to(a="x.a", b="x.b", c="x.c")), ["PF16? nodes[1]"]),
    *(
        (
            flow("a:query", "b:query", mappings=to(a=a, b=b)),
            ["PF16? nodes[1]", "PF06 mappings.b.output_mappings.answer"],
        )
        for a, b in (("x", "x"), ("x", "x.y"), ("x.y", "x"), ("x/y", "x.y.z"))
    ),
    (
        flow("a:query", mappings={"a": {"output_mappings": {"answer": "x", "used": "x.used"}}}),
        ["PF06 mappings.a.output_mappings.used"],
    ),
    (
        flow(
            "a:query",
            "b:query",
            "c:judge",
            mappings={"c": {"input_mappings": {"answer": "a.answer"}}, **to(b="a.answer")},
        ),
        ["PF16? nodes[1]", "PF06 mappings.b.output_mappings.answer"],
    ),
    *(
        (flow(*CHOICE, edges=edges(*ways), mappings=mappings), [])
        for ways in (["j a", "j failed b", "a c", "b c"],)
        for mappings in (to(a="draft", b="draft"), {})
    ),
    (
        flow("a:query", "b:query", "j:judge", edges=edges("a b", "b j", "j failed a"), mappings=to(a="x", b="x")),
        ["PF16? nodes[1]", "PF12? nodes[2]", "PF06 mappings.b.output_mappings.answer"],
    ),
    (flow("a:query", "b:query", "c:query"), ["PF16? nodes[1]", "PF16? nodes[2]"]),
    (flow("a:query", "b:judge"), []),
    (flow("a:query", "b:query", mappings=to(a="x"), outputs={"it": "x"}), []),
    (flow("a:query", "b:query", mappings=to(b="answer"), outputs={"it": "answer"}), []),
    (flow("a:query", "b:query", mappings=to(a="answer")), ["PF16? nodes[1]"]),
    (flow(LOAD, "b:query", SAVE, mappings=to(b="content.x")), ["PF16? nodes[1]"]),
    *(
        (
            flow("a:query", "b:query", "j:judge", mappings={"j": {"input_mappings": {"answer": "a.answer"}}}, **gives),
            expected,
        )
        for gives, expected in (({}, ["PF16? nodes[1]"]), ({"outputs": {"it": "j.verdict"}}, []))
    ),
    (
        flow(
            "a:query", "b:query", {**SAVE, "inputs": {"content": "$used", "path": "p"}}, mappings=to(a="x.a", b="x.b")
        ),
        ["PF16? nodes[1]"],
    ),
]


FORKED = ["j:judge", "fetch", "a:judge", "b:anything", "c:anything", "end:anything"]
BRANCHES = ["j fetch", "fetch a", "fetch b", "a end", "b c", "c end"]
FORK = edges("fetch a", "fetch b", "a save", "b save")


def fork(*nodes, **members):
    save = {"id": "save", "type": "save", "inputs": {"path": "p", "content": "c"}}
    return flow("fetch", *nodes, save, edges=FORK, **members)


FORKS = [
    *(
        (flow(*FORKED, edges=edges(*BRANCHES, *more)), expected)
        for more, expected in (
            ([], []),
            (["a failed end"], []),
            (["c error end"], []),
            (["a failed c"], ["PF12 edges[5]"]),
            (["j failed c"], ["PF12 edges[6]"]),
            (["a failed j"], ["PF12 edges[0]"]),
        )
    ),
    (fork("a:judge", "b:query", mappings={"a": {"input_mappings": {"answer": "x"}}}), []),
    (fork("a:query", "b:query"), ["PF06 nodes[2]"]),
    (fork("a:query", "b:query", mappings=to(b="b.answer")), ["PF06 nodes[2]"]),
    (fork("a:query", "b:query", mappings={"b": {"output_mappings": {"answer": "b.answer", "used": "b.used"}}}), []),
    (
        fork("a:query", "b:query", mappings={"b": {"output_mappings": {"answer": "used", "used": "u"}}}),
        ["PF06 nodes[2]"],
    ),
    (fork("a:judge", "b:query"), ["PF06 nodes[1]"]),
    (fork("a:judge", "b:query", mappings=to(b="x")), []),
    (
        fork(
            *({"id": id, "type": "load", "inputs": {"path": id}} for id in "ab"),
            mappings={id: {"output_mappings": {"content": f"{id}_content"}} for id in "ab"},
        ),
        [],
    ),
]


def other_than(rule, findings):
    """The findings of other rules: most flows here use an answer of a step as little as they can."""
    return [each for each in findings if rule not in each]


def rows(*tables):
    return [pytest.param(*row, id=f"{at}-{n}") for at, table in enumerate(tables) for n, row in enumerate(table)]


@pytest.mark.parametrize(("document", "expected"), rows(GRAPH, KEYS, KINDS, PARAMS, PATHS, READS, LOOPS, TYPES, WRITES))
def test_a_flow_has_just_these_findings(document, expected):
    there = findings(document)
    assert [shown(each) for each in there if each.rule != "PF18"] == expected
    for each in there:
        look_up(document, each.place)  # what a finding points at is in the file


@pytest.mark.parametrize(("document", "expected"), rows(FORKS))
def test_a_flow_with_a_fork_has_just_these_errors(document, expected):
    assert errors(document) == expected


BOTH = node("Both", 'Reads: shared["answer"]: str  # one', 'Reads: shared["used"]: int  # other')

WORDS = [
    (
        flow("query", "judge", edges=edges("query jugde")),
        "edges[0].to: PF12: no step is called 'jugde'; did you mean judge?",
    ),
    (flow("query", mappings={"qurey": {}}), "mappings.qurey: PF12: no step is called 'qurey'; did you mean query?"),
    (flow("a:query", "b:save", edges=edges("a b", "b a")), "the loop a → b → a has no way out"),
    (
        flow("query", inputs={"json": {}}, mappings={"query": {"input_mappings": {"prompt": "json"}}}),
        "inputs.json: PF02: warning: --json is a flag of pflow run",
    ),
    (
        flow("query", inputs={"as": {}}, mappings={"query": {"input_mappings": {"prompt": "as"}}}),
        "inputs.as: PF02: warning: --as is a flag of a step in pipe syntax, and does not give this input there",
    ),
    (step("qurey"), "nodes[0].type: PF11: there is no node 'qurey'; did you mean query?"),
    (step("read-fil"), "did you mean read-file?"),
    (step("flow:none"), "there is no saved flow 'none'; there is "),
    (step("sub/none.pflow.json"), "paths begin at this file's directory"),
    (step("query", version="2.0.0"), "'a' asks for query 2.0.0, but there is 1.4.2"),
    (query(params={"zzz": "m"}), "query has no param or read 'zzz'; there is model, temperature, style, prompt, text"),
    (query(inputs={"promt": "p"}), "query does not read 'promt'; did you mean prompt?"),
    (query(inputs={"model": "m"}), 'it is a param: "params": {"model": …}'),
    (query(params={"style": "fancey"}), "it is 'fancey', not plain|fancy; did you mean fancy?"),
    (query(params={"temperature": "0.5"}), "it is a str, not float; write 0.5, without quotes"),
    (query(params={"temperature": "hot"}), "'temperature' does not fit: it is a str, not float; write a float"),
    (mapped("fetch.issue_dta.title"), "no 'issue_dta' in fetch; it has issue_data (did you mean issue_data?)"),
    (mapped("fetsh.issue_data"), "nothing writes 'fetsh.issue_data'; did you mean fetch?"),
    (mapped("fetch"), "'fetch' is a step; it writes fetch.issue_data"),
    (mapped("fetch.issue_data.titel"), "no 'titel' in fetch.issue_data; it has title, body, labels, votes"),
    (mapped("fetch.issue_data.labels.first"), "no 'first' in fetch.issue_data.labels; it is a list"),
    (mapped("fetch.issue_data.votes.up"), "no 'up' in fetch.issue_data.votes; it is an int"),
    (mapped("fetch..issue_data"), "'fetch..issue_data' has an empty step"),
    (
        mapped("judge.verdict", "judge"),
        "'judge' does not run before 'query'; add an edge that leads from 'judge' to 'query'",
    ),
    (step("query", inputs={"prompt": "${x"}), "PF14: warning: '${x' is not a reference"),
    (
        flow("fetch", "query", inputs=NUMBER),
        "nodes[1]: PF03: nothing gives 'query' its 'prompt' (what to ask); "
        '"mappings": {"query": {"input_mappings": {"prompt": "fetch.issue_data.title"}}}',
    ),
    (flow("j:judge", inputs={"anser": {}}), '"mappings": {"j": {"input_mappings": {"answer": "anser"}}}'),
    (flow("j:judge", inputs={"zzz": {}}), '"inputs": {"answer": {"type": "str"}}'),
    (flow("fetch", COUNT, inputs=NUMBER), '{"count": {"input_mappings": {"items": "fetch.issue_data.labels"}}}'),
    (flow("load", inputs={"path": {}}), '"mappings": {"load": {"input_mappings": {"path": "path"}}}'),
    (flow("query", "load", inputs={"prompt": {}}), '"inputs": {"path": …} of nodes[1]'),
    (
        again("mend.answer"),
        "PF14: 'mend' does not run before the first 'query'; "
        '["…", "mend.answer"]: a list of paths takes the one that is there',
    ),
    (
        flow(
            "judge",
            "query",
            "save",
            inputs={"prompt": {}, "path": {}},
            edges=edges("judge failed query", "query judge", "judge save"),
            mappings={"save": {"input_mappings": {"content": "judge.verdict", "path": "path"}}},
        ),
        "nodes[0]: PF03: nothing gives 'judge' its 'answer' (what to judge) the first time: 'query' writes it later; "
        '"inputs": {"answer": {"type": "str"}}',
    ),
    (
        counted("fetch.issue_data.votes"),
        "'items' wants a list[str], but 'fetch.issue_data.votes' is an int; map it from",
    ),
    (
        flow("a:query", "b:judge", mappings={**to(a="x"), "b": {"output_mappings": {"verdict": "x.y"}}}),
        "'b' writes 'verdict', and 'a' 'answer', to 'x.y'; write one to b.verdict",
    ),
    (
        flow("a:query", "b:query"),
        "nodes[1]: PF16: warning: 'b' writes 'answer' and 'used' over the value from 'a'; "
        '"mappings": {"b": {"output_mappings": {"answer": "b.answer", "used": "b.used"}}}',
    ),
    (
        flow("a:query", "b:query", "c:query", mappings=to(a="x.a", b="x.b", c="x.c")),
        "nodes[1]: PF16: warning: 'b' and 'c' write 'used' over the values from 'a' and 'b'; "
        '"mappings": {"b": {"output_mappings": {"used": "b.used"}}, "c": {"output_mappings": {"used": "c.used"}}}',
    ),
    (
        fork("a:query", "b:query"),
        "nodes[2]: PF06: 'b' and 'a' write 'answer' and 'used', in two branches of the fork at 'fetch'; "
        '"mappings": {"b": {"output_mappings": {"answer": "b.answer", "used": "b.used"}}}',
    ),
    (
        fork("a:query", {"id": "b", "type": "both"}),
        "nodes[2]: PF06: 'b' reads 'answer' and 'used', which 'a' writes in another branch; read them after the",
    ),
    (
        flow("fetch", {"id": "a", "type": "shell", "inputs": {"command": "echo ${fetch.issue_data.title}"}}),
        "PF14: warning: '${fetch.issue_data.title}' in 'command' is never filled, though there is "
        "fetch.issue_data.title; --args='${fetch.issue_data.title}' hands it over, as \"$1\"",
    ),
    (mapped("${fetch.issue_data}"), "'${fetch.issue_data}' is a template: write fetch.issue_data;"),
    (mapped("Fix: ${fetch.issue_data}"), "is a template: write template:Fix: ${fetch.issue_data};"),
]


@pytest.mark.parametrize(("document", "words"), WORDS)
def test_a_finding_says_what_is_wrong_and_what_to_do(document, words):
    (finding,) = other_than("PF18", told(document, BOTH))
    assert words in finding


def test_a_secret_does_not_stand_in_a_flow():
    finding = only(step("fetch", params={"token": "hush"}))
    assert finding.startswith("nodes[0].params.token: PF13: 'token' is secret")
    assert "FETCH_TOKEN" in finding
    assert "hush" not in finding
    inputs = {"mine": {"default": "hush"}, "issue_number": {"type": "int"}}
    finding = only({**step("fetch", params={"token": "$mine"}), "inputs": inputs})
    assert finding.startswith("inputs.mine.default: PF13: 'mine' is secret, but its value is in the flow; leave it out")


def test_a_result_holds_no_secret_item_and_not_two_things_of_one_name():
    kept = {"over": "users", "keep_item": True}
    finding = only(step("fetch", batch=kept, params={"token": "$item"}, inputs={"issue_number": 1}))
    assert finding.startswith("nodes[0].batch.keep_item: PF13: 'a' uses its items as secrets")
    greet = node("Greet", 'Reads: shared["item"]: str  # whom', 'Writes: shared["item"]: str  # the same')
    (finding,) = told(step("greet", batch=kept), greet)
    assert finding.startswith("nodes[0].batch.keep_item: PF13: 'a' writes an 'item' of its own")


def test_two_inputs_that_no_flag_tells_apart_are_warned_of():
    assert "PF02? inputs.a_b" in found(flow("query", inputs={"a-b": {"type": "str"}, "a_b": {"type": "str"}}))


def test_an_action_that_never_comes_is_named_with_the_nearest():
    document = flow("query", "judge", "save", edges=edges("query judge", "judge fialed query", "judge save"))
    assert "edges[1].action: PF12: warning: 'judge' never returns 'fialed'; did you mean failed?" in told(document)


def test_of_two_open_nodes_in_a_fork_nobody_knows_whether_they_meet():
    (finding,) = [each for each in told(fork("a:anything", "b:anything")) if "PF06" in each]
    assert finding == (
        "nodes[2]: PF06: warning: 'a' and 'b' may write the same keys, in two branches of the fork at "
        "'fetch'; declare their writes in an 'Interface:' block of their nodes' files"
    )
    assert not [each for each in told(fork("a:anything", "b:judge")) if "PF06" in each]


def test_edges_between_branches_are_one_finding():
    (finding,) = found(flow("fetch", "a:query", "b:query", "save", edges=[*FORK, *edges("a b")]))
    assert finding.startswith("PF12 edges[")


def test_one_of_two_writes_with_the_field_is_enough():
    other = node("Other", 'Writes: shared["issue_data"]: dict{name: str}  # other')
    ways = edges("judge fetch", "judge failed other", "fetch query", "other query")

    def of(path):
        mappings = {"query": {"input_mappings": {"prompt": path}}}
        return [
            each
            for each in found(flow("judge", "fetch", "other", "query", edges=ways, mappings=mappings), other)
            if "PF14" in each
        ]

    assert of("issue_data.name") == of("issue_data.title") == []
    assert of("issue_data.nothing") == ["PF14 mappings.query.input_mappings.prompt"]


def test_a_read_by_name_is_of_the_type_that_was_written():
    files = node("Items", 'Writes: shared["items"]: int  # how many')
    assert "'count' reads 'items' as a list[str], but 'items' writes it as an int" in only(flow("items", COUNT), files)
    mappings = {"items": {"output_mappings": {"items": "other"}}}
    assert found(flow("items", COUNT, mappings=mappings), files) == []


@pytest.mark.parametrize(
    "giver",
    [
        {"id": "a", "type": "seal", "inputs": {"answer": "$x"}},
        {"id": "a", "type": "judge", "inputs": {"answer": "On $topic"}, "batch": {"over": "x", "as": "topic"}},
    ],
)
def test_a_data_flag_that_is_not_stored_gives_nobody_else_anything(giver):
    files = node("Seal", 'Reads: shared["answer"]: str = null [secret]  # what seals it')
    assert "PF03 nodes[1]" in found(flow(giver, "j:judge", inputs={"x": {"type": "list[str]"}}), files)


def test_nodes_that_may_do_anything_are_one_short_finding():
    files = {**node("Odd", "Reads: a"), **node("Other", "Writes: b")}
    steps = [{"id": id, "type": type} for id, type in (("a", "odd"), ("b", "other"), ("c", "odd"))]
    assert "'odd' and 'other' may read and write any key" in only(flow(*steps), files)


@pytest.mark.parametrize("text", ["class Bad(:\n", "\0", "-" * 200_000 + "1", "a" + ".a" * 200_000])
def test_a_file_that_is_no_python_is_told(text):
    assert "cannot read the node" in only(flow("bad"), {"bad.py": text})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class Own: pass", ["PF09"]),
        ("class Own(object): pass", ["PF09"]),
        ("class Base: pass\nclass Own(Base): pass", ["PF09"]),
        ("own = 1", ["PF09"]),
        ("import pocketflow\nclass Own(pocketflow.Node): pass", ["PF11"]),
        ("from mine import Base\nclass Middle(Base): pass\nclass Own(Middle): pass", ["PF11"]),
        ("import pocketflow\nclass Helper: pass\nclass Other(pocketflow.Node): pass", ["PF11"]),
        ("import pocketflow\nif True:\n    class Own(pocketflow.Node): pass", ["PF11"]),
    ],
)
def test_a_class_that_is_no_node_is_found_without_importing_it(text, expected):
    nodes = findings(flow("own"), {"own.py": text + "\nraise SystemExit('imported')\n"})
    assert [each.rule for each in nodes] == expected


LOUD = '#!{}\n# Be loud.\n#\n# Interface:\n# - Writes: shared["out"]: str [pipe]  # a text\n'


def test_a_program_that_cannot_run_is_told_before_anything_runs(tmp_path, monkeypatch):
    program = tmp_path / "pflow-loud"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for interpreter, is_there in (("/bin/sh", True), ("/nowhere/found", False)):
        program.write_text(LOUD.format(interpreter))
        program.chmod(0o755)
        messages = " ".join(told(flow("loud")))
        assert ("cannot run: its interpreter '/nowhere/found' is not there" in messages) != is_there
    program.chmod(0o644)
    finding = only(flow("loud"), {"pflow-loud": LOUD.format("/bin/sh")})
    assert "'loud' is not a node: '" in finding
    assert "pflow-loud': it is not executable (chmod +x)" in finding


def test_what_comes_of_an_unknown_node_is_not_said_of_its_step_but_what_runs_later_is():
    unknown = {"id": "x", "type": "nope"}
    assert found(flow(unknown, "query", mappings={"query": {"input_mappings": {"prompt": "x"}}})) == [
        "PF11 nodes[0].type"
    ]
    later = flow("query", unknown, mappings={"query": {"input_mappings": {"prompt": "x.y"}}})
    assert found(later) == ["PF11 nodes[1].type", "PF14 mappings.query.input_mappings.prompt"]


def test_a_long_loop_is_named_by_its_first_steps():
    def loop_of(size):
        ids = [f"s{n}" for n in range(size)]
        ring = edges(*(f"{one} {other}" for one, other in zip(ids, [*ids[1:], ids[0]], strict=True)))
        (finding,) = [each for each in told(flow(*(f"{id}:query" for id in ids), edges=ring)) if "the loop" in each]
        return finding

    assert "the loop s0 → s1 → s2 → s3 → s4 → s5 → s6 → s7 → s0 has no way out" in loop_of(8)
    assert "the loop s0 → s1 → s2 → s3 → s4 → s5 → s6 → s7 → … has no way out" in loop_of(9)


def test_a_by_product_that_nobody_reads_may_be_overwritten_whatever_it_is_called():
    files = node(
        "Two", 'Writes: shared["main"]: str [pipe]', 'Writes: shared["extra"]: str', 'Writes: shared["other"]: str'
    )
    apart = {id: {"output_mappings": {"main": f"{id}.main"}} for id in ("a", "b")}
    assert found(flow("a:two", "b:two", mappings=apart, outputs={"it": "a.main"}), files) == []
    assert found(flow("a:two", "b:two"), files) == ["PF16? nodes[1]"]


def test_an_edge_that_enters_a_branch_is_named():
    document = flow("fetch", "a:query", "b:query", "save", edges=[*FORK, *edges("a b")])
    assert "the edge from 'b' to 'save' enters a branch of the fork at 'fetch'" in only(document)


def test_each_read_that_nothing_gives_is_a_finding_of_its_own():
    files = node(
        "Both",
        'Reads: shared["path"]: path [explicit]',
        'Reads: shared["what"]: str',
        'Writes: shared["n"]: int [pipe]',
    )
    assert found(flow("both", inputs={"zzz": {}}), files)[:2] == ["PF03 nodes[0]", "PF08 nodes[0]"]


def test_below_the_name_of_a_step_only_the_key_must_be_a_plain_word():
    mappings = {"as-k": {"output_mappings": {"answer": "as-k.answer", "used": "as-k.Used"}}}
    assert found(flow("as-k:query", mappings=mappings)) == ["PF10? mappings.as-k.output_mappings.used"]


def test_an_input_that_was_taken_may_be_written_over_but_nothing_goes_below_a_text():
    inputs = {"x": {"type": "str"}}

    def of(place):
        asked = {"input_mappings": {"prompt": "x"}, "output_mappings": {"answer": place}}
        return found(flow("query", inputs=inputs, mappings={"query": asked}))

    assert "PF07 inputs.x" in of("x.y")
    assert "PF07 inputs.x" not in of("x")
