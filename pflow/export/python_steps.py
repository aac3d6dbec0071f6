"""The function of an exported Python file that makes one flow: its steps, what they are given, and where they lead."""

from __future__ import annotations

import tokenize

from pflow.binding.sources import AlternativeSource, Constant, PathSource, TemplateSource
from pflow.catalog.kinds import FLOW, PROGRAM, PYTHON
from pflow.errors import BAD_DATA, PflowError
from pflow.export.code import Code, Names, call, write
from pflow.flow.flow import MAX_VISITS
from pflow.flow.rewrite import rewritten
from pflow.node import pocketflow
from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.flow.wired import FlowInput, WiredFlow, WiredStep

_RUNTIME = ("Batch", "Flow", "Fork", "Input", "Step", "Subflow", "Template")


class FlowCode:
    """One plan as a function that makes it.

    `makers` names the function of each plan. In a `plain` file there is no Step, and the nodes themselves are steps.
    `modules` are what the function imports, each class with the name that it has here; `sources` are those of them
    that are a user's own nodes.
    """

    def __init__(self, plan: WiredFlow, makers: dict[WiredFlow, str], *, is_plain: bool, is_root: bool) -> None:
        self.plan = plan
        self.makers = makers
        self.is_plain = is_plain
        self.is_root = is_root
        self.modules: dict[str, dict[str, str]] = {}
        self.sources: dict[str, str] = {}
        self.used: set[str] = set()
        classes = {wired.id: self._class_of(wired) for wired in plan.steps.values()}
        names = Names({"shared", *makers.values(), *classes.values()})
        self.names = {id: names.name(id) for id in plan.steps}
        steps = [line for wired in plan.steps.values() for line in self._step(wired, classes[wired.id])]
        edges = list(self._edges())
        end = self._end()
        self.body = [*self._imports(), "", *steps, "", *edges, *([""] if edges else []), end]

    def text(self) -> str:
        lines = [f"def {self.makers[self.plan]}():", f'    """{self._about()}"""']
        return "\n".join(["", "", *lines, *(f"    {line}" if line else "" for line in self.body)]) + "\n"

    def _about(self) -> str:
        about = self.plan.flow.description or f"The flow {self.plan.flow.name}".strip()
        return in_docstring(about)

    def _class_of(self, wired: WiredStep) -> str:
        """The name that a step's node has in the function; its module is noted."""
        kind = wired.kind
        if kind is None:
            raise PflowError(f"cannot export '{wired.id}': no node '{wired.step.type}'", exit=BAD_DATA)
        if kind.origin == FLOW:
            return self._runtime("Subflow")
        if kind.origin == PROGRAM:
            return self._imported("pflow.export.runtime.program", "Program")
        node = kind.node_class()
        if kind.origin == PYTHON:
            with tokenize.open(kind.file) as file:
                self.sources[node.__module__] = file.read()
        return self._imported(node.__module__, node.__name__)

    def _imported(self, module: str, name: str) -> str:
        """The name in the function of what a module holds: its own, with a number where that is taken."""
        names = self.modules.setdefault(module, {})
        if name not in names:
            taken = {*_RUNTIME, *(each for known in self.modules.values() for each in known.values())}
            forms = [name, *(f"{name}{number}" for number in range(2, len(taken) + 3))]
            names[name] = next(form for form in forms if form not in taken)
        return names[name]

    def _runtime(self, name: str) -> str:
        self.used.add(name)
        return name

    def _imports(self) -> Iterator[str]:
        runtime = {"pflow.export.runtime": {name: name for name in self.used}} if self.used else {}
        for module, names in sorted({**self.modules, **runtime}.items()):
            forms = [name if name == form else f"{name} as {form}" for name, form in sorted(names.items())]
            yield f"from {module} import {', '.join(forms)}"

    def _step(self, wired: WiredStep, node: str) -> Iterator[str]:
        name = self.names[wired.id]
        if wired.step.timeout is not None:
            yield f"# Its timeout of {wired.step.timeout:g} s is left out: pocketflow has none."
        if self.is_plain or is_bare(self.plan, wired):
            yield f"{name} = {node}()"
            if wired.params:
                params = {key: self._value(source) for key, source in wired.params.items()}
                yield f"{name}.set_params({write(params, 4, len(name) + 13)})"
            return
        made = self._made(wired, node)
        code = call(self._runtime("Step"), [wired.id, made], self._arguments(wired), 4, len(name) + 3)
        yield f"{name} = {code}"

    def _made(self, wired: WiredStep, node: str) -> Code:
        kind = wired.kind
        assert kind is not None
        if kind.origin == FLOW:
            return Code(f"{node}({self.makers[kind.plan]})")  # type: ignore[attr-defined]
        return Code(f"{node}({kind.name!r})" if kind.origin == PROGRAM else f"{node}()")

    def _arguments(self, wired: WiredStep) -> dict[str, Any]:
        step = wired.step
        given = {key for key in step.inputs if isinstance(wired.sources.get(key), Constant | TemplateSource)}
        mappings = {key: self._mapping(source) for key, source in wired.sources.items() if key not in given}
        optional = set(wired.soft)
        if self.is_root and self.plan.first_read and self.plan.first_read[0] == wired.id:
            mappings.setdefault(self.plan.first_read[1], "stdin")
            optional.add(self.plan.first_read[1])
        targets = {key: write_path(target) for key, target in wired.targets.items() if target != (key,)}
        found = {
            "params": {key: self._value(source) for key, source in wired.params.items()},
            "inputs": {key: self._value(wired.sources[key]) for key in step.inputs if key in given},
            "input_mappings": mappings,
            "output_mappings": targets,
            "optional": sorted(optional),
            "retries": step.retries,
            "wait": step.wait,
            "max_visits": step.max_visits,
            "batch": self._batch(wired),
        }
        return {name: value for name, value in found.items() if value not in (None, {}, [])}

    def _batch(self, wired: WiredStep) -> Code | None:
        batch = wired.step.batch
        if batch is None or wired.over is None:
            return None
        usual = {"item": "item", "on_error": "stop"}
        named = {key: getattr(batch, key) for key in usual if getattr(batch, key) != usual[key]}
        return Code(call(self._runtime("Batch"), [self._mapping(wired.over)], named))

    def _value(self, source: Source) -> Any:
        return source.value if isinstance(source, Constant) else self._mapping(source)

    def _mapping(self, source: Source) -> Any:
        if isinstance(source, PathSource):
            return write_path(source.path)
        if isinstance(source, AlternativeSource):
            return [write_path(path) for path in source.paths]
        assert isinstance(source, TemplateSource)
        return self._template(source)

    def _template(self, source: TemplateSource) -> Code:
        name = self._runtime("Template")
        places = {path: each.paths for path, each in source.sources.items()}
        if all(len(several) == 1 for several in places.values()):
            return Code(call(name, [rewritten(source.written, {path: one for path, (one,) in places.items()})], {}))
        several = {write_path(path): list(map(write_path, each)) for path, each in places.items()}
        return Code(call(name, [rewritten(source.written, {path: path for path in places}), several], {}))

    def _edges(self) -> Iterator[str]:
        forks = {(fork.source, fork.action): fork for fork in self.plan.graph.forks()}
        for id, actions in self.plan.graph.next.items():
            for action, targets in actions.items():
                source = self.names[id] if action == "default" else f"{self.names[id]} - {write(action)}"
                fork = forks.get((id, action))
                if fork is None:
                    yield f"{source} >> {self.names[targets[0]]}"
                    continue
                starts = ", ".join(self.names[start] for start in fork.starts)
                meet = f" >> {self.names[fork.meet]}" if fork.meet is not None else ""
                yield f"{source} >> {self._runtime('Fork')}({starts}){meet}"

    def _end(self) -> str:
        flow = self.plan.flow
        named: dict[str, Any] = {"start": Code(self.names[self.plan.graph.first or ""])}
        for kind in ("inputs", "flags"):
            known = [each for each in self.plan.inputs.values() if each.declared == (kind == "inputs")]
            found = {needed.name: self._input(needed) for needed in known if not needed.secret}
            named |= {kind: found} if found else {}
        outputs = {name: self._mapping(source) for name, source in self.plan.outputs.items()}
        named |= {"outputs": outputs} if outputs else {}
        named |= {"max_visits": flow.max_visits} if flow.max_visits != MAX_VISITS else {}
        name = "Flow" if self.is_plain else self._runtime("Flow")
        return f"return {call(name, [], named, 4, 7)}"

    def _input(self, needed: FlowInput) -> Code:
        named: dict[str, Any] = {}
        if needed.required:
            named["required"] = True
        if needed.has_default:
            named["default"] = needed.default
        if needed.pipe and needed.declared:
            named["pipe"] = True
        if needed.step is not None:
            named["read"] = needed.readers[0]
        elif write_path(needed.path) != needed.name:
            named["path"] = write_path(needed.path)
        flags = [flag for flag in needed.flags if flag != needed.name]
        if flags:
            named["flags"] = tuple(flags)
        return Code(call(self._runtime("Input"), [str(needed.type), *([needed.doc] if needed.doc else [])], named))


def is_bare(plan: WiredFlow, wired: WiredStep) -> bool:
    """Whether a step is no more than its node: a user's own class that finds everything in the store by its name."""
    step, kind = wired.step, wired.kind
    if kind is None or kind.origin != PYTHON or not wired.interface.open or plan.graph.forks():
        return False
    asks = [wired.sources, wired.targets, step.batch, step.retries, step.wait, step.max_visits, step.inputs]
    has_template = any(isinstance(source, TemplateSource) for source in wired.params.values())
    is_async = issubclass(kind.node_class(), pocketflow.AsyncNode)
    return not (any(asks) or has_template or is_async or "error" in plan.graph.next[wired.id])


def in_docstring(text: str) -> str:
    """A text as one sentence of a docstring."""
    sentence = text if text.endswith((".", "!", "?")) else text + "."
    return " ".join(sentence.split()).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
