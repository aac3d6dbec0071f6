"""A Python file with the steps, for people to read and change; it needs pflow-shell."""

import json
import os
from typing import Any

from pflow import __version__
from pflow.catalog.find import BUNDLED, PYTHON
from pflow.flow.ir import flow_to_ir
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.text.naming import free, variable
from pflow.text.printable import clean

IS_PROGRAM = True

_WIDTH = 110
_OF_FLOW = ("name", "description", "inputs", "outputs", "max_visits")
_FILE = '''\
#!/usr/bin/env python3
"""{about}

Made with `pflow export --to=python` (pflow-shell {version}); --help lists its flags.
"""

{imports}

{steps}

{flow}

if __name__ == "__main__":
    flow.main()
'''


def export(wired: WiredFlow) -> str:
    """Write the file. Raises PflowError (65, 78) if a user's own node cannot be loaded."""
    return _Script(wired).text()


class RawCode(str):
    """A text that is code, and so is not quoted."""


class _Script:
    """The parts of the file. `names` has each step's variable, `classes` the name in it of each class, by file."""

    def __init__(self, wired: WiredFlow) -> None:
        self.wired = wired
        self.ir = flow_to_ir(wired.flow)
        self.taken = {"Flow", "flow", "load_node", "step"}
        self.classes: dict[str, str] = {}
        self.imports: list[str] = []
        self.loads: list[str] = []
        self.nodes = {id: self._node(step) for id, step in wired.steps.items()}
        self.names = {id: variable(id, self.taken) for id in wired.steps}

    def text(self) -> str:
        flow = self.wired.flow
        pflow = ["Flow", *(["load_node"] if self.loads else []), "step"]
        imports = [f"from pflow import {', '.join(pflow)}", *sorted(self.imports)]
        steps = [self._step(node) for node in self.ir["nodes"]]
        groups = [self.loads, steps, self._edges()]
        return _FILE.format(
            about=_in_docstring(": ".join(filter(None, [flow.name, flow.description])) or "A flow"),
            version=__version__,
            imports="\n".join(imports),
            steps="\n\n".join("\n".join(group) for group in groups if group),
            flow=self._flow(),
        )

    def _node(self, wired: WiredStep) -> Any:
        node_type = wired.node_type
        if (
            node_type is None
            or node_type.origin not in (BUNDLED, PYTHON)
            or node_type.name != wired.step.type
            or node_type.pack
        ):
            return wired.step.type
        if node_type.file not in self.classes:
            node = node_type.node_class()
            name = self.classes[node_type.file] = free(node.__name__, self.taken)
            if node_type.origin == PYTHON:
                self.loads.append(f"{name} = load_node({_flat(os.path.abspath(node_type.file))})")
            else:
                self.imports.append(f"from {node.__module__} import {node.__name__}")
        return RawCode(self.classes[node_type.file])

    def _step(self, node: dict[str, Any]) -> str:
        id = node["id"]
        more = {key: value for key, value in node.items() if key not in ("id", "type")}
        mappings = self.ir.get("mappings", {}).get(id, {})
        return self._assign(self.names[id], "step", [self.nodes[id], id], {**more, **mappings})

    def _edges(self) -> list[str]:
        """Write a chain of default edges on one line, and each other edge on a line of its own."""
        lines: list[str] = []
        last = ""
        for edge in self.wired.flow.edges:
            source, target = self.names[edge.source], self.names[edge.target]
            is_default = edge.action == "default"
            if is_default and source == last and len(lines[-1]) + len(target) < _WIDTH - 4:
                lines[-1] += f" >> {target}"
            else:
                action = "" if is_default else f" - {_flat(edge.action)}"
                lines.append(f"{source}{action} >> {target}")
            last = target if is_default else ""
        return lines

    def _flow(self) -> str:
        flow = self.wired.flow
        said: dict[str, Any] = {"start": RawCode(self.names[flow.steps[0].id])}
        said |= {key: value for key, value in self.ir.items() if key in _OF_FLOW}
        if any("/" in step.type or step.type.endswith(".json") for step in flow.steps):
            said["directory"] = os.path.abspath(flow.directory)
        return self._assign("flow", "Flow", [], said)

    def _assign(self, name: str, function: str, words: list[Any], named: dict[str, Any]) -> str:
        """Write the assignment of a call to a variable: on one line, or one argument a line."""
        parts = [_flat(word) for word in words]
        line = f"{name} = {function}({', '.join(parts + [f'{key}={_flat(each)}' for key, each in named.items()])})"
        if len(line) <= _WIDTH:
            return line
        lines = [*parts, *(f"{key}={code(each, 4, len(key) + 2)}" for key, each in named.items())]
        return f"{name} = {function}(\n" + "".join([f"    {each},\n" for each in lines]) + ")"


def code(value: Any, indent: int = 0, used: int = 0) -> str:
    """Write a value as code. `indent` is the indentation of its line, `used` the number of columns before the value."""
    flat = _flat(value)
    if indent + used + len(flat) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = " " * (indent + 4)
    if isinstance(value, list):
        items = [inner + code(item, indent + 4) for item in value]
        return "[\n" + ",\n".join(items) + ",\n" + " " * indent + "]"
    items = [f"{inner}{_flat(key)}: {code(item, indent + 4, len(_flat(key)) + 3)}" for key, item in value.items()]
    return "{\n" + ",\n".join(items) + ",\n" + " " * indent + "}"


def _flat(value: Any) -> str:
    if isinstance(value, RawCode):
        return str(value)
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return text if text.isprintable() and ('"' not in value or "'" in value) else repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flat(key)}: {_flat(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return repr(value)


def _in_docstring(text: str) -> str:
    sentence = text if text.endswith((".", "!", "?")) else text + "."
    return clean(" ".join(sentence.split())).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
