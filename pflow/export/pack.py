"""A directory for `pflow install`: the flow, with the flows and the nodes of your own that it uses; -o DIR names it."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from pflow.cache.python_code import PythonCode
from pflow.catalog.find import find_node, is_node_name
from pflow.catalog.node_type import BUNDLED, FLOW, PYTHON, STORE_COMMAND, NodeType
from pflow.catalog.registry import SUFFIX, flow_name
from pflow.errors import BAD_DATA, CANNOT_WRITE, Attempt, PflowError, not_written
from pflow.explain.account import explain
from pflow.explain.text import account_text
from pflow.files.atomic import replace
from pflow.flow.ir import flow_to_ir, literal_secrets
from pflow.flow.wired_flow import WiredFlow
from pflow.interface.interface import spell_flag
from pflow.text.printable import clean
from pflow.values.fast_json import write_json

_DIGEST = 64
"""The length of a file's digest in PythonCode's parts. A shorter text is a distribution's version, or `missing`."""


def export_to(wired: WiredFlow, directory: str) -> None:
    """Write the directory, whole or not at all. Raises PflowError: 65 if a part of the flow cannot be in it, 73, 77."""
    target, contents = os.path.realpath(directory), _Contents()
    name = flow_name(os.path.basename(wired.flow.file)) or wired.flow.name or os.path.basename(target)
    if not is_node_name(name):
        contents.faults[f"no flow can be saved as '{name}'"] = None
    contents.add_steps(wired, "flows")
    contents.put(f"flows/{name}{SUFFIX}", write_json(flow_to_ir(wired.flow)).encode())
    contents.put("README.md", _readme(name, wired, contents.needs).encode())
    if contents.faults:
        hint = "a flow that is saved can travel as flow:NAME; pflow save --to=DIR begins a pack that you end by hand"
        raise PflowError(f"cannot export a pack: {'; '.join(contents.faults)}", hint=hint, exit=BAD_DATA)
    with Attempt(f"cannot write '{directory}'", not_written):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if target == os.getcwd():  # the user's shell would stay in the old directory, which is replaced
            raise PflowError(f"cannot write '{directory}': it is the working directory", exit=CANNOT_WRITE)
        with TemporaryDirectory(dir=os.path.dirname(target), prefix=".pflow-pack-") as stage:
            for path, (data, is_program) in contents.files.items():
                replace(f"{stage}/pack/{path}", data, mode=0o777 if is_program else 0o666)
            os.rename(f"{stage}/pack", target)  # fails unless the target is new or an empty directory


class _Contents:
    """A pack to be written: its files, each with True if it is a program; what else to install; and its faults."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, bool]] = {}
        self.needs: dict[str, None] = {}
        self.faults: dict[str, None] = {}

    def put(self, path: str, data: bytes, *, is_program: bool = False) -> None:
        if self.files.setdefault(path, (data, is_program)) != (data, is_program):
            self.faults[f"two of its files would be '{path}'"] = None

    def add_file(self, path: str, file: str) -> None:
        with Attempt(f"cannot read '{file}'"):
            self.put(path, Path(file).read_bytes(), is_program=os.access(file, os.X_OK))

    def add_steps(self, wired: WiredFlow, folder: str) -> None:
        """Add the nodes and flows that a flow's steps use. Paths of subflows are relative to the flow's `folder`."""
        self.faults |= {f"'{place[-1]}' is a secret: {remedy}": None for place, remedy in literal_secrets(wired)}
        for step in wired.steps.values():
            node_type, type = step.node_type, step.step.type
            if step.inline is not None:
                self.add_steps(step.inline, folder)
            elif node_type is None or node_type.origin in (BUNDLED, STORE_COMMAND):
                continue
            elif pack := node_type.pack:
                marks = [mark + part for mark, part in (("@", pack.asked), ("#", pack.directory)) if part]
                command = f"`pflow install {pack.address}{''.join(marks)}`, for {type}"
                self.needs[command if pack.address else f"the Python package {pack.name} {pack.asked}"] = None
            elif node_type.origin != FLOW:
                self._add_node(node_type, type)
            else:
                named = os.path.basename(node_type.file) if type.startswith("flow:") else ""
                path = f"flows/{named}" if named else os.path.normpath(os.path.join(folder, type))
                if path.startswith("flows/") and step.subflow is not None:
                    self.add_file(path, node_type.file)
                    self.add_steps(step.subflow, os.path.dirname(path))
                else:
                    self.faults[f"'{type}', of '{step.id}', leads out of it"] = None

    def _add_node(self, node_type: NodeType, type: str) -> None:
        found = find_node(type)
        if found is None or found.file != node_type.file:
            self.faults[f"'{type}' is not the name of a node, but of '{node_type.file}'"] = None
        elif node_type.name.startswith("mcp-") and b"from pflow.mcp." in Path(node_type.file).read_bytes():
            self.faults[f"'{type}' is a tool of an MCP server"] = None
        for end in ("", ".interface"):
            if os.path.isfile(node_type.file + end):
                self.add_file(f"nodes/{os.path.basename(node_type.file)}{end}", node_type.file + end)
        if node_type.origin == PYTHON:
            self._add_modules(node_type.file)

    def _add_modules(self, file: str) -> None:
        """Add the modules that a node imports from its own directory."""
        code = PythonCode(file)
        self.faults |= {f"what '{file}' imports is unknown: {code.fault}": None} if code.fault else {}
        for part, version in code.parts.items():
            places = [os.path.join(os.path.dirname(each), part) for each in (file, os.path.realpath(file))]
            beside = next(filter(os.path.isfile, places), None)
            if beside and "/" not in part:
                self.add_file(f"nodes/{part}", beside)
            elif len(version) == _DIGEST:
                self.faults[f"'{file}' imports '{part}', which is not beside it"] = None
            elif part != "pflow-shell" and version != "missing":
                self.needs[f"the Python package {part} {version}"] = None


def _readme(name: str, wired: WiredFlow, needs: dict[str, None]) -> str:
    """Return the README: the pack's purpose, how to install and run it, its needs, and the text of pflow explain."""
    flags = [f"{spell_flag(each.name)}={each.type.name.upper()}" for each in wired.asked() if each.required]
    lines = [f"# {name}", "", *([wired.flow.description, ""] if wired.flow.description else [])]
    lines += ["    pflow install ADDRESS", "    " + " ".join([f"pflow run flow:{name}", *flags]), ""]
    lines += ["It needs besides:", "", *(f"- {each}" for each in needs), ""] if needs else []
    lines += [f"    {line}" for line in account_text(explain(wired), 100).splitlines()]
    return "".join(f"{clean(line).rstrip()}\n" for line in lines)
