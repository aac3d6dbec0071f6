"""Texts of a flow's file that would be code, in every place and every exporter: what comes out holds them as texts."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pflow.commands._click import checked
from pflow.errors import PflowError
from pflow.export import exporter
from pflow.export.dot import drawn
from pflow.flow.from_pocketflow import flow_from
from pflow.flow.load import load_document
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.unload import flow_to_ir
from tests.export.cases import chain, edge, node
from tests.tools import need

SH = "\n>CANARY\n"
PYTHON = '"""\nopen("CANARY", "w")\n"""'
BREAKS = [
    *(SH, "';>CANARY;'", "$(>CANARY)", "`>CANARY`", '";>CANARY;"', "\\", "\\'", "a='b>CANARY", "*) >CANARY;;", "-n"),
    *(PYTHON, '"); open("CANARY", "w"); ("', "'", '"', '\\"', "{0}", "\u2028\u0085\r", "\0", "\x1b[31m\x9b"),
    *("%%{init: {}}%%", '"]\n    n9["x', '" --> n9', "\\N", "&quot;", "<b>", "#quot;", "\n---\n", " => shell #", "::"),
]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
hostile = st.sampled_from(BREAKS) | st.tuples(texts, st.sampled_from(BREAKS), texts).map("".join) | texts

SHELL = node("a", "shell", inputs={"command": "true"})


def of_input(name="text", **about):
    """A flow whose only step takes an input, which is declared."""
    source = f"[{json.dumps(name)}]"
    return chain(SHELL, inputs={name: about}, mappings={"a": {"input_mappings": {"input": source}}})


def of_batch(over, item):
    """A flow whose only step runs once for each item, and takes it."""
    step = {**SHELL, "batch": {"over": over, "as": item}}
    return chain(step, mappings={"a": {"input_mappings": {"input": f"[{json.dumps(item)}]"}}})


PLACES = {
    "a name": lambda text: {**of_input(), "name": text},
    "a description": lambda text: {**chain(SHELL), "name": "x", "description": text},
    "an input": lambda text: of_input(text, type="str"),
    "the words of an input": lambda text: of_input(type="str", description=text),
    "a default": lambda text: of_input(type="any", default=[text, {text: text}]),
    "a type of an input": lambda text: of_input(type=text),
    "an output": lambda text: {**chain(SHELL), "outputs": {text: "stdout"}},
    "an id": lambda text: chain({**SHELL, "id": text}),
    "a type": lambda text: chain({**SHELL, "type": text}),
    "a version": lambda text: chain({**SHELL, "version": text}),
    "a value": lambda text: chain(node("a", "say", inputs=dict.fromkeys(("value", "tone"), text.replace("$", "$$")))),
    "a command": lambda text: chain(node("a", "shell", inputs={"command": text, "args": [text, "", text]})),
    "a param": lambda text: chain(node("a", "summarise-text", params={text: text})),
    "an action": lambda text: chain(SHELL, {**SHELL, "id": "b"}, edges=[edge("a", "b", text)]),
    "a path": lambda text: chain(SHELL, mappings={"a": {"input_mappings": {"input": text}}}),
    "a key": lambda text: chain(SHELL, mappings={"a": {"output_mappings": {"stdout": f"[{json.dumps(text)}]"}}}),
    "a write": lambda text: chain(SHELL, mappings={"a": {"output_mappings": {text: "x"}}}),
    "an item": lambda text: of_batch("l", text),
    "a batch": lambda text: of_batch(f"[{json.dumps(text)}]", "item"),
}
every_place = pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)


def exported(target, make, text):
    """The text of the flow that has this text in it, and the flow; nothing where it is refused."""
    try:
        wired = checked(load_document(make(text), "flow"), "export")
        return exporter(target).export(wired), wired
    except PflowError as error:
        if error.exit != 65:
            raise
        return "", None


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    """A directory with programs in place of the stages: they take what they are given, and do nothing."""
    need("sed")
    folder = tmp_path_factory.mktemp("stubs")
    for name in ("pflow", "pflow-set", "pflow-shell"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (folder / "pflow-get").write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(json.dumps(SH))}\n")
    (folder / "pflow-get").chmod(0o755)
    for name in ("cat", "mktemp", "mv", "rm", "sed", "touch"):
        (folder / name).symlink_to(shutil.which(name) or name)
    return folder


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return tmp_path_factory.mktemp("here")


few = settings(max_examples=20)


@every_place
@few
@given(hostile)
@example(SH)
def test_a_script_runs_nothing_but_its_stages(stubs, here, make, text):
    code, wired = exported("sh", make, text)
    if not code:
        return
    needed = [f"--{name.replace('_', '-')}=x" for name, each in wired.inputs.items() if each.required]
    done = subprocess.run(
        ["/bin/sh", "-s", "--", *needed], input=code.encode(), cwd=here, env={"PATH": str(stubs)},
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(here.iterdir()) == []


@every_place
@few
@given(hostile)
@example(PYTHON)
def test_python_is_the_same_flow_and_does_nothing_else(here, make, text):
    code, wired = exported("python", make, text)
    calls = {
        each.func.id for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Call) and hasattr(each.func, "id")
    }
    assert calls <= {"step", "Flow", "load_node"}
    if code:
        names = {"__name__": "exported"}
        exec(compile(code, "exported", "exec"), names)
        assert flow_to_ir(flow_from(names["flow"])) == flow_to_ir(wired.flow)


@every_place
@few
@given(hostile)
def test_pipe_syntax_is_compiled_to_the_same_steps(make, text):
    code, wired = exported("pipe", make, text)
    if code:
        assert meaning(parse_pipe([code])) == meaning(wired.flow)


def meaning(flow):
    """What each step is and is given; two dollars are one."""
    steps = [(each.id, each.type, each.params, each.inputs) for each in flow.steps]
    return json.dumps(steps).replace("$$", "$")


@every_place
@few
@given(hostile)
@example("%%{init: {}}%%")
def test_a_picture_shows_these_steps_and_edges_and_nothing_else(make, text):
    for target, read in (("dot", read_dot), ("mermaid", read_mermaid)):
        code, wired = exported(target, make, text)
        if code:
            boxes, arrows = drawn(wired)
            labels = {box.name: [printable(line) for line in box.label] for box in boxes}
            assert read(code) == (labels, [(source, target, printable(action)) for source, target, action in arrows])


def printable(text):
    return "".join(each if each.isprintable() else " " for each in text)


def read_dot(code):
    """The labels of the nodes, and the edges, of a graph of Graphviz."""
    labels, edges = {}, []
    string = r'"((?:[^"\\]|\\.)*)"'
    first, *lines, last = code.removesuffix("\n").split("\n")
    assert (first, last) == ("digraph {", "}")
    for line in lines:
        if found := re.fullmatch(rf"    (\w+) \[label={string}\];", line):
            labels[found[1]] = unescaped(found[2])
        elif found := re.fullmatch(rf"    (\w+) -> (\w+)(?: \[label={string}(?:, style=dashed)?\])?;", line):
            edges.append((found[1], found[2], unescaped(found[3] or "")[0]))
        else:
            assert re.fullmatch(
                rf"    label={string}; labelloc=t;|    (?:node|edge) \[[^\"]*fontname={string}\];", line
            )
    return labels, edges


def unescaped(string):
    """The lines of a string of Graphviz."""
    shown = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], string)
    return shown.replace("&amp;", "&").split("\n")


def read_mermaid(code):
    """The labels of the nodes, and the edges, of a flowchart of Mermaid."""
    assert "%%" not in code  # it takes %%{…}%% for a directive, wherever it stands
    if code.startswith("---\n"):
        _, title, code = code.split("---\n", 2)
        assert list(yaml.safe_load(title)) == ["title"]
    first, *lines = code.removesuffix("\n").split("\n")
    assert first == "flowchart TD"
    labels, edges = {}, []
    for line in lines:
        if found := re.fullmatch(r'    (\w+)\["([^"]*)"\]', line):
            labels[found[1]] = [shown_by_mermaid(each) for each in found[2].split("<br/>")]
        else:
            found = re.fullmatch(r'    (\w+) (?:-->|-- "([^"]*)" -->|-\. "([^"]*)" \.->) (\w+)', line)
            edges.append((found[1], found[4], shown_by_mermaid(found[2] or found[3] or "")))
    return labels, edges


def shown_by_mermaid(label):
    assert not set(label) & set("<>&`")
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), label)
