"""Paths and templates, and where what they name comes from."""

from tests.flow.checked import edges, flow, found
from tests.flow.rules.flows import NUMBER, SAVE, again, batch, has_just, mapped, node, query, says, step, written

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
    (
        flow(
            "fetch",
            "shell",
            mappings={"shell": {"input_mappings": {"command": "template:rm ${fetch.issue_data.title}"}}},
        ),
        ["PF14 mappings.shell.input_mappings.command"],
    ),
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
            ('echo $city "$city.txt" $line $one.stdout "$stdout"', [0, 0, 1, 1, 1]),
            ("echo '$city' \\$city $$city $city_ $other.stdout $CITY", []),
            ("echo ${HOME} ${arr[@]} ${HOME:-$town} ${#other} ${other.stdout} ${town}", []),
            *((f"echo ${{{form}}}", [0, 1]) for form in ("city:-x", "#city", "city%.txt", "city:?")),
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

WORDS = [
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
    (step("query", inputs={"prompt": "{{ x }}"}), "PF14: warning: '{{ x }}' is not a reference, so it is left as text"),
    (
        again("mend.answer"),
        "PF14: 'mend' does not run before the first 'query'; "
        '["…", "mend.answer"]: a list of paths takes the one that is there',
    ),
    (
        flow("fetch", {"id": "a", "type": "shell", "inputs": {"command": "echo ${fetch.issue_data.title}"}}),
        "PF14: warning: '${fetch.issue_data.title}' in 'command' is never filled, though there is "
        "fetch.issue_data.title; --args='${fetch.issue_data.title}' hands it over, as \"$1\", and --input='${fetch",
    ),
    (mapped("${fetch.issue_data}"), "'${fetch.issue_data}' is a template: write fetch.issue_data;"),
    (mapped("Fix: ${fetch.issue_data}"), "is a template: write template:Fix: ${fetch.issue_data};"),
]


test_a_flow_has_just_these_findings = has_just([*PATHS, *LOOPS])
test_a_finding_says_what_is_wrong_and_what_to_do = says(WORDS)


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
