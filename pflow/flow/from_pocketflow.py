"""A pocketflow Flow made in Python, read as a flow: a walk along `start_node` and `successors`."""

from __future__ import annotations

import inspect
import os
import sys
from itertools import count

from pflow import Any, Iterator, Mapping
from pflow.binding.store import is_same
from pflow.catalog.find import BUNDLED, Catalog, add_class, find_type, only_in
from pflow.errors import BAD_DATA, PflowError, Within
from pflow.flow.expressions import literal
from pflow.flow.flow import FlowSpec
from pflow.flow.graph import ERROR
from pflow.flow.ir import id_after, load_document, numbered
from pflow.interface.interface import Interface
from pflow.node import Default, Node, class_of, declared_interface, id_of, pocketflow
from pflow.text.naming import joined, kebab
from pflow.values.jsontext import decode, encode
from pflow.values.paths import is_step_name

_LOADED = ("pflow.nodes.", "pflow_node_")
"""The prefixes of module names that end with the name of their node."""

_MAPPINGS = ("input_mappings", "output_mappings", "soft")
_WORK = (
    *("prep", "post", "prep_async", "post_async", "get_next_node"),
    *("run", "_run", "_orch", "run_async", "_run_async", "_orch_async"),
)
"""The methods of a Flow that do more than walk from node to node, if a class overrides them."""

_ARGUMENTS = "_pflow_arguments"
"""The attribute that keeps the arguments of a node's constructor."""

_numbers = count(1)


class WrittenStep(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """A step made by `pflow.step`. `node` is a class, an instance or a name; `ir` is what a flow's file would say.

    Unlike a node of pocketflow, it may have several edges for one action: a fork. `number` counts the steps made.
    """

    def __init__(self, node: Any, ir: dict[str, Any]) -> None:
        super().__init__()
        self.node = node
        self.ir = ir
        self.number = next(_numbers)
        self.edges: list[tuple[str, Any]] = []

    @Default
    def id(self) -> str:
        own = id_after(self.node, {}) if isinstance(self.node, str) else id_of(class_of(self.node))
        return str(self.ir.get("id") or own)

    def next(self, node: Any, action: str = "default") -> Any:
        self.edges.append((action, node))
        self.successors.setdefault(action, node)
        return node


def flow_from(
    root: Any, catalog: Catalog | None = None, variables: Mapping[str, Any] | None = None, *, is_run_here: bool = False
) -> FlowSpec:
    """Read a pocketflow Flow as a flow. A node without a name of its own is named after its variable in `variables`.

    A Flow inside it works on the same store. So its nodes become steps of this flow, and where it ends, the walk goes
    on after it. If the flow `is_run_here`, its node objects run themselves, and a Flow that does more than walk is one
    step. Otherwise its `warnings` say what has to be done by hand. Raises PflowError (65) for what a flow cannot
    express.
    """
    walk = _Walk(root, variables or {}, is_run_here=is_run_here)
    name, directory = type(root).__name__, getattr(root, "directory", ".")
    flow = load_document(walk.document(), name, (catalog or Catalog()).at(directory)).usable()
    for step in flow.steps:
        step.made = walk.made.get(step.id)
    flow.warnings += list(dict.fromkeys(walk.warnings))
    return flow


def nodes_from(start: Any) -> list[Any]:
    """Return a node and all nodes after it, each once, in the order in which a walk finds them."""
    nodes = [start] if start is not None else []
    known = {id(start)}
    for node in nodes:
        for _, target in _edges_of(node):
            if id(target) not in known:
                known.add(id(target))
                nodes.append(target)
    return nodes


def has_steps(start: Any) -> bool:
    """Return True if `pflow.step` made this node or one after it."""
    return any(isinstance(node, WrittenStep) for node in nodes_from(start))


def _edges_of(node: Any) -> Iterator[tuple[str, Any]]:
    """Return the edges of a node as (action, target). Only a step of `pflow.step` has two for one action: a fork."""
    edges = node.edges if isinstance(node, WrittenStep) else node.successors.items()
    return ((action, target) for action, target in edges if target is not None)


class _Enclosing:
    """A Flow on the walk, the Flow around it, and the params that both pass down to their nodes."""

    def __init__(self, flow: Any, outer: _Enclosing | None) -> None:
        self.flow = flow
        self.outer = outer
        self.params: dict[str, Any] = {**flow.params, **(outer.params if outer else {})}
        self.key: tuple[int, ...] = (*(outer.key if outer else ()), id(flow))

    def after(self, node: Any, *, declares_error: bool) -> list[tuple[str, Any, _Enclosing]]:
        """Return the edges of a node, as (action, target, Flow around it).

        An action without an edge ends this Flow, so the edges of this Flow in the one around it count. A node that
        declares `error` takes its own default edge before those.
        """
        own = [(action, target, self) for action, target in _edges_of(node)]
        actions = {action for action, _, _ in own}
        actions |= {ERROR} if declares_error and "default" in actions else set()
        outer = self.outer.after(self.flow, declares_error=declares_error) if self.outer else []
        return own + [each for each in outer if each[0] not in actions]


class _Walk:
    """A walk through a Flow. A node that is reached twice is one step; a node in two Flows is a step in each."""

    def __init__(self, root: Any, variables: Mapping[str, Any], *, is_run_here: bool) -> None:
        self.root = root
        named = [(name.strip("_"), each) for name, each in variables.items() if isinstance(each, pocketflow.BaseNode)]
        self.names = {id(each): name for name, each in named if is_step_name(name)}
        self.file = str(variables.get("__file__", ""))
        self.is_run_here = is_run_here
        self.ids: dict[tuple[int, ...], str] = {}
        self.taken: dict[str, int] = {}
        self.todo: list[tuple[Any, _Enclosing]] = []
        self.steps: list[tuple[int, dict[str, Any], dict[str, Any]]] = []
        self.edges: dict[tuple[str, str, str], None] = {}
        self.classes: dict[str, type] = {}
        self.made: dict[str, Any] = {}
        """The node objects of steps that run themselves, by step id."""
        self.warnings: list[str] = []
        self._enter(root, None)
        for node, around in self.todo:
            source = self.ids[(*around.key, id(node))]
            for action, target, where in around.after(node, declares_error=ERROR in _interface_of(node).actions):
                self.edges[source, self._enter(target, where), action] = None

    def document(self) -> dict[str, Any]:
        """Return the IR: the first step, then the others in the order in which they were made."""
        steps = self.steps[:1] + sorted(self.steps[1:], key=lambda step: step[0])
        edges = [{"from": source, "to": target, "action": action} for source, target, action in self.edges]
        mappings = {node["id"]: mapping for _, node, mapping in steps if mapping}
        ir = {"pflow": 1, **getattr(self.root, "ir", {}), "nodes": [node for _, node, _ in steps], "edges": edges}
        return {**ir, "mappings": mappings} if mappings else ir

    def _enter(self, node: Any, around: _Enclosing | None) -> str:
        """Return the id of the step for a node; for a Flow, the id for its first node."""
        while isinstance(node, pocketflow.Flow) and not (self.is_run_here and _more_than_walks(node)):
            _check(node, around)
            around = _Enclosing(node, around)
            node = node.start_node
        around = around or _Enclosing(pocketflow.Flow(), None)
        key = (*around.key, id(node))
        if key not in self.ids:
            self.ids[key] = self._add_step(node, around)
            self.todo.append((node, around))
        return self.ids[key]

    def _add_step(self, node: Any, around: _Enclosing) -> str:
        """Add the step of a node, made from the arguments of `pflow.step` or from the node itself."""
        ir, inner = (dict(node.ir), node.node) if isinstance(node, WrittenStep) else ({}, node)
        kind = inner if isinstance(inner, str) else class_of(inner)
        type_ = kind if isinstance(kind, str) else self._type_of(kind)
        own_id = vars(inner).get("id") if isinstance(inner, Node) else None
        name = ir.pop("id", None) or own_id or self.names.get(id(node))
        id_ = numbered(name, self.taken) if name else id_after(type_, self.taken)
        self.taken.setdefault(id_, 2)
        own = {} if inner is kind else self._own(inner, id_, type_)
        over = {**({} if inner is node else node.params), **around.params}
        params = {**_plain(id_, kind, _set_on(inner)), **ir.pop("params", {}), **_plain(id_, kind, over)}
        mapping = {key: ir.pop(key) for key in list(ir) if key in _MAPPINGS}
        step = {"id": id_, "type": type_, **own, **({"params": params} if params else {}), **ir}
        for key, value in [*step.items(), *mapping.items()]:
            _json(id_, key, value)
        self.steps.append((getattr(node, "number", 0), step, mapping))
        return id_

    def _own(self, node: Any, id_: str, type_: str) -> dict[str, Any]:
        """Return the retries of a node. Raises PflowError (65) if constructor arguments would be lost."""
        if self.is_run_here:
            self.made[id_] = node
        elif lost := lost_arguments(node):
            hint = f'let it read self.params["{lost[0]}"], and give it as step("{type_}", params={{"{lost[0]}": …}})'
            why = f"cannot use '{id_}' with its {joined(lost)}: a flow does not keep constructor arguments"
            raise PflowError(why, hint=hint, exit=BAD_DATA)
        elif names := set_later(node):
            what = f"'{id_}' had its {joined(names)} set after it was made"
            self.warnings.append(f"{what}, but a flow keeps only params: use set_params")
        tries, wait = getattr(node, "max_retries", 1), getattr(node, "wait", 0)
        if tries < 1:
            self.warnings.append(f"'{id_}' has max_retries={tries}: pocketflow never calls its exec, pflow does")
        return {"retries": tries - 1, "wait": wait} if tries > 1 else {}

    def _type_of(self, node: type) -> str:
        """Return the node name of a class: the name under which pflow finds it, else one made from the class's name."""
        module = node.__module__
        stem = next((module[len(start) :] for start in _LOADED if module.startswith(start)), "")
        own = kebab(node.__name__)
        name = stem.replace("_", "-") or (own if is_step_name(own) else "step")
        found = find_type(name) or find_type(node.__name__)
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        is_found = found is not None and os.path.realpath(file) == os.path.realpath(found.file)
        if found is not None and found.origin == BUNDLED and not is_found:  # no class may hide a node of pflow's own
            name = name if self.is_run_here else numbered(name, {name: 2})
            found = find_type(name)
        elif found is not None and (is_found or not self.is_run_here):
            name = found.name
        while (self.is_run_here or found is None) and self.classes.setdefault(name, node) is not node:
            name = numbered(name, dict.fromkeys(self.classes, 2))
        if self.is_run_here:
            if not module.startswith("pflow.nodes."):
                add_class(name, node)
        elif found is None:
            where = f"{name.replace('-', '_')}.py in a directory on PFLOW_NODES"
            only_in[name] = file, self.file or file
            self.warnings.append(f"no node is called '{node.__name__}': put the class into {where}")
        elif not is_found:
            self.warnings.append(f"'{node.__name__}' of '{file}' becomes the node {found.name} of '{found.file}'")
        return name


def _interface_of(node: Any) -> Interface:
    """Return the interface of a node, or of a step's node; for the name of an unknown node, an open interface."""
    inner = node.node if isinstance(node, WrittenStep) else node
    if not isinstance(inner, str):
        return declared_interface(class_of(inner))
    known = find_type(inner)
    return known.interface if known else Interface()


def _set_on(node: Any) -> dict[str, Any]:
    """Return the params that were set on a node, without its defaults; a class or a name has none."""
    if isinstance(node, str | type):
        return {}
    defaults = _interface_of(node).defaults()
    return {key: value for key, value in node.params.items() if key not in defaults or defaults[key] != value}


def _plain(id_: str, kind: str | type, params: dict[str, Any]) -> dict[str, Any]:
    """Return params as a flow holds them: JSON, with dollars doubled so that they begin no template."""
    fields = _interface_of(kind).params
    return {key: literal(fields.get(key), _json(id_, key, value)) for key, value in params.items()}


def _json(id_: str, key: str, value: Any) -> Any:
    """Return a value as JSON gives it back. Raises PflowError (65) if JSON cannot hold it."""
    with Within(f"cannot use '{id_}' with its '{key}'"):
        return decode(encode(value))


def _more_than_walks(flow: Any) -> str:
    """Say what a Flow does besides walking from node to node; "" if nothing."""
    if isinstance(flow, pocketflow.BatchFlow):
        return "it runs its nodes once for each item of a batch"
    own = (base for base in type(flow).__mro__ if not base.__module__.startswith(("pocketflow", "pflow.")))
    return next((f"it overrides {each}" for base in own for each in _WORK if each in vars(base)), "")


def _check(flow: Any, around: _Enclosing | None) -> None:
    """Raise PflowError (65) for a flow that cannot become steps."""
    why = _more_than_walks(flow)
    hint = "put that into a node" if why else ""
    if around is not None and {"inputs", "outputs"} & {*getattr(flow, "ir", {})}:
        why, hint = "a flow inside a flow cannot have inputs or outputs", "step() takes the path of its file"
    if flow.start_node is None:
        why, hint = "it has no start node", ""
    while around is not None and not why:
        why = "it contains itself" if around.flow is flow else ""
        around = around.outer
    if why:
        raise PflowError(f"cannot use {type(flow).__name__}: {why}", hint=hint, exit=BAD_DATA)


def remember_arguments() -> None:
    """From now on, keep the arguments of each node that this process makes, for `lost_arguments`.

    A `__new__` of pocketflow's base class does it, since a person's class keeps nothing of what its constructor got.
    """

    def new(node: type, *words: Any, **named: Any) -> Any:
        made: Any = object.__new__(node)
        setattr(made, _ARGUMENTS, (words, named))
        return made

    pocketflow.BaseNode.__new__ = new


def lost_arguments(node: Any) -> list[str]:
    """Return the names of the constructor arguments that a flow loses: all but defaults, tries, wait and params."""
    words, named = getattr(node, _ARGUMENTS, ((), {}))
    parameters = inspect.signature(type(node).__init__).parameters
    bound = inspect.signature(type(node).__init__).bind(node, *words, **named).arguments
    kept = {name: each.default for name, each in parameters.items()} | node.params
    given: dict[str, Any] = {}
    for name, value in list(bound.items())[1:]:
        given |= value if parameters[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value}
        # Most classes hand these on to pocketflow's constructor.
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            kept[name] = (getattr(node, "max_retries", 1), getattr(node, "wait", 0))[: len(value)]
    tries = ("max_retries", "wait")
    return [name for name in given if name not in tries and not is_same(given[name], kept.get(name, ...))]


def set_later(node: Any) -> list[str]:
    """Return the names of attributes that were set on a node after it was made. A fresh node of its class lacks them.

    Values that no flow could hold, such as clients, count as equal if they are of one class.
    """
    words, named = getattr(node, _ARGUMENTS, ((), {}))
    try:
        fresh = vars(type(node)(*words, **named))
    except Exception:  # a fresh node cannot be made, so there is nothing to compare
        return []
    kept = {*vars(Node()), "id", _ARGUMENTS}
    return [
        name for name, value in vars(node).items() if name not in kept and not _is_alike(value, fresh.get(name, ...))
    ]


def _is_alike(value: Any, other: Any) -> bool:
    is_plain = isinstance(value, str | int | float | list | dict | None)
    return is_same(value, other) if is_plain else type(value) is type(other)
