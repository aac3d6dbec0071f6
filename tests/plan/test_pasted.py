"""The round trip of plans: a plan's pipe syntax, pasted back, gives the same steps, edges and wiring."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from pflow.errors import PflowError
from pflow.flow.hash import flow_hash
from pflow.flow.load import load_document
from pflow.flow.pipe import parse_pipe
from pflow.flow.rules import check
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from pflow.plan.paste.origins import different_origin
from pflow.plan.paste.pasted import as_literals, pipe_of
from tests.flow.own_nodes import own_nodes
from tests.flow.test_pipe_write import NODES
from tests.plan.plans import plans

BIN = Path(sys.executable).parent
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.fixture(autouse=True, scope="module")
def nodes(tmp_path_factory):
    with own_nodes(tmp_path_factory.mktemp("nodes"), NODES):
        yield


def loaded(document):
    return load_document(document, "the plan").usable()


def plan(*nodes, inputs=None, declared=None, mappings=None, **members):
    """A plan of nodes; its mappings are `{step: {read: source}}`, its inputs `{name: default}`."""
    inputs = {name: {"default": value} for name, value in (inputs or {}).items()} | (declared or {})
    mapped = {step: {"input_mappings": each} for step, each in (mappings or {}).items()}
    return loaded({"nodes": list(nodes), "inputs": inputs, "mappings": mapped, **members})


def node(id, type, params=None, **inputs):
    return {"id": id, "type": type, "inputs": inputs, "params": params or {}}


READ, SUM, WRITE = node("read", "read-file"), node("sum", "llm", prompt="Sum up"), node("save", "write-file")
WIRED = {"read": {"path": "file"}, "sum": {"text": "read.content"}, "save": {"content": "sum.response", "path": "to"}}


def test_inputs_become_literals_where_mappings_read_them():
    flow = as_literals(plan(READ, SUM, WRITE, inputs={"file": "a b.txt", "to": "c"}, mappings=WIRED), {"to": "d"})
    assert flow.inputs == {}
    assert [step.inputs for step in flow.steps] == [{"path": "a b.txt"}, {"prompt": "Sum up"}, {"path": "d"}]
    assert [step.input_mappings for step in flow.steps] == [{}, {"text": "read.content"}, {"content": "sum.response"}]


@pytest.mark.parametrize(
    ("step", "mapped", "default", "literal"),
    [
        (node("s", "llm", prompt="$x"), {}, "it's $5", {"prompt": "it's $$5"}),
        (node("s", "llm", prompt="Of ${x}, $$ and $x"), {}, "$y", {"prompt": "Of $$y, $$ and $$y"}),
        (node("s", "llm", prompt="${x.name} ${x.all[0]}"), {}, {"name": "oak", "all": [1]}, {"prompt": "oak 1"}),
        (node("s", "llm"), {"prompt": "template:Of $x"}, 7, {"prompt": "Of 7"}),
        (node("s", "llm"), {"prompt": "x"}, 7, {"prompt": "7"}),
        (node("s", "llm"), {"text": "x.name"}, {"name": "oak"}, {"text": "oak"}),
        (node("s", "llm"), {"text": "x"}, None, {}),
        (node("s", "shell"), {"command": "x"}, "echo $HOME", {"command": "echo $HOME"}),
        (node("s", "shell", command="true", args=["$x", "-$x"]), {}, "$", {"command": "true", "args": ["$$", "-$$"]}),
        (node("s", "shell", command="$x", args="$x"), {}, ["a", "$"], {"command": "$x", "args": ["a", "$$"]}),
        (node("s", "shell", command="$x", args="$x"), {}, '["a"]', {"command": "$x", "args": ['["a"]']}),
        (node("s", "shell", command="true"), {"args": "template:$x"}, "a", {"command": "true", "args": ["a"]}),
        (node("s", "many"), {"score": "x"}, 7, {"score": 7}),
        (node("s", "many", score="1$x"), {}, 7, {"score": 17}),
        (node("s", "many", loud="$x"), {}, True, {"loud": True}),
    ],
)
def test_a_literal_means_what_the_input_was(step, mapped, default, literal):
    flow = as_literals(plan(step, inputs={"x": default}, mappings={"s": mapped}), {})
    assert flow.steps[0].inputs == literal
    assert flow.steps[0].input_mappings == {}


def test_inputs_become_literals_where_params_and_names_read_them():
    params = node("s", "llm", {"max_tokens": "$size", "system": "In $size words"}, prompt="x")
    by_name = node("m", "many")
    flow = as_literals(plan(params, by_name, inputs={"size": 7, "score": 3}), {})
    assert flow.steps[0].params == {"max_tokens": 7, "system": "In 7 words"}
    assert flow.steps[1].inputs == {"score": 3}


def test_an_input_without_a_value_is_read_as_before():
    mapped = {"read": {"path": "file"}, "s": {"text": "read.content"}}
    flow = plan(
        READ,
        node("s", "llm", prompt="$topic of $size"),
        inputs={"size": 2},
        declared={"file": {}, "topic": {}},
        mappings=mapped,
    )
    assert as_literals(flow, {}).inputs == {}
    assert (
        pipe_of(flow, {})
        == "read-file:read --map-in=path=file\n  => llm:s --prompt='${topic} of 2' --map-in=text=read.content\n"
    )


def test_an_input_that_takes_the_pipe_is_stdin():
    article = {"article": {"pipe": True}}
    first = plan(SUM, declared=article, mappings={"sum": {"text": "article"}})
    assert pipe_of(first, {}) == "llm:sum --prompt='Sum up'\n"
    inside = plan(node("s", "llm", prompt="Sum up ${article}"), declared=article)
    assert pipe_of(inside, {}) == "llm:s --prompt='Sum up ${stdin}'\n"
    assert pipe_of(first, {"article": "An oak"}) == "llm:sum --prompt='Sum up' --text='An oak'\n"


def test_two_steps_whose_writes_meet_are_kept_apart():
    ask = node("title", "llm", prompt="A title for ${sum.response}")
    mapped = {"sum": {"text": "read.content"}, "save": {"content": "template:# ${title.response}\n\n${sum.response}"}}
    flow = plan(node("read", "read-file", path="a"), SUM, ask, node("save", "write-file", path="o"), mappings=mapped)
    text = pipe_of(flow, {})
    assert text == (
        "read-file:read --path=a\n  => llm:sum --prompt='Sum up'\n"
        "  => llm:title --prompt='A title for ${sum.response}'\n"
        "  => write-file:save --path=o --content='# ${title.response}\n\n${sum.response}'\n"
    )


def test_keys_that_meet_by_their_names_are_what_the_pipe_carries():
    text = pipe_of(plan(node("read", "read-file", path="a"), node("save", "write-file", path="b")), {})
    assert text == "read-file:read --path=a\n  => write-file:save --path=b\n"


def test_outputs_are_left_out_with_a_word():
    flow = plan(node("read", "read-file", path="a"), outputs={"text": "read.content"})
    assert pipe_of(flow, {}) == (
        "# outputs, which pipe syntax leaves out: text from read.content\nread-file --path=a --id=read\n"
    )


def test_an_output_cannot_break_out_of_its_comment():
    text = pipe_of(plan(node("read", "read-file", path="a"), outputs={"a\n=> shell --command=x\033": "content"}), {})
    first, *rest = text.splitlines()
    assert "\033" not in first
    assert rest == ["read-file:read --path=a"]


LISTED = node("list", "list-files", pattern="*.txt")


@pytest.mark.parametrize(
    ("flow", "why"),
    [
        (
            plan(LISTED, {**READ, "batch": {"over": "list.files", "as": "path"}}),
            "'read' runs once for each of 'list.files' (a batch)",
        ),
        (plan(SUM, mappings={"sum": {"text": "a..b"}}), "'a..b' has an empty step"),
        (plan(node("s", "llm", prompt="$x"), inputs={"x": "a\0b"}), "it holds a NUL"),
        (plan({**SUM, "max_visits": 3}), "the max_visits of 'sum' has no pipe form"),
        (
            plan(node("a", "shell", command="x"), node("b", "shell", command="y")),
            "it would carry a.stdout into 'input' of 'b'",
        ),
        (
            plan(node("j", "judge", text="$stdout"), node("s", "shell", command="x", input="x"), inputs={"stdout": "y"},
                 edges=[{"from": "j", "to": "s", "action": "failed"}, {"from": "s", "to": "j"}]),
            "'j' reads it before and after s writes it",
        ),
        (
            plan(node("a", "shell", command="x"), node("j", "judge", text="It is $stdout."),
                 node("s", "shell", command="y", input="z"),
                 edges=[{"from": "a", "to": "j"}, {"from": "j", "to": "s", "action": "failed"},
                        {"from": "s", "to": "j"}]),
            "'text' of 'j' would get something else",
        ),
        (plan(node("m", "many", table="$x"), inputs={"x": {"$y": 1}}), "'table' of 'm' would get something else"),
        (plan(node("s", "shell", command="x"), inputs={"x": '["a"]'}, mappings={"s": {"args": "x"}}), "inputs.args"),
        (
            plan(node("a", "shell", command="x", input="the first"), node("b", "shell", command="y", input="no more"),
                 node("c", "shell", command="cat")),
            "'input' of 'c' would get something else",
        ),
    ],
)  # fmt: skip
def test_what_has_no_pipe_form_says_so(flow, why):
    with pytest.raises(PflowError) as caught:
        pipe_of(flow, {})
    assert why in caught.value.message
    assert caught.value.exit == 65


def test_an_input_that_a_batch_runs_over_stays_with_all_that_have_no_value():
    batch = {**node("b", "read-file", path="$each $topic $size"), "batch": {"over": "files", "as": "each"}}
    flow = as_literals(plan(batch, inputs={"files": ["a"], "size": 1}, declared={"topic": {}}), {})
    assert list(flow.inputs) == ["files", "topic"]
    assert flow.steps[0].inputs == {"path": "${each} ${topic} 1"}


def test_values_do_not_change_the_hash_and_an_input_that_is_mapped_does():
    flow = plan(READ, SUM, WRITE, inputs={"file": "a", "to": "b"}, mappings=WIRED)
    literal = flow_hash(wire(as_literals(flow, {})))
    assert literal == flow_hash(wire(as_literals(flow, {"file": "x", "to": "y"})))
    assert literal == flow_hash(wire(parse_pipe([pipe_of(flow, {})])))
    assert literal != flow_hash(wire(flow))
    by_name = plan(node("m", "many"), inputs={"score": 3})
    assert flow_hash(wire(as_literals(by_name, {}))) == flow_hash(wire(by_name))


def same(flow, text):
    """Check that a text says a flow: the same steps and edges, and everything from where it came from."""
    again = parse_pipe([text])
    assert [(step.id, step.type) for step in again.steps] == [(step.id, step.type) for step in flow.steps]
    assert edges(again) == edges(flow)
    assert not [finding for finding in check(wire(again)) if not finding.is_warning]
    assert different_origin(wire(flow), {}, wire(again)) is None
    assert {id: moved(flow, id, again) for id in wire(flow).steps} == {id: set() for id in wire(flow).steps}


def edges(flow):
    return {(edge.source, edge.target, edge.action) for edge in flow.edges}


def moved(flow, id, again):
    """The writes of a step that go elsewhere, and not under its own id, where pipe syntax puts what meets."""
    here, there = wire(flow).steps[id], wire(again).steps[id]
    return {key for key in here.interface.writes if there.place_of(key) not in (here.place_of(key), (id, key))}


def has_errors(flow):
    return any(not finding.is_warning for finding in check(wire(flow)))


def said(flow):
    try:
        return pipe_of(flow, {}), None
    except PflowError as error:
        return "", error


@settings(max_examples=150, suppress_health_check=SLOW)
@given(plans(is_plain=True))
def test_every_chain_whose_steps_say_what_they_work_on_comes_back(document):
    flow = loaded(document)
    assert not has_errors(flow)
    same(flow, pipe_of(flow, {}))


@settings(max_examples=150, suppress_health_check=SLOW)
@given(plans())
def test_any_plan_comes_back_or_is_refused_in_words(document):
    flow = loaded(document)
    before = flow_to_ir(flow)
    if has_errors(flow):
        return
    text, error = said(flow)
    if error:
        assert error.exit == 65
        assert error.message.startswith(("cannot write the flow in pipe syntax: ", "cannot replace the input"))
    else:
        same(flow, text)
    assert flow_to_ir(flow) == before


ODD = 'it\'s "$HOME" `id` $(id) \\ ! => | # ; é\n007\t{}'
RUN = [
    plan(
        node("a", "read-file"), node("b", "shell", command="tr a-z A-Z; printf %s \"$1\"", args=["$odd", ""]),
        node("c", "write-file", path="${to}"),
        inputs={"file": "in.txt", "odd": ODD, "to": "o u't.txt"},
        mappings={"a": {"path": "file"}, "b": {"input": "a.content"}, "c": {"content": "template:$odd\n${b.stdout}"}},
    ),
    plan(
        node("one", "shell", {"check": False}, command="exit 3"),
        node("two", "shell", command='printf "%s." "$@"', args="$list"),
        node("three", "shell", command="cat", input="${one.exit_code} ${two.stdout} $n"),
        inputs={"list": ["a b", "$", "007", ""], "n": 5},
        edges=[{"from": "one", "to": "two", "action": "error"}, {"from": "two", "to": "three"}],
        mappings={"two": {"input": "one.stdout"}},
    ),
    plan(
        node("first", "read-file", path="other.txt"), node("second", "read-file", path="$path"),
        node("again", "write-file"),
        inputs={"path": "in.txt"},
        mappings={"again": {"path": "template:$path.copy", "content": "second.content"}},
    ),
]  # fmt: skip


def printed(store):
    """What the steps printed, wherever it stands."""
    inner = [
        text for key, value in store.items() if isinstance(value, dict) and key[0] != "$" for text in printed(value)
    ]
    return sorted([value for key, value in store.items() if key == "stdout"] + inner)


def outcome(command, folder, shell=None):
    """What a command leaves: what its steps printed, and the files."""
    folder.mkdir()
    (folder / "in.txt").write_text("oak $x\n")
    (folder / "other.txt").write_text("ash")
    kept = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder / "home")}
    words = [shell, "-c", command] if shell else command
    done = subprocess.run(
        words, cwd=folder, env=kept, capture_output=True, check=False, timeout=120, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr.decode()
    files = {path.name: path.read_text() for path in folder.iterdir() if path.is_file() and path.suffix != ".json"}
    return printed(json.loads(done.stdout)), files


@pytest.mark.parametrize("flow", RUN, ids=["odd values", "a branch", "a read called like an input"])
@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_plan_runs_alike_from_its_file_and_pasted_into_a_shell(flow, shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.fail(f"there is no {shell}")
    (tmp_path / "plan.pflow.json").write_text(json.dumps(flow_to_ir(flow)))
    planned = outcome(["pflow", "run", "-j", str(tmp_path / "plan.pflow.json")], tmp_path / "planned")
    pasted = outcome(f"pflow run -j {shlex.quote(pipe_of(flow, {}))}", tmp_path / "pasted", shell)
    assert pasted == planned
