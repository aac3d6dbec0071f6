"""What the tests of the rules stand on: a few nodes, and what a flow with them is found to have."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from pflow.catalog.find import forget_types
from pflow.flow.findings import Finding
from pflow.flow.ir import load_document
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.values.paths import write_path
from tests.flow.own_nodes import hide_bundled

NODE = '''
import pocketflow

class {name}(pocketflow.Node):
    """A node.

    Interface:
    {items}
    """

    version = "1.4.2"
'''

INTERFACES = {
    "Fetch": [
        'Reads: shared["issue_number"]: int [flag issue]  # issue number',
        'Writes: shared["issue_data"]: dict{title: str, body: str, labels: list[str], votes: int} [pipe]  # the issue',
        "Params: repo: str = null  # which repository",
        "Params: token: str = null [secret] [env FETCH_TOKEN]  # who asks",
    ],
    "Query": [
        'Reads: shared["prompt"]: str [own]  # what to ask',
        'Reads: shared["text"]: any = null [pipe]  # what it is about',
        'Writes: shared["answer"]: str [pipe]  # the answer',
        'Writes: shared["used"]: int  # what it took',
        "Params: model: str = null  # which model",
        "Params: temperature: float = 0.7  # how freely",
        "Params: style: plain|fancy = \"plain\"  # in which words",
    ],
    "Judge": [
        'Reads: shared["answer"]: str  # what to judge',
        'Writes: shared["verdict"]: str [pipe]  # what is to be said of it',
        "Actions: default, failed  # failed when it will not do",
    ],
    "Count": [
        'Reads: shared["items"]: list[str]  # what to count',
        'Writes: shared["count"]: int [pipe]  # how many',
        "Params: least: int  # from how many on",
    ],
    "Save": [
        'Reads: shared["content"]: any [pipe]  # what to save',
        'Reads: shared["path"]: path [explicit]  # where to',
    ],
    "Load": [
        'Reads: shared["path"]: path [explicit]  # which file',
        'Writes: shared["content"]: any [pipe]  # what it holds',
    ],
}  # fmt: skip

FILES = {
    **{
        name.lower() + ".py": NODE.format(name=name, items="\n    ".join("- " + item for item in items))
        for name, items in INTERFACES.items()
    },
    "anything.py": "import pocketflow\n\nclass Anything(pocketflow.Node):\n    '''Do anything.'''\n",
}


def findings(document: dict[str, Any], files: dict[str, str] | None = None) -> list[Finding]:
    """What is found in a flow, with these nodes and `files` beside them."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as directory:
        for name, text in {**FILES, **(files or {})}.items():
            Path(directory, name).write_text(text)
        patch.setenv("PFLOW_NODES", directory)
        hide_bundled(patch, (Path(name).stem for name in FILES))
        patch.setenv("XDG_DATA_HOME", directory)
        forget_types()
        try:
            loaded = load_document(document, "flow", FlowCatalog(directory))
            return check(wire(loaded))
        finally:
            forget_types()


def found(document: dict[str, Any], files: dict[str, str] | None = None) -> list[str]:
    """Each finding as `RULE place`, a warning with a `?`."""
    return list(map(shown, findings(document, files)))


def shown(finding: Finding) -> str:
    return f"{finding.rule}{'?' * finding.is_warning} {write_path(finding.location)}"


def errors(document: dict[str, Any], files: dict[str, str] | None = None) -> list[str]:
    """As `found`, without the warnings."""
    return [each for each in found(document, files) if "?" not in each]


def told(document: dict[str, Any], files: dict[str, str] | None = None) -> list[str]:
    """Each finding as a person reads it."""
    return [str(each) for each in findings(document, files)]


def only(document: dict[str, Any], files: dict[str, str] | None = None) -> str:
    """The only finding, as a person reads it."""
    (finding,) = told(document, files)
    return finding


def flow(*nodes: str | dict[str, Any], **members: Any) -> dict[str, Any]:
    """A flow of nodes: `query`, `a:query` (an id and a type), or an object."""
    return {"nodes": [_node(node) for node in nodes], **members}


def _node(node: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(node, dict):
        return node
    id, _, type = node.rpartition(":")
    return {"id": id or type, "type": type}


def edges(*written: str) -> list[dict[str, str]]:
    """Edges written `a b` or `a failed b`."""
    split = [text.split() for text in written]
    return [{"from": each[0], "to": each[-1], **({"action": each[1]} if len(each) > 2 else {})} for each in split]
