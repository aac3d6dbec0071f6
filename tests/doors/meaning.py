"""What a flow means, by DESIGN.md alone: an interpreter of the small flows that flows.py makes.

It knows no door: what it says must leave by each of them.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

REQUIRED: Any = object()
UNSET: Any = object()
"""The default of a read that is not there if nothing gives it."""
FILE, ACTION = "a file", "an action"
Path = tuple[str, ...]
Flow = dict[str, Any]
Values = dict[str, Any]


class Failed(Exception):
    """A failure of a step; its message is None where the words are the program's own."""

    def __init__(self, exit: int, message: str | None = None) -> None:
        self.exit, self.message = exit, message


class Outcome(NamedTuple):
    """What leaves; a door has None for what it does not show."""

    exit: int
    message: str | None = None
    store: Values | None = None
    outputs: Values | None = None
    """Those that the flow declares; else what it carries, under its name."""
    carried: list[Any] | None = None
    """The value, alone in a list, which is empty if nothing is carried."""
    raw: bytes | None = None
    ran: Counter[str] | None = None
    files: dict[str, str] | None = None
    hash: str | None = None


class NodeType(NamedTuple):
    """A node: its work, its reads with their defaults, and its writes, of which the first is carried.

    The work gets the reads and the params. Beside the writes it gives its ACTION, and a FILE with its content.
    """

    work: Callable[[Values, Values], Values]
    reads: Values
    writes: tuple[str, ...]
    texts: str = ""
    """The read of the type str."""
    own: str = ""
    explicit: str = ""
    types: dict[str, str] | None = None


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def line_of(value: Any) -> str:
    """Return a text as it is, and anything else as a line of JSON."""
    return value if isinstance(value, str) else f"{text_of(value)}\n"


def is_blank(value: Any) -> bool:
    return value in (None, []) or (isinstance(value, str) and not value.strip())


def as_text(value: Any) -> str:
    """Return a value as a read of the type str has it. Raises Failed (65) for null."""
    if value is None:
        raise Failed(65)
    return text_of(value)


def _note(reads: Values, params: Values) -> Values:
    if fault := params.get("fail"):
        raise {"bug": Failed(1), "tell": Failed(77)}.get(fault, Failed(66, f"cannot note: {fault}"))
    text, tone, extra = reads["text"], reads["tone"], reads["extra"]
    noted = text if params.get("keep") else f"{text!r}, {tone}, {extra!r}"
    return {"noted": noted, "size": len(str(noted))}


def _turn(reads: Values, params: Values) -> Values:
    turned = f"{reads['text']}..."
    return {"turned": turned, ACTION: "again" if len(turned) < params["until"] else "default"}


def _shell(reads: Values, params: Values) -> Values:
    if reads["command"] == "exit 3":
        raise Failed(3)
    given = "" if reads["input"] is None else line_of(reads["input"])
    out = given if reads["command"] == "cat" else "".join(f"{each}|" for each in reads["args"])
    return {"stdout": out, "stderr": "", "exit_code": 0}


def _parse(reads: Values, params: Values) -> Values:
    try:
        return {"data": json.loads(reads["text"])}
    except ValueError:
        raise Failed(65) from None


TEXT = {"text": REQUIRED}
SHELL = {"command": REQUIRED, "args": [], "input": None}
ASKED = {"prompt": None, "text": None}
WRITTEN = {"content": REQUIRED, "path": REQUIRED}
KINDS = {
    "note": NodeType(_note, {**TEXT, "tone": "plain", "extra": 0}, ("noted", "size"), own="tone"),
    "turn": NodeType(_turn, TEXT, ("turned",)),
    "plain": NodeType(
        lambda r, p: {"plainly": f"<{r['draft']}{p.get('draft', '')}>"}, {"draft": REQUIRED}, ("plainly",)
    ),
    "loud": NodeType(lambda r, p: {"loud": r["text"].encode().upper().decode()}, TEXT, ("loud",), "text"),
    "template": NodeType(lambda r, p: {"text": r["template"]}, {"template": REQUIRED}, ("text",), *["template"] * 3),
    "select": NodeType(lambda r, p: {"selected": r["data"]}, {"data": REQUIRED}, ("selected",)),
    "split-text": NodeType(lambda r, p: {"chunks": r["text"].splitlines(True)}, TEXT, ("chunks",), "text"),
    "parse-json": NodeType(_parse, TEXT, ("data",), "text"),
    "shell": NodeType(_shell, SHELL, ("stdout", "stderr", "exit_code"), own="args", explicit="command"),
    "llm": NodeType(lambda r, p: {"response": "Oak, ash and elm."}, ASKED, ("response",), own="prompt"),
    "write-file": NodeType(lambda r, p: {FILE: (r["path"], line_of(r["content"]))}, WRITTEN, (), explicit="path"),
}
COUNTED = ("note", "turn", "plain", "loud")
"""The nodes that note each run of theirs."""

_REFERENCE = re.compile(r"\$\$|\$\{([^}]+)\}|\$(\w+)")


def written_as(mapped: Any) -> Any:
    """Return the source of a mapping as a template; of a list, each."""
    if isinstance(mapped, list):
        return [written_as(each) for each in mapped]
    return mapped.removeprefix("template:") if mapped.startswith("template:") else f"${{{mapped}}}"


def references(written: Any) -> Iterator[Path]:
    """Yield the paths in the templates of a value."""
    if isinstance(written, str):
        for found in _REFERENCE.finditer(written):
            if name := found[1] or found[2]:
                yield tuple(name.split("."))
    elif isinstance(written, list | dict):
        for each in written.values() if isinstance(written, dict) else written:
            yield from references(each)


def found_at(value: Any, place: Path) -> Any:
    """Return what is at a place. Raises Failed (66)."""
    for key in place:
        if not isinstance(value, dict) or key not in value:
            raise Failed(66)
        value = value[key]
    return value


class Run:
    """One run of a flow, on a store of its own."""

    def __init__(self, flow: Flow, files: dict[str, Flow], ran: Counter[str], typed: Set[str] = frozenset()) -> None:
        self.flow, self.files, self.ran, self.typed = flow, files, ran, typed
        self.steps = {step["id"]: step for step in flow["nodes"]}
        self.written: dict[str, str] = {}
        self.store: Values = {}
        self.latest: dict[str, Path] = {}
        """Where the latest write of a name went."""
        self.carried: Path = ()
        self.named = {path[:2] for path in self.paths()}

    def paths(self) -> Iterator[Path]:
        """Yield each path that the flow names."""
        for step in self.flow["nodes"]:
            yield from references({key: value for key, value in step.get("inputs", {}).items() if key != "command"})
            yield from references([step.get("params", {}), self._sources(step)])
        yield from references(written_as([*self.flow.get("outputs", {}).values()]))

    def _mappings(self, step: Flow, way: str) -> Values:
        found: Values = self.flow.get("mappings", {}).get(step["id"], {}).get(f"{way}_mappings", {})
        return found

    def _sources(self, step: Flow) -> list[Any]:
        """Return what fills the mapped reads of a step and its batch, as templates."""
        batch = [step["batch"]["over"]] if "batch" in step else []
        return written_as([*self._mappings(step, "input").values(), *batch])

    def _kind(self, step: Flow) -> NodeType:
        if step["type"] in KINDS:
            return KINDS[step["type"]]
        inner = self.files.get(step["type"].removeprefix("./"), step)
        declared = inner.get("inputs", {})
        reads = {name: declared[name].get("default", REQUIRED) for name in declared} or needs(inner)

        def work(reads: Values, params: Values) -> Values:
            given = {name: value for name, value in reads.items() if value is not UNSET}
            if (ended := meaning(inner, given, self.files, self.ran)).outputs is None:
                raise Failed(ended.exit, ended.message)
            return ended.outputs

        return NodeType(work, reads, tuple(inner["outputs"]), types={name: declared[name]["type"] for name in declared})

    def place_of(self, step: Flow, key: str) -> Path:
        if mapped := self._mappings(step, "output").get(key):
            return tuple(mapped.split("."))
        return (step["id"], key) if (step["id"], key) in self.named else (key,)

    def place(self, path: Path) -> Path:
        """Return the place of the store that a path means."""
        if path[0] in self.steps and len(path) > 1 and path[1] in self._kind(self.steps[path[0]]).writes:
            return (*self.place_of(self.steps[path[0]], path[1]), *path[2:])
        return (*self.latest.get(path[0], path[:1]), *path[1:])

    def find(self, path: Path, items: Values) -> Any:
        """Return the value that a path means. Raises Failed (66)."""
        return found_at(items, path) if path[0] in items else found_at(self.store, self.place(path))

    def expand(self, written: Any, items: Values) -> Any:
        """Fill the templates of a value."""
        if isinstance(written, list):
            return [self.expand(each, items) for each in written]
        if isinstance(written, dict):
            return {key: self.expand(each, items) for key, each in written.items()}
        if not isinstance(written, str):
            return written
        if (whole := _REFERENCE.fullmatch(written)) and whole[0] != "$$":
            return self.find(*references(written), items)

        def fill(found: re.Match[str]) -> str:
            value = "$" if found[0] == "$$" else self.find(*references(found[0]), items)
            return "" if value is None else text_of(value)

        return _REFERENCE.sub(fill, written)

    def mapped(self, source: Any, items: Values) -> Any:
        if not isinstance(source, list):
            return self.expand(written_as(source), items)
        for each in reversed(source):  # in these flows the last one is written last
            with suppress(Failed):
                return self.mapped(each, items)
        raise Failed(66)

    def read(self, step: Flow, kind: NodeType, items: Values) -> Values:
        """Return the reads of a step. Raises Failed (66)."""
        found = {}
        maps = self._mappings(step, "input")
        for key, default in kind.reads.items():
            if key in step.get("inputs", {}):
                value = step["inputs"][key] if key == "command" else self.expand(step["inputs"][key], items)
                value = fits((kind.types or {}).get(key, "any"), value)
                self._store_data(step, kind, key, as_text(value) if key == kind.texts else value)
            elif key in maps:
                value = self.mapped(maps[key], items)
            elif key != kind.explicit and (key in self.latest or key in self.store):
                value = self.find((key,), items)
            elif key in step.get("params", {}):
                value = self.expand(step["params"][key], items)
            elif default is not REQUIRED:
                value = default
            else:
                raise Failed(66)
            found[key] = as_text(value) if key == kind.texts else value
        return found

    def _store_data(self, step: Flow, kind: NodeType, key: str, value: Any) -> None:
        """Put the value of a flag into the store, unless something is there."""
        is_moved = bool(kind.writes) and all(self.place_of(step, each) == (step["id"], each) for each in kind.writes)
        place = (step["id"], key) if is_moved else (key,)
        if key != kind.own:
            if place[0] not in self.store or (len(place) > 1 and place[1] not in self.store[place[0]]):
                self.assign(place, value)
            if not is_moved:
                self.latest[key] = place

    def assign(self, place: Path, value: Any) -> None:
        store = self.store
        for key in place[:-1]:
            store = store.setdefault(key, {})
        store[place[-1]] = value

    def visit(self, id: str) -> str:
        """Run a step; return its action. Raises Failed."""
        step, kind = self.steps[id], self._kind(self.steps[id])
        if "batch" not in step:
            writes = self._work(step, kind, {})
        else:
            found = self.mapped(step["batch"]["over"], {})
            done = [self._work(step, kind, {step["batch"]["as"]: item}) for item in found]
            writes = {key: [each[key] for each in done] for key in kind.writes}
        action = writes.pop(ACTION, "default")
        if FILE in writes:
            self.written.update([writes.pop(FILE)])
        for key, value in writes.items():
            place = self.place_of(step, key)
            self.assign(place, value)
            if key not in self._mappings(step, "output"):
                self.latest[key] = place
            else:
                self.latest.pop(place[0], None)
        if kind.writes:
            self.carried = self.place_of(step, kind.writes[0])
        return action

    def _work(self, step: Flow, kind: NodeType, items: Values) -> Values:
        reads = self.read(step, kind, items)
        if step["type"] == "llm":
            self.refuse_blank(step)
        params = {key: self.expand(value, items) for key, value in step.get("params", {}).items()}
        if step["type"] in COUNTED:
            self.ran[params["me"]] += 1
        return kind.work(reads, params)

    def refuse_blank(self, step: Flow) -> None:
        """Refuse to ask a model if all that templates take is blank, unless a person typed some of it."""
        paths = [*references([step["inputs"], self._sources(step)])]
        data = [self.find(path, {}) for path in paths]
        is_typed = any(path[0] in self.typed and self.place(path) == path for path in paths)
        if not is_typed and all(map(is_blank, data)):
            raise Failed(66)

    def walk(self, id: str | None, until: str | None = None) -> None:
        """Follow the edges from a step to the end, or to the step where branches meet."""
        while id is not None and id != until:
            try:
                action = self.visit(id)
            except Failed as failure:
                if not self._next(id, "error"):
                    raise
                action = "error"
                self.assign((id, "error"), {"exit": failure.exit, "message": failure.message})
            after = self._next(id, action)
            if len(after) > 1:
                (join,) = self._next(after[0], "default")
                before, latest = self.latest, dict(self.latest)
                for branch in after:
                    self.latest = dict(before)  # a branch does not see what another writes
                    self.walk(branch, join)
                    latest |= {name: place for name, place in self.latest.items() if place != before.get(name)}
                self.latest = latest
                after = [join]
            id = after[0] if after else None

    def _next(self, id: str, action: str) -> list[str]:
        chain = [{"from": each["id"], "to": to["id"]} for each, to in pairwise(self.flow["nodes"])]
        edges = self.flow.get("edges", chain)
        return [edge["to"] for edge in edges if edge["from"] == id and edge.get("action", "default") == action]


def needs(flow: Flow) -> Values:
    """Return the inputs of a group: what its steps name and do not write, and what they may take by name."""
    run = Run(flow, {}, Counter())
    named = {path[0] for path in run.paths()} - run.steps.keys()
    optional = {"tone"} if any(step["type"] == "note" for step in flow["nodes"]) else set[str]()
    for step in flow["nodes"]:
        if "extra" in step.get("inputs", {}):  # it is stored, and later steps read that
            break
        optional |= {"extra"} if step["type"] == "note" else set()
    return {**dict.fromkeys(optional, UNSET), **dict.fromkeys(sorted(named & {"topic"}), REQUIRED)}


def fits(type: str, value: Any) -> Any:
    """Return a value as its type has it. Raises Failed for one that does not fit."""
    own = value.__class__.__name__
    if type == "str":
        return text_of(value)
    if {type, own} == {"int", "float"} and value == int(value):  # 7.0 is 7
        return int(value) if type == "int" else float(value)
    if value in type.split("|") if "|" in type else type in ("any", own):
        return value
    raise Failed(65)


def meaning(
    flow: Flow, values: Values, files: dict[str, Flow], ran: Counter[str] | None = None, typed: Set[str] = frozenset()
) -> Outcome:
    """Return what a flow makes of the values of its inputs, of which a person `typed` some."""
    blank = {name for name in typed if is_blank(values[name])}
    run = Run(flow, files, Counter() if ran is None else ran, blank)
    declared = flow.get("inputs", {})
    try:
        if any(each not in values and "default" not in declared[each] for each in declared):
            raise Failed(66)
        given = {**{name: about["default"] for name, about in declared.items() if "default" in about}, **values}
        run.store.update({name: fits(declared.get(name, {}).get("type", "any"), each) for name, each in given.items()})
        run.walk(flow["nodes"][0]["id"])
    except Failed as failure:
        return Outcome(failure.exit, failure.message, ran=run.ran)
    outputs, carried = _outputs(run)
    printed = "".join(map(line_of, carried))
    raw = f"{printed}\n" if printed and printed[-1] != "\n" else printed
    return Outcome(0, None, run.store, outputs, carried, raw.encode(), run.ran, run.written)


def _outputs(run: Run) -> tuple[Values, list[Any]]:
    """Return the outputs of a flow, and what the pipe carries."""
    declared = run.flow.get("outputs") or {run.carried[-1]: ".".join(run.carried)}
    found = {name: run.mapped(written, {}) for name, written in declared.items()}
    carried = [name for name, written in declared.items() if run.place(tuple(written.split("."))) == run.carried]
    return found, [found[name] for name in (list(declared) if len(declared) == 1 else carried)[:1]]
