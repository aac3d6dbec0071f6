"""Params, reads and defaults that are there, and values that fit them."""

from shlex import quote

import pytest

from pflow.driver.driver import parse
from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from tests.flow.checked import findings, flow, only, told
from tests.flow.rules.flows import COUNT, NUMBER, has_just, mapped, node, query, says, step

PARAMS = [
    (query(repeats=True), []),
    (query(params={"model": "m", "temperature": 1, "prompt": "a read"}), []),
    (query(params={"modle": "m"}), ["PF13 nodes[1].params.modle"]),
    (query(inputs={"prompt": "p", "text": [1]}), []),
    (query(inputs={"promt": "p"}), ["PF13 nodes[1].inputs.promt"]),
    (query(inputs={"model": "m"}), ["PF13 nodes[1].inputs.model"]),
    ({**query(inputs={"promt": "p"}), "inputs": NUMBER}, ["PF13 nodes[1].inputs.promt"]),
    ({**query(params={"promt": "p"}), "inputs": NUMBER}, ["PF13 nodes[1].params.promt"]),
    (
        flow({"id": "a", "type": "anything", "params": {"max_retries": 5, "other": 1}}),
        ["PF11? nodes[0].type", "PF13? nodes[0].params.max_retries"],
    ),
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

WORDS = [
    (query(params={"zzz": "m"}), "query has no param or read 'zzz'; known: model, temperature, style, prompt, text"),
    (query(inputs={"promt": "p"}), "query does not read 'promt'; did you mean prompt?"),
    (query(inputs={"model": "m"}), 'it is a param: "params": {"model": …}'),
    (query(params={"max_retries": 5}), 'the step\'s "retries" is 4 for it: max_retries counts the first try too'),
    (query(inputs={"max_retries": "0"}), 'the step\'s "retries" is 0 for it'),
    (query(params={"max_retries": "$n"}), 'the step\'s "retries" is one less'),
    (query(params={"style": "fancey"}), "it is 'fancey', not plain|fancy; did you mean fancy?"),
    (query(params={"temperature": "0.5"}), "it is a str, not float; write 0.5, without quotes"),
    (query(params={"temperature": "hot"}), "'temperature' does not fit: it is a str, not float; write a float"),
]


test_a_flow_has_just_these_findings = has_just(PARAMS)
test_a_finding_says_what_is_wrong_and_what_to_do = says(WORDS)


def test_a_secret_does_not_stand_in_a_flow():
    finding = only(step("fetch", params={"token": "hush"}))
    assert finding.startswith("nodes[0].params.token: PF13: 'token' is secret")
    assert "FETCH_TOKEN" in finding
    assert "hush" not in finding
    inputs = {"mine": {"default": "hush"}, "issue_number": {"type": "int"}}
    finding = only({**step("fetch", params={"token": "$mine"}), "inputs": inputs})
    assert finding.startswith("inputs.mine.default: PF13: 'mine' is secret, but its value is in the flow; leave it out")


KEYED = node("Keyed", 'Reads: shared["key"]: str [secret]  # who', "Params: token: str = null [secret] [env T]")
INTO_KEY = {"a": {"input_mappings": {"key": "template:hush"}}}


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({**step("keyed"), "mappings": INTO_KEY}, "mappings.a.input_mappings.key"),
        (
            {**step("keyed"), "mappings": {"a": {"input_mappings": {"key": ["x", "template:hush"]}}}},
            "mappings.a.input_mappings.key",
        ),
        (step("keyed", input_bindings={"key": "template:hush"}), "nodes[0].input_bindings.key"),
        (flow({"id": "in", **step("keyed"), "mappings": INTO_KEY}), "nodes[0].mappings.a.input_mappings.key"),
        (flow({"id": "in", **step("keyed"), "params": {"a.token": "hush"}}), 'nodes[0].params["a.token"]'),
    ],
)
def test_a_secret_is_found_wherever_a_flow_gives_it(document, place):
    found = told(document, KEYED)
    assert f"{place}: PF13: " in found[0]
    assert "hush" not in "".join(found)


def test_a_result_holds_no_secret_item_and_not_two_things_of_one_name():
    kept = {"over": "users", "keep_item": True}
    finding = only(step("fetch", batch=kept, params={"token": "$item"}, inputs={"issue_number": 1}))
    assert finding.startswith("nodes[0].batch.keep_item: PF13: 'a' uses its items as secrets")
    greet = node("Greet", 'Reads: shared["item"]: str  # whom', 'Writes: shared["item"]: str  # the same')
    (finding,) = told(step("greet", batch=kept), greet)
    assert finding.startswith("nodes[0].batch.keep_item: PF13: 'a' writes an 'item' of its own")


def test_an_open_node_is_refused_what_is_near_to_a_name_that_its_code_reads():
    code = {"asks.py": "import pocketflow\nclass Asks(pocketflow.Node):\n    def prep(self, s):\n"
            "        return s.get('text'), self.params.get('temperature')\n"}  # fmt: skip
    step = {"type": "asks", "params": {"temprature": 1, "odd": 2}, "inputs": {"texts": "x", "doc": "y"}}
    found = [each for each in findings(flow({"id": "a", **step}), code) if each.rule == "PF13"]
    assert [each.remedy for each in found] == ["did you mean temperature?", "did you mean text?"]


FORMS = [
    ("llm ask", "schema", "amount number", "'number' is not a type; fields are NAME [str|int|float|bool]"),
    ("llm ask", "schema-multi", "amount int euros", "'amount int euros' is not a field"),
    ("llm ask", "schema", "name, amount int: in euros, paid bool", ""),
    ("llm ask", "schema", '{"type": "objet"}', "$.type: 'objet'"),
    ("llm ask", "schema", "nope.json", "no such file"),
    ("shell 'make nope.json' => llm ask", "schema", "nope.json", ""),
    ("custom-analysis", "sql", "SELEC a FROM rows", "syntax error"),
    ("analyze", "sql", "SELECT a FROM sales", "no such table: sales; SELECT … FROM rows"),
    ("analyze", "sql", "DELETE FROM rows", "it may only read the rows"),
    ("analyze", "sql", "SELECT authorized, incomplete, r.prohibited FROM rows r", ""),
    ("analyze", "sql", "SELECT zz, b FROM rows UNION SELECT * FROM rows ORDER BY 2", ""),
    ("analyze", "sql", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x FROM c", ""),
    ("http", "url", "nourl", "it is not an http or https URL; https://nourl"),
    ("http", "url", "http://", "it is not an http or https URL"),
    ("shell make => http", "url", "", "the URL is empty"),
    ("http", "url", "http://oak:key@oak.example", "a URL may not have a user or password"),
    ("fetch-page", "url", "ftp://oak.example/a", "it is not an http or https URL; https://HOST/PATH"),
    ("fetch-page", "url", "http://[::1]/a", ""),
    ("yt-transcript", "url", "dQw4w9WgXcQ", ""),
    ("read-file a", "encoding", "nope", "no such encoding; utf-8"),
    ("read-file a", "encoding", "latin-1:replace", ""),
    ("read-file a", "encoding", "bytes", ""),
    ("llm ask", "max-tokens", "-5", "it must be more than 0"),
    ("llm ask", "max-tokens", "0", "it must be more than 0"),
    ("llm ask", "max-tokens", "5", ""),
    ("claude-code x", "max-budget", "0", "it must be more than 0"),
    ("claude-code x", "max-budget", "0.5", ""),
    ("split-text", "size", "-5", "it must be 0 or more"),
    ("split-text", "size", "0", ""),
    ("load-csv a", "delimiter", "ab", "--delimiter takes one character, or tab"),
    ("load-csv a", "delimiter", "tab", ""),
    ("llm ask", "option", "foo", "it is written --option=NAME=VALUE"),
    ("llm ask", "at", "a.bin", "'a.bin' names no media type; --at PATH TYPE, such as"),
    ("llm ask", "at", "a=b.bin=png", "'a=b.bin=png' names no media type"),
    ("llm ask", "option", "top_p=1", ""),
    ("http http://oak.example", "query", "foo", "it is written --query=NAME=VALUE"),
    ("select", "place", "a[x]", "a path is like items[0].name"),
    ("select", "place", "a[-1].b", ""),
    ("matching", "expression", "(", "a regular expression of Python"),
    ("matching", "expression", "a+", ""),
    ("matching", "expression:", '["("]', ""),
]


@pytest.mark.parametrize("is_flag", [False, True])
@pytest.mark.parametrize(("flow", "name", "value", "told"), FORMS)
def test_a_constant_that_has_not_its_form_is_found_before_anything_runs(
    tmp_path, monkeypatch, flow, name, value, told, is_flag
):
    interface = 'Interface:\n# - Reads: shared["expression"]: any = "." [own] [regex]  # which\n'
    (tmp_path / "pflow-matching").write_text(f"#!/bin/sh\n# Match.\n#\n# {interface}")
    (tmp_path / "pflow-matching").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    flag = f"--{name}={value}"
    wired = wire(parse_pipe([flow if is_flag else f"{flow} {quote(flag)}"], FlowCatalog()))
    wired.opens_files = True
    found = [f"{each.message}; {each.remedy}" for each in check(wired) if each.rule == "PF13"]
    if is_flag:
        assert found == []
        try:
            parse(wired, [flag])
        except PflowError as error:
            found = [f"{error.message}; {error.hint}"]
    assert len(found) == bool(told)
    assert told in "".join(found)
