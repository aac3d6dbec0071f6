"""The work for a flow grows with its steps, whatever keys they write: counted in bytecodes, not in seconds."""

import sys

import pytest

from pflow.explain.account import explain
from pflow.flow.ir import load_document
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.rules import check
from pflow.flow.wiring import wire

STEPS = {
    "one key": lambda n: {"type": "template", "inputs": {"template": "a"}},
    "a key from the step before": lambda n: {"type": "template", "inputs": {"template": "$text" if n else ""}},
    "a key that the next one reads": lambda n: {"type": "split-text" if n % 2 else "join-text"},
    "answers that nothing uses, past reads that the flow gives": lambda n: {"type": "llm", "inputs": {"prompt": "a"}},
}


def of_ir(step, count, target=""):
    nodes = [{"id": f"s{n}", **step(n)} for n in range(count)]
    mapped = {f"s{n}": {"output_mappings": {"text": target.format(n)}} for n in range(count) if target}
    return load_document({"nodes": nodes, "mappings": mapped}, "f.json")


FLOWS = {
    **{name: lambda count, step=step: of_ir(step, count) for name, step in STEPS.items()},
    "mapped to one place": lambda count: of_ir(STEPS["one key"], count, "out"),
    "mapped into one object": lambda count: of_ir(STEPS["one key"], count, "out.s{}"),
    "a pipe of one node": lambda count: parse_pipe([" => ".join(["template a"] * count)]),
    "lines between two steps": lambda count: parse_pipe(["template a" + "\n" * count + "template b"]),
    "a loop": lambda count: parse_pipe(["template:a a => " + "template a => " * count + "shell:last =error=> a"]),
}


def operations(act):
    """Count the bytecodes that Python executes."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    old = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(old)
    return count


def everything(make, count):
    flow = make(count)
    wired = wire(flow)
    check(wired)
    explain(wired)


@pytest.mark.parametrize("name", FLOWS)
def test_the_work_grows_with_the_steps(name):
    everything(FLOWS[name], 10)  # what is loaded once
    few, many = (operations(lambda count=count: everything(FLOWS[name], count)) for count in (25, 100))
    assert many < 4.6 * few
