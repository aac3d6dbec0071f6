"""Nodes in any language: what such a program gets, and what is made of its answer."""

import json
import os

import pytest

from pflow.catalog.find import forget_types
from tests.engine.flows import run
from tests.tools import need_for

INTERFACE = """#!/bin/sh
# Interface:
# - Reads: shared["text"]: str [pipe]  # a text
# - Reads: shared["more"]: any = null  # anything
# - Writes: shared["out"]: any [pipe]  # anything
# - Params: how: str = "plain"  # how
# - Params: count: int = 1  # how many
# - Params: token: str = null [secret] [env TOKEN]  # a secret
# - Actions: default, left
"""
OUT_AND_IN = """#!/bin/sh
# Interface:
# - Reads: shared["out"]: any  # anything
# - Writes: shared["out"]: any  # it
"""
STORE = '{"$pflow":{"v":1},"out":1}'


@pytest.fixture
def program(nodes):
    """Makes the node `it` of a script's body."""

    def make(body, interface=INTERFACE):
        need_for(body)
        file = nodes / "pflow-it"
        file.write_text(interface + body)
        file.chmod(0o755)
        forget_types()

    return make


def run_it(store=None, **step):
    return run({"nodes": [{"id": "it", "type": "it", **step}]}, {"text": "a b c"} if store is None else store)


def test_it_gets_its_reads_as_a_store_and_its_params_as_flags(program, tmp_path):
    program(f'cat >"{tmp_path}/in"; printf "%s\\n" "$@" >"{tmp_path}/args"; echo \'{STORE}\'')
    ran = run_it({"text": "a", "other": 1}, params={"how": "a b", "count": 7})
    assert ran.store == {"text": "a", "other": 1, "out": 1}
    sent = json.loads((tmp_path / "in").read_text())
    assert sent.pop("$pflow")["last"] == "text"
    assert sent == {"text": "a"}
    assert (tmp_path / "args").read_text().splitlines() == ["--how=a b", "--count=7"]


def test_only_what_it_changed_is_a_write(program):
    interface = INTERFACE.replace(
        "# - Params: how", '# - Writes: shared["text"]: str  # it may change\n# - Params: how'
    )
    program("jq '.out = 1'", interface)
    assert run_it().ends("writes") == [{"out": ["out"]}]
    program("jq '.text = \"new\"'", interface)
    assert run_it().ends("writes") == [{"text": ["text"]}]


@pytest.mark.parametrize(
    ("before", "after", "is_write"),
    [
        ("1", "true", True),
        ("false", "0", True),
        ('[{"a":1}]', '[{"a":true}]', True),
        ("[1]", "[1,1]", True),
        ("1.0", "1", False),
        ('[{"a":1.0}]', '[{"a":1}]', False),
        ("true", "true", False),
    ],
)
def test_a_number_however_it_is_written_stays_one_and_never_equals_a_bool(program, before, after, is_write):
    program(f'cat >/dev/null; echo \'{{"$pflow":{{"v":1}},"out":{after}}}\'', OUT_AND_IN)
    ran = run_it({"out": json.loads(before)})
    assert ran.error is None
    assert ran.ends("writes") == [{"out": ["out"]} if is_write else {}]
    assert json.dumps(ran.store["out"]) == (
        json.dumps(json.loads(after)) if is_write else json.dumps(json.loads(before))
    )


def test_its_action_chooses_the_edge(program):
    program('jq \'."$pflow".action = "left" | .out = 1\'')
    ran = run(
        {
            "nodes": [{"id": "it", "type": "it"}, {"id": "l", "type": "count"}, {"id": "d", "type": "text"}],
            "edges": [{"from": "it", "to": "l", "action": "left"}, {"from": "it", "to": "d"}],
        },
        {"text": "a"},
    )
    assert (ran.ends("step", "action")[0], ran.store["n"]) == (("it", "left"), 1)


def test_a_missing_read_stops_before_it_runs(program, tmp_path):
    program(f'touch "{tmp_path}/ran"')
    assert run_it({}).error.exit == 66
    assert not os.path.exists(tmp_path / "ran")
