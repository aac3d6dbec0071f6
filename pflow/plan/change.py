"""A change of a flow: merging an edit into the flow, showing the difference, and writing the flow back."""

import difflib
import json
import os
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pflow.errors import BAD_DATA, DENIED, OK, TRY_AGAIN, USAGE, Attempt, PflowError, not_written, result_of
from pflow.explain.effects import Effect, Origin, Provenance, effects_of_flow
from pflow.explain.pipe_form import pipe_of
from pflow.explain.text import origins_text, values_text
from pflow.files.atomic import replace
from pflow.flow.expressions import path_text
from pflow.flow.findings import Finding
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import IR, flow_to_ir, masked_ir
from pflow.flow.load import is_lasting
from pflow.flow.subflow import find_file, is_stdin, load_named
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire
from pflow.process.streams import write_pieces
from pflow.saved_flows.saved import save_flow
from pflow.terminal import messages
from pflow.terminal.ask import open_terminal
from pflow.terminal.columns import AUTO, Colour, colour_of, value_text
from pflow.text.printable import clean
from pflow.values.fast_json import write_json

_FORMS = {"pipe": "pipe syntax", "bindings": "an older form", "keys": "an older form"}
_PAINTS = {"---": Colour.heading, "+++": Colour.heading, "@@": Colour.dim, "+": Colour.good, "-": Colour.fault}


@dataclass
class ChangeOptions:
    """The options of pflow plan --wire and --edit."""

    write: bool = False
    yes: bool = False
    as_pipe: bool = False
    as_json: bool = False
    model: str | None = None
    timeout: float | None = None
    color: str = AUTO


class FlowFile:
    """The file of a flow, and the `name` under which it is saved. Each may be None."""

    def __init__(self, file: str | None, name: str | None = None) -> None:
        self.file = file
        self.name = name
        self.content = _content(file)

    def __str__(self) -> str:
        return self.name or self.file or "flow"

    def write(self, flow: FlowSpec) -> str:
        """Write a flow, whole or not at all, and return the message about it.

        Raises PflowError: 75 if the file has changed since it was read, 73, 77.
        """
        file = self.file or ""
        if _content(file) != self.content:  # it may have been edited while a model or a person answered
            hint = "nothing was written; run it again"
            raise PflowError(f"cannot write '{self}': it has changed since it was read", hint=hint, exit=TRY_AGAIN)
        if self.name is not None:
            saved = save_flow(self.name, flow, replace=True)
            notes = [*saved.notes, *([f"the version before is {saved.old}"] if saved.old else [])]
            return "; ".join([f"saved '{self.name}'", *notes])
        with Attempt(f"cannot write '{file}'", not_written):
            replace(file, write_json(flow_to_ir(flow)))
        return f"wrote '{file}'"


def _content(file: str | None) -> bytes:
    """Return a file's content; empty if it cannot be read, which the loader reports."""
    return result_of(Path(file or "").read_bytes, of=(OSError, ValueError), otherwise=b"")


def open_flow(words: Sequence[str], options: ChangeOptions, act: str) -> tuple[FlowFile, WiredFlow]:
    """Load the flow that a command's words name, and return it with its file.

    Raises PflowError: 2 and 77 for --write if the flow cannot be written back, and the errors of loading.
    """
    word = words[0] if len(words) == 1 and not is_stdin(words) else None
    file = find_file(word) if word is not None else None
    file = file if file is not None and is_lasting(file) else None
    is_file = word is not None and not word.startswith("flow:") and "\0" not in word and os.path.isfile(word)
    place = FlowFile(file, word.removeprefix("flow:") if word is not None and file and not is_file else None)
    if options.write and options.as_pipe:
        raise PflowError("cannot take both --write and --pipe: a flow is kept as JSON", exit=USAGE)
    flow = load_named(words)
    if options.write and file is None:
        hint = "without --write the flow goes to stdout"
        raise PflowError("cannot write the flow back: it has no file", hint=hint, exit=USAGE)
    if options.write and not os.access(file or "", os.W_OK):
        raise PflowError(f"cannot write '{file}': permission denied", exit=DENIED)
    if flow.findings:
        raise change_error(f"cannot {act} '{place}': its parts have wrong shapes", flow.findings)
    return place, wire(flow)


@dataclass
class Change:
    """A flow before and after a change, its file, and further members for `--json`."""

    old: WiredFlow
    new: WiredFlow
    place: FlowFile
    about: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def diff(self) -> list[str]:
        """The unified diff of the flows' JSON, with secrets masked and control characters escaped."""
        before, after = (write_json(masked_ir(each)).splitlines() for each in (self.old, self.new))
        name = clean(str(self.place))
        return [clean(line) for line in difflib.unified_diff(before, after, name, f"{name} (changed)", lineterm="")]

    @cached_property
    def effects(self) -> list[str]:
        """The effects that the change adds, worst first: `write (write-file) writes files: path "b.txt"`."""
        before = {_in_words(self.old, effect) for effect in effects_of_flow(Provenance(self.old))}
        found = [(each.step_path, _in_words(self.new, each)) for each in effects_of_flow(Provenance(self.new))]
        return [f"{clean(place)} {words}" for place, words in found if words not in before]

    def finish(self, options: ChangeOptions) -> int:
        """Show the change, print the flow or with `write` write it back, and return the exit code.

        Raises PflowError (77), and writes nothing, if the person says no, or if without `yes` there is nobody to ask.
        """
        self.show(options)
        is_written = bool(options.write and self.diff)
        if is_written:
            if not options.yes:
                _agree(self.place)
            say(self.place.write(self.new.flow))
        flow = flow_to_ir(self.new.flow)
        if options.as_json:
            written = self.place.file if is_written else None
            changed = {"changed": bool(self.diff), "diff": self.diff, "new_effects": self.effects, "written": written}
            _print(json.dumps({"flow": flow, **changed, **self.about}, ensure_ascii=False, indent=2) + "\n")
        elif not options.write:
            _print(pipe_of(self.new) if options.as_pipe else write_json(flow))
        return OK

    def show(self, options: ChangeOptions) -> None:
        """Print the change on stderr."""
        colour = colour_of(2, options.color)
        for line in self.diff:
            paint = next((paint for start, paint in _PAINTS.items() if line.startswith(start)), None)
            messages.write_stderr(f"{paint(colour, line) if paint else line}\n")
        for line in self.effects:
            messages.write_stderr(f"{colour.warning('new:')} {line}\n")
        if self.diff and self.old.flow.dialect in _FORMS and not options.as_pipe:
            say(f"the flow was in {_FORMS[self.old.flow.dialect]}; its new form is IR")


def _print(text: str) -> None:
    write_pieces(1, [text.encode("utf-8", "backslashreplace")])


def say(text: str) -> None:
    messages.say("pflow", text)


def change_error(message: str, findings: Sequence[Finding], *, hint: str = "nothing was written") -> PflowError:
    """Print the findings of a failed change, and return its error (65), which has them for `--json`."""
    for each in findings:
        say(str(each))
    details = {"findings": [each.as_json() for each in findings]}
    return PflowError(message, hint=hint, exit=BAD_DATA, details=details)


def _agree(place: FlowFile) -> None:
    terminal = open_terminal()
    if terminal is None:
        hint = "nothing was written; --yes writes it"
        raise PflowError(f"cannot ask whether to change '{place}': there is no terminal", hint=hint, exit=DENIED)
    if terminal.choose("Keep it? [y]es, [n]o: ", {"y": "yes", "n": "no"}) == "n":
        raise PflowError(f"'{place}' stays as it is", exit=DENIED)


def _in_words(wired: WiredFlow, effect: Effect) -> str:
    what = values_text(effect.values, lambda origins: _value_text(wired, origins))
    return f"({clean(effect.step.step.type)}) {effect.name}" + (f": {what}" if what else "")


def _value_text(wired: WiredFlow, origins: list[Origin]) -> str:
    """Return the origin of a value in words, or an input's default."""
    read = wired.inputs.get(origins[0].get("input", ""))
    if read is not None and read.has_default and not read.secret:
        return value_text(read.default)
    return origins_text(origins)


def merge_edit(old: IR, seen: IR, new: IR, text: str) -> IR:
    """Return the `old` document with the changes of an edit: the differences between `seen` and `new`.

    `seen` is the document of the text before the edit, which does not express everything in `old`; `new` is the
    document of the edited `text`. If a value replaces an input in all places, it becomes the input's default. If
    another step now writes the same keys, pipe syntax moves a step's keys under its id; here they stay where they were,
    unless the text moves them.
    """
    was, shown, now = parts = [_by_step(deepcopy(each)) for each in (old, seen, new)]
    flow: IR = _merged(*(each.pop("") for each in parts))
    ids = {id for id, _ in now}
    for at in was.keys() & shown.keys() & now.keys():
        _restore_mappings(was[at], shown[at], now[at], ids, text)
        now[at] = _merged(was[at], shown[at], now[at])
    gone = {id for id, _ in was} - ids
    flow["outputs"] = {name: path for name, path in flow.get("outputs", {}).items() if path.split(".")[0] not in gone}
    places = [(step.get("inputs", {}), _sources(step), step.get("params", {})) for step in now.values()]
    for name, given in flow.get("inputs", {}).items():
        readers = [(literals, key) for literals, sources, _ in places for key in sources if sources[key] == name]
        values = [literals.get(key) for literals, key in readers]
        if values and all(_is_literal(value) and value == values[0] for value in values):
            flow["inputs"][name] = {**given, "default": values[0]}
            for literals, key in readers:
                del literals[key]
    for literals, *others in places:
        for other in others:
            for key in other.keys() & literals.keys():
                del other[key]
    mappings = {id: step.pop("mapping", {}) for (id, _), step in now.items()}
    return {**flow, "nodes": [*now.values()], "mappings": mappings}


def _by_step(ir: IR) -> dict[Any, IR]:
    """Return a document's steps by id and type, each with its mapping, and under "" all other members."""
    mappings = ir.pop("mappings", {})
    nodes = ir.pop("nodes")
    return {"": ir} | {(each["id"], each["type"]): {**each, "mapping": mappings.get(each["id"], {})} for each in nodes}


def _restore_mappings(was: IR, shown: IR, now: IR, ids: set[str], text: str) -> None:
    """Write the mappings of an edited step in the form that was shown, if the meaning is the same."""
    for key in shown.get("inputs", {}).keys() - now.get("inputs", {}).keys():
        _sources(was).pop(key, None)  # it was shown as the value of an input, and the edit removed it
    sources, before = _sources(now), _sources(shown)
    for key, source in before.items():
        if str(source).split(".")[0] in ids and str(source).endswith(f".{sources.get(key)}"):
            sources[key] = source  # pipe syntax implies `content`, where the flow has `read.content`
    moved = now["mapping"].get("output_mappings", {})
    for key in moved.keys() - shown["mapping"].get("output_mappings", {}).keys():
        own = path_text((now["id"], key))
        if moved[key] == own and own not in text and f"--id={now['id']}" not in text:
            del moved[key]


def _sources(step: IR) -> dict[str, Any]:
    return step.get("mapping", {}).get("input_mappings", {})  # type: ignore[no-any-return]


def _is_literal(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and "$" in value)


def _merged(old: Any, seen: Any, new: Any) -> Any:
    """Return the old value if the new one equals the one seen, else the new one. Merge objects member by member.

    A missing value is None.
    """
    if new == seen:
        return old
    if {dict} != {type(each) for each in (seen, new) if each is not None}:
        return new
    old, seen, given = (each if isinstance(each, dict) else {} for each in (old, seen, new))
    found = {key: _merged(old.get(key), seen.get(key), given.get(key)) for key in {**old, **given}}
    kept = {key: value for key, value in found.items() if value is not None}
    return kept if kept or new is not None else None
