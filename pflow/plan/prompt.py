"""What a model is told: how to write a flow, what there is to build with, what was wrong; and its answer's schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from pflow.flow.findings import Finding

Schema = dict[str, Any]

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
  template then names "item". Each of its writes becomes a list; "keep_item": true makes each result an object,
  {"item": …, "WRITE": …}. "over" may be a text, for each of its lines. Of an item that is a path, ${item_name} and
  ${item_stem} are the last component, with its suffix and without: "out/${item_stem}.md" is a file for each.
- What comes through the pipe is an input with "pipe": true, one at most; mappings and templates take it by its name.
- "inputs" of the flow are only what the task leaves open. Values that the task names stand in the steps as they are.
- Do what the task says, with as few steps as it takes, and nothing else: no other files, addresses or commands.
- Where a saved flow does the whole task, answer with it as the only step, its inputs filled from the task.
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
"""A plan that was made under another prompt is not taken from the cache."""

MOST_FINDINGS = 20
"""Findings that are handed back at once: more would only follow from the first."""

_MOST_TYPES = 200
"""Types of steps that a schema lists."""


def task_text(sentence: str, piped: object = None) -> str:
    """The task, and in words what comes through the pipe."""
    return f"Task: {sentence}" + (f"\n{piped}" if piped is not None else "")


def findings_text(task: str, findings: Sequence[Finding]) -> str:
    """What is handed back: each finding on its line, and the task once more."""
    wish = "Answer with the whole flow, corrected, as one JSON object."
    return f"That flow cannot be used:\n{listed(findings)}\n\n{wish}\n{task}"


def listed(findings: Sequence[Finding]) -> str:
    return "\n".join(f"- {finding}" for finding in findings[:MOST_FINDINGS])


def plan_schema(types: Sequence[str] = ()) -> Schema:
    """The JSON schema of a plan, in what every server takes; a step's type is one of `types`, if they are not many."""
    text: Schema = {"type": "string"}
    values: Schema = {"type": "object"}
    number: Schema = {"type": "number"}
    whole: Schema = {"type": "integer"}
    flag: Schema = {"type": "boolean"}
    names: Schema = {"type": "object", "additionalProperties": text}
    batch = _object({"over": text, "as": text, "jobs": whole, "on_error": text, "keep_item": flag}, "over")
    step: Schema = {"id": text, "type": {**text, "enum": list(types)} if 0 < len(types) <= _MOST_TYPES else text}
    step |= {"inputs": values, "params": values, "batch": batch, "retries": whole, "max_visits": whole}
    step |= {"wait": number, "timeout": number}
    source: Schema = {"anyOf": [text, {"type": "array", "items": text}]}
    mapping = _object({"input_mappings": {"type": "object", "additionalProperties": source}, "output_mappings": names})
    given = _object({"type": text, "description": text, "required": flag, "pipe": flag})
    return _object(
        {
            "name": text,
            "inputs": {"type": "object", "additionalProperties": given},
            "nodes": {"type": "array", "items": _object(step, "id", "type")},
            "edges": {"type": "array", "items": _object({"from": text, "to": text, "action": text}, "from", "to")},
            "mappings": {"type": "object", "additionalProperties": mapping},
            "outputs": names,
            "cannot": {**text, "description": "Why the task cannot be done; then no nodes."},
        }
    )


def _object(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}
