"""What a model is told: how a flow is written, what a good one is, what there is, and what was wrong with its last."""

from __future__ import annotations

from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.flow.findings import Finding

SYSTEM = """\
You turn a task into a flow for pflow. Answer with the flow as one JSON object, and with nothing else.

A flow:
{"name": "short-name",
 "inputs": {"NAME": {"type": "TYPE", "description": "…"}},
 "nodes": [{"id": "STEP", "type": "NODE", "inputs": {"READ": VALUE}, "params": {"PARAM": VALUE}}],
 "edges": [{"from": "STEP", "to": "STEP", "action": "default"}],
 "mappings": {"STEP": {"input_mappings": {"READ": "OTHER_STEP.WRITE"}}},
 "outputs": {"NAME": "STEP.WRITE"}}

- Only "nodes" is needed. Each has an id of its own; its type is one of the nodes below, or a saved flow, flow:NAME.
- Without "edges" the steps follow one another in their order. With it, name every edge; an action chooses between them.
- "inputs" of a step are fixed values for its reads; "params" are for its params.
- A read that takes what an earlier step wrote is in "mappings": the step's id, then "input_mappings", then the read and
  STEP.WRITE. Nothing is handed on by itself.
- A read without a default needs a value or a mapping. A read marked [explicit] has it nowhere else.
- In a prompt, ${STEP.WRITE} stands for what an earlier step wrote. In what is marked [verbatim] nothing is replaced.
- A shell command stands in its step as it is; values reach it as its "args", "$1" and on, or as its "input", on stdin.
- A mapping may be a list of paths, of which the one written last counts: after a loop, or where ways meet.
- Several reads that one text is made of: "template:First: ${a.response}\\nSecond: ${b.response}" as the mapping.
- To do a step once for each item of a list: "batch": {"over": "STEP.WRITE", "as": "item"} in the step; the mapping or
  template then names "item". Each of its writes becomes a list.
- "stdin" as a mapping is what is piped into the flow, where the task speaks of that.
- "inputs" of the flow are only what the task leaves open. Values that the task names stand in the steps as they are.
- Do what the task says, with as few steps as it takes, and nothing else: no other files, addresses or commands.
- Where the nodes cannot do the task, answer {"cannot": "why"} instead of a flow.
- Never put a key, a password or an environment variable into a flow.

Example. Task: read notes.txt, summarize it in three lines, write summary.md
{"name": "summarize-notes",
 "nodes": [{"id": "read", "type": "read-file", "inputs": {"path": "notes.txt"}},
  {"id": "summarize", "type": "llm", "inputs": {"prompt": "Summarize this in three lines."}},
  {"id": "write", "type": "write-file", "inputs": {"path": "summary.md"}}],
 "mappings": {"summarize": {"input_mappings": {"text": "read.content"}},
  "write": {"input_mappings": {"content": "summarize.response"}}}}

What there is:

"""

VERSION = crc32(SYSTEM.encode())
"""Plans that were kept under other words are made anew."""

_TASK = "Task: "


def system_text(catalogue: str) -> str:
    return SYSTEM + catalogue


def task_text(sentence: str) -> str:
    return _TASK + sentence


def findings_text(sentence: str, findings: Sequence[Finding]) -> str:
    """What is handed back: each finding on its line, and the task once more."""
    lines = "\n".join(f"- {finding}" for finding in findings[:MOST_FINDINGS])
    wish = "Answer with the whole flow, mended, as one JSON object."
    return f"That flow cannot be used:\n{lines}\n\n{wish}\n{task_text(sentence)}"


MOST_FINDINGS = 20
"""Findings that are handed back at once: more would only follow from the first."""
