"""Small flows, and values for their inputs: what goes through the doors."""

import itertools
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.doors.meaning import COUNTED, KINDS, Run

Flow = dict[str, Any]


class Case(NamedTuple):
    """A flow, the values of its inputs, the flows beside it, and how it is asked."""

    flow: Flow
    values: dict[str, Any]
    files: dict[str, Flow]
    raw: bool
    """It is asked for what the pipe carries alone."""
    piped: bool
    """Its values come as a store, where a door takes flags or a store."""
    halt: str
    """The step at which a run is killed, to be resumed: no branch of a fork, whose sibling may not repeat."""


def flags_of(case: Case) -> list[str]:
    declared = case.flow.get("inputs", {"items": {"type": "list"}})
    return [_flag(name, value, declared.get(name, {})) for name, value in case.values.items()]


def _flag(name: str, value: Any, about: dict[str, Any]) -> str:
    if isinstance(value, str):
        return f"--{name}={value}"
    sign = "=" if type(value).__name__ == about.get("type") else ":="
    return f"--{name}{sign}{json.dumps(value, separators=(',', ':'), ensure_ascii=False)}"


TEXTS = ["a", "two words", "ünï", "$topic ${x}", "007", '{"a": 1}', "-n", "line\nline\n", "'\"`\\", " ", "true", "@a"]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "str": st.sampled_from(TEXTS),
    "int": st.sampled_from([0, 7, -3, 1 << 40]),
    "float": st.sampled_from([0.5, 2]),
    "bool": st.booleans(),
    "list": st.sampled_from([[], [1, "x", None], ["a", "b"]]),
    "dict": st.sampled_from([{}, {"a": {"b": 1}}, {"b": [True]}]),
    "staging|production": st.sampled_from(["staging", "production"]),
}
VALUES["any"] = st.one_of(*VALUES.values())
CONSTANTS = st.sampled_from(["const", "costs $$5", "", 0, False, [1, "$$x"], {"k": None}])
WORDS = st.sampled_from(["Say", "it's", "$$", "a b"])

READ = {type: next(iter(kind.reads)) for type, kind in KINDS.items()}
CHAINED = ("note", "note", "note", "plain", "loud", "select", "template", "split-text", "parse-json")


STRAIGHT_WAYS = ("path", "path", "template", "constant", "param")
WAYS = (*2 * STRAIGHT_WAYS[:-1], "mapped template", "mapped template", "either", "param")


@dataclass
class Draft:
    """A flow that is being made: its steps, its mappings, and the paths at which there is something."""

    draw: Any
    declared: bool
    """Its inputs are."""
    straight: bool = False
    """A pipe of stages may be it."""
    inputs: Flow = field(default_factory=dict)
    steps: list[Flow] = field(default_factory=list)
    maps: dict[str, Flow] = field(default_factory=dict)
    targets: dict[str, dict[str, str]] = field(default_factory=dict)
    there: list[str] = field(default_factory=list)
    edges: list[tuple[str, ...]] = field(default_factory=list)
    files: dict[str, Flow] = field(default_factory=dict)

    def pick(self, *of: Any) -> Any:
        return self.draw(st.sampled_from(of))

    def happens(self, *, once_in: int) -> bool:
        return bool(self.draw(st.integers(1, once_in)) == 1)

    def path(self) -> str:
        """Draw a path at which there is something."""
        return str(self.pick(*self.there))

    def template(self) -> str:
        """Draw a text with references."""
        words = self.draw(st.lists(WORDS, min_size=1, max_size=2))
        return " ".join([*words, *(f"${{{self.path()}}}" for _ in range(self.pick(0, 1, 2)))])

    def add_inputs(self, *names: str) -> None:
        names = self.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        if not self.declared:
            self.there += ["topic", *["given.p"] * self.happens(once_in=4)]
            return
        for name in names:
            types = {"extra": ["int"], "env": ["staging|production"], "tone": ["str"]}
            about = {"type": self.pick(*types.get(name, ["str", "any", "list", "int", "float", "bool", "dict"]))}
            if self.happens(once_in=3):
                about["default"] = self.draw(VALUES[about["type"]])
            self.inputs[name] = about
        self.there += names
        texts = [name for name in names if self.inputs[name]["type"] not in ("list", "dict", "bool")]
        if not self.straight:
            self.inputs[(texts or names)[0]]["pipe"] = True

    def add(self, id: str, type: str, maps: dict[str, Any], gives: str = "", **more: Any) -> Flow:
        """Add a step behind the last one, and the path that it gives."""
        step = {"id": id, "type": type, **({"params": {"me": id}} if type in COUNTED else {}), **more}
        if self.steps:
            self.edges.append((self.steps[-1]["id"], id))
        self.steps.append(step)
        self.maps[id] = maps
        self.there += [gives] if gives else []
        return step

    def add_step(self, id: str) -> None:
        """Add a step of any kind, whose reads come in any way."""
        type = self.pick(*CHAINED)
        key = READ[type]
        way = self.pick(*(STRAIGHT_WAYS if self.straight else WAYS))
        way = {"template": "template", "parse-json": "data" if self.draw(st.integers(0, 4)) else way}.get(type, way)
        is_plain = way == "param" and type == "plain"
        is_either = way == "either" and self.steps and (self.declared or self.happens(once_in=4))
        maps, inputs = dict[str, Any](), dict[str, Any]()
        if way == "path" or is_plain:
            maps[key] = self.path()
        elif is_either:
            maps[key] = [self.there[0] if self.declared else "other", self.there[-1]]
        elif way == "mapped template":
            maps[key] = f"template:{self.template()}"
        elif way == "template":
            inputs[key] = self.template()
        else:
            inputs[key] = '{"a": [1, null]}' if way == "data" else self.draw(CONSTANTS)
        step = self.add(id, type, maps, inputs=inputs)
        if type == "split-text":
            step["params"] = {"by": "line", "size": 0}
        if is_plain:
            step["params"][key] = "by param"
        if type == "note":
            self.furnish(step, maps)
        self.add_writes(step)

    def furnish(self, step: Flow, maps: dict[str, Any]) -> None:
        """Give a note its other reads and params."""
        step["params"] |= {"keep": True} if self.happens(once_in=3) else {}
        if self.happens(once_in=10):
            step["params"]["fail"] = self.pick("bug", "tell", "it's broken")
        how = self.pick("input", "mapping", "extra", "param", "none")
        if how == "input":
            step["inputs"]["tone"] = self.template()
        elif how == "mapping":
            maps["tone"] = f"template:{self.template()}"
        elif how == "extra":
            step["inputs"]["extra"] = self.draw(VALUES["int"])
        elif how == "param":
            step["params"]["tone"] = "by param"

    def add_writes(self, step: Flow) -> None:
        id, write = step["id"], KINDS[step["type"]].writes[0]
        target = self.pick(f"{id}.{write}", write)
        if self.happens(once_in=5):
            target = self.pick(f"out_{id}", f"deep.{id}")
            self.targets[id] = {write: target}
        self.there.append(target)

    def add_batch(self) -> None:
        """Add a step that runs for each item of a list."""
        type = self.pick("note", "plain", "loud")
        batch = {"over": "items", "as": "item", **self.pick({}, {"jobs": 2})}
        self.add_writes(self.add("c", type, {READ[type]: self.pick("item", "template:<${item}>")}, batch=batch))
        if self.declared:
            self.inputs["items"] = {"type": "list"}

    def add_effect(self) -> None:
        """Add a step that writes a file, or runs a command."""
        if self.draw(st.booleans()):
            self.add("c", "write-file", {"content": self.path()}, inputs={"path": "c.txt"})
        else:
            command = self.pick("cat", 'printf "%s|" "$@"', "exit 3")
            inputs = {"command": command, **({"args": [self.template(), "x"]} if "$@" in command else {})}
            self.add("c", "shell", {"input": self.path()}, "c.stdout", inputs=inputs)

    def add_model(self) -> None:
        """Add a step that asks a model."""
        maps = {"text": f"template:<${{{self.path()}}}>"}
        self.add("c", "llm", maps, "c.response", params={"model": "reply"}, inputs={"prompt": self.template()})

    def add_loop(self) -> None:
        """Add a step with an edge back to itself."""
        params = {"me": "c", "until": self.draw(st.integers(0, 20))}
        self.add("c", "turn", {"text": [self.path(), "c.turned"]}, "c.turned", params=params)
        self.edges.append(("c", "c", "again"))

    def add_fork(self) -> None:
        """Add two branches, and the step where they meet."""
        before, sources = self.steps[-1]["id"], [self.path(), self.path()]
        self.add("left", "plain", {"draft": sources[0]})
        self.add("right", "note", {"text": f"template:${{{sources[1]}}}"})
        self.add("join", "note", {"text": "template:${left.plainly} ${right.noted}"}, "join.noted")
        self.edges[-3:] = [(before, "left"), (before, "right"), ("left", "join"), ("right", "join")]

    def add_failure(self) -> None:
        """Add a step that fails and has an edge for it."""
        self.add("c", "note", {"text": self.path()}, params={"me": "c", "fail": self.pick("it's broken", "a: b")})
        self.add("never", "note", {"text": "template:never"})
        self.add("then", "note", {"text": "template:${c.error.exit}, ${c.error.message}"}, "then.noted")
        self.edges[-1:] = [("c", "then", "error")]

    def inside(self, *inputs: str) -> Flow:
        """Draw a flow of one or two steps, with an output."""
        inner = Draft(self.draw, declared=bool(inputs), there=[] if inputs else ["topic"])
        if inputs:
            inner.add_inputs(*inputs)
        for name in ("one", "two")[: self.pick(1, 2)]:
            inner.add_step(name)
        return {**inner.flow(), "outputs": {"made": inner.there[-1]}}

    def add_group(self) -> None:
        """Add a step with steps of its own."""
        flow = {name: value for name, value in self.inside().items() if name not in ("pflow", "name")}
        maps = {"topic": self.path()} if "topic" in json.dumps(flow) else {}
        self.add("c", "flow", maps, self.pick("c.made", "made"), **flow)

    def add_subflow(self) -> None:
        """Add a step that runs another flow on a store of its own."""
        flow = self.files["inner.pflow.json"] = self.inside("subject", "extra", "env", "tone")
        maps, inputs = dict[str, Any](), dict[str, Any]()
        for name, about in flow["inputs"].items():
            if "default" in about and self.happens(once_in=4):
                continue
            if about["type"] in ("any", "str") and self.draw(st.booleans()):
                maps[name] = self.path()
            else:  # in a flow a dollar begins a reference
                inputs[name] = json.loads(json.dumps(self.draw(VALUES[about["type"]])).replace("$", "$$"))
        self.add("c", "./inner.pflow.json", maps, self.pick("c.made", "made"), inputs=inputs)

    def flow(self) -> Flow:
        flow: Flow = {"pflow": 1, "name": "flow", "nodes": self.steps}
        chain = list(itertools.pairwise(step["id"] for step in self.steps))
        if self.edges != chain or self.draw(st.booleans()):
            flow["edges"] = [dict(zip(("from", "to", "action"), edge, strict=False)) for edge in self.edges]
        if self.inputs:
            flow["inputs"] = self.inputs
        flow["mappings"] = {id: {"input_mappings": maps} for id, maps in self.maps.items() if maps}
        for id, targets in self.targets.items():
            flow["mappings"].setdefault(id, {})["output_mappings"] = targets
        made = [path for path in self.there if path not in (*self.inputs, "topic", "given.p")]
        if made and not self.straight and self.happens(once_in=3):
            names = self.draw(st.lists(st.sampled_from(made), min_size=1, max_size=2, unique=True))
            flow["outputs"] = {f"result_{number}": path for number, path in enumerate(names)}
        return flow


STRAIGHT = (lambda made: made.add_step("c"), Draft.add_effect, Draft.add_batch, Draft.add_model)
SHAPES = (*STRAIGHT, Draft.add_loop, Draft.add_fork, Draft.add_failure, Draft.add_subflow, Draft.add_group)


@st.composite
def cases(draw: Any) -> Case:
    made = Draft(draw, declared=draw(st.booleans()), straight=draw(st.booleans()))
    made.add_inputs("topic", "extra", "env", "tone")
    for id in "ab"[: draw(st.integers(1, 2))]:
        made.add_step(id)
    draw(st.sampled_from(STRAIGHT if made.straight else SHAPES))(made)
    for id in "de"[: draw(st.integers(0, 2))]:
        made.add_step(id)
    flow = made.flow()
    counted = [step["id"] for step in made.steps if step["type"] == "note" and step["id"] != "right"]
    halt = draw(st.sampled_from(counted)) if counted else ""
    return Case(flow, draw(values_of(flow)), made.files, draw(st.integers(0, 3)) == 0, draw(st.booleans()), halt)


@st.composite
def values_of(draw: Any, flow: Flow) -> dict[str, Any]:
    """Draw values, of which one at most does not fit or is missing."""
    if "inputs" not in flow:
        named = {path[0] for path in Run(flow, {}, Counter()).paths()}
        is_typed = any(step["type"] not in ("note", "plain", "select", "template") for step in flow["nodes"])
        types = {"topic": "str" if is_typed else draw(st.sampled_from(["str", "any"])), "items": "list"}
        found = {name: draw(VALUES[type]) for name, type in types.items() if name in named}
        return found | ({"given": {"p": draw(VALUES["str"]), "q": 1}} if "given" in named else {})
    fault, at = draw(st.sampled_from(["", "", "", "misfit", "missing"])), draw(st.sampled_from([*flow["inputs"]]))
    found = {}
    for name, about in flow["inputs"].items():
        is_left = name == at and fault == "missing"
        if name == at and fault == "misfit" and about["type"] != "list":  # a flag of a list takes it for its only item
            found[name] = draw(VALUES["any"].filter(lambda value: value not in ("007", "true", '{"a": 1}')))
        elif not is_left and not ("default" in about and draw(st.booleans())):
            found[name] = draw(VALUES[about["type"]])
    return found
