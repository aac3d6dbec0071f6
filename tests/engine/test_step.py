"""Nodes in any language: what such a program gets, and what is made of its answer."""

import json
import os

import pytest

from pflow.catalog.kinds import forget_kinds
from tests.engine.flows import run
from tests.tools import has_ended, need_for

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
ERROR = '{"$pflow":{"v":1,"error":{"step":"x","node":"y","exit":9,"message":"on purpose"}}}'


@pytest.fixture
def program(nodes):
    """Makes the node `it` of a script's body."""

    def make(body, interface=INTERFACE):
        need_for(body)
        file = nodes / "pflow-it"
        file.write_text(interface + body)
        file.chmod(0o755)
        forget_kinds()

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


def test_params_at_their_default_are_no_flags_and_secrets_never(program, tmp_path, monkeypatch):
    program(f'printf "%s\\n" "$*" "$TOKEN" >"{tmp_path}/args"; cat >/dev/null; echo \'{STORE}\'')
    monkeypatch.setenv("TOKEN", "s3cret")
    assert run_it(params={"how": "plain"}).error is None
    assert (tmp_path / "args").read_text() == "\ns3cret\n"


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


@pytest.mark.parametrize(
    ("body", "exit", "message"),
    [
        ("echo garbage", 65, "cannot take the answer of it: its 8 bytes are not a store"),
        ('echo \'{"$pflow":{"v":2}}\'', 65, "cannot take the answer of it: it has version 2"),
        ('echo \'{"$pflow":{"v":1},"out":1,"out":2}\'', 65, "the key 'out' appears twice"),
        ('echo \'{"$pflow":{"v":1},"out":1e999}\'', 65, "1e999"),
        ('echo \'{"$pflow":{"v":1},"other":1}\'', 1, "the node wrote 'other'"),
        (f"echo '{ERROR}'; exit 4", 9, "on purpose"),
        ("echo first >&2; echo 'it broke' >&2; exit 3", 3, "cannot run it: it ended with 3: it broke"),
        (f"echo '{STORE}'; exit 3", 3, "cannot run it: it ended with 3"),
        ("kill -9 $$", 137, "cannot run it: it ended with 137"),
    ],
)
def test_a_bad_answer_fails_the_step(program, body, exit, message):
    program(body)
    ran = run_it()
    assert (ran.error.exit, ran.store) == (exit, {"text": "a b c"})
    assert message in ran.error.message


def test_a_script_without_a_first_line_is_run_by_sh_and_need_not_read_its_stdin(program):
    program(f"echo '{STORE}'", INTERFACE.partition("\n")[2])
    assert run_it({"text": "x" * 1_000_000}).store["out"] == 1


def test_what_it_says_on_stderr_is_shown_and_only_its_end_is_kept(program, capfd):
    program(f"head -c 1000000 /dev/zero | tr '\\0' x >&2; cat >/dev/null; echo '{STORE}'")
    assert run_it().store["out"] == 1
    assert len(capfd.readouterr().err) == 1_000_000


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


def test_a_time_limit_ends_it_and_what_it_has_started(program, tmp_path):
    program(f'sleep 60 & echo $! $$ >"{tmp_path}/pids"; wait')
    (tmp_path / "pids").touch()  # it may end before its program begins
    ran = run_it(timeout=0.5)
    assert (ran.error.exit, "0.5 s of its timeout" in ran.error.message) == (124, True)
    for pid in (tmp_path / "pids").read_text().split():
        assert has_ended(pid)


def test_a_missing_read_stops_before_it_runs(program, tmp_path):
    program(f'touch "{tmp_path}/ran"')
    assert run_it({}).error.exit == 66
    assert not os.path.exists(tmp_path / "ran")
