"""Giving a changed flow: its diff to stderr, its IR to stdout, or, once a person has agreed, back to its place."""

from __future__ import annotations

from pflow.errors import DENIED, OK, USAGE, PflowError
from pflow.plan.change.place import check_writable, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.plan.change.place import Place

    Options = dict[str, Any]

_FORMS = {"pipe": "pipe syntax", "bindings": "an older form", "keys": "an older form"}


class Change:
    """A flow that was changed: what it was, what it is, where it stands, and what more `--json` tells of it."""

    def __init__(self, old: Flow, new: Flow, place: Place, **told: Any) -> None:
        from pflow.flow.wiring import wire
        from pflow.plan.change.diff import diff_lines
        from pflow.plan.change.effects import new_effects

        self.old = old
        self.new = new
        self.place = place
        self.told = told
        self.lines = diff_lines(old, new, str(place))
        self.effects = new_effects(wire(old), wire(new)) if self.lines else []


def check_options(place: Place, options: Options) -> None:
    """Raise PflowError for what cannot be done with a flow of this place: 2, and 77 where it may not be written."""
    if not options.get("write"):
        return
    if options.get("as_pipe"):
        raise PflowError("cannot take both --write and --pipe: a flow is kept as JSON", exit=USAGE)
    check_writable(place)


def give(change: Change, options: Options) -> int:
    """Show the change and give it: on stdout, or with `write` into its place. The exit code.

    Raises PflowError (77) where nobody agrees, or nobody can be asked and `yes` is not set; nothing is written then.
    """
    show(change, options)
    is_written = bool(options.get("write") and change.lines)
    if is_written:
        _agree(change, options)
        say(put(change.place, change.new))
    give_result(change, options, is_written=is_written)
    return OK


def give_result(change: Change, options: Options, *, is_written: bool = False) -> None:
    """The flow on stdout, unless its file is where it goes; all that is known of the change with `as_json`."""
    if options.get("as_json"):
        _write(_as_json(change, is_written=is_written))
    elif not options.get("write"):
        _write(flow_text(change.new, as_pipe=options.get("as_pipe", False)))


def show(change: Change, options: Options) -> None:
    """Say on stderr what changed."""
    from pflow.plan.change.diff import painted
    from pflow.terminal.colour import AUTO, colour_of
    from pflow.terminal.messages import write_stderr

    if not change.lines:
        say("nothing changed")
        return
    colour = colour_of(2, options.get("color") or AUTO)
    write_stderr(painted(change.lines, colour))
    for line in change.effects:
        write_stderr(f"{colour.warning('new:')} {line}\n")
    if change.old.dialect in _FORMS and not options.get("as_pipe"):
        say(f"the flow was in {_FORMS[change.old.dialect]}; it is given as IR")


def say(text: str) -> None:
    from pflow.terminal.messages import say

    say("pflow", text)


def _agree(change: Change, options: Options) -> None:
    """Raise PflowError (77) unless the change is wanted."""
    if options.get("yes"):
        return
    answer = _asked("Keep it? [y]es, [n]o: ")
    if answer is None:
        hint = "nothing was written; --yes writes it"
        raise PflowError(f"cannot ask whether to change '{change.place}': there is no terminal", hint=hint, exit=DENIED)
    if not answer:
        raise PflowError(f"'{change.place}' stays as it is", exit=DENIED)


def _asked(question: str) -> bool | None:
    """What a person at the terminal answers; the end of the file is a no. None where nobody can be asked."""
    from pflow.terminal.ask import open_terminal

    terminal = open_terminal()
    if terminal is None:
        return None
    while True:
        answer = terminal.ask(question)
        word = "no" if answer is None else answer.lower()
        if word in ("n", "no", "y", "yes"):
            return word[0] == "y"


def flow_text(flow: Flow, *, as_pipe: bool = False) -> str:
    """The flow as IR, or in pipe syntax. Raises PflowError (65) where it has none."""
    if as_pipe:
        from pflow.plan.paste.pasted import pipe_of

        return pipe_of(flow, {}).rstrip("\n") + "\n"
    from pflow.flow.unload import canonical_json, flow_to_ir

    return canonical_json(flow_to_ir(flow))


def _as_json(change: Change, *, is_written: bool) -> str:
    import json

    from pflow.flow.unload import flow_to_ir

    document = {
        "flow": flow_to_ir(change.new),
        "changed": bool(change.lines),
        "diff": change.lines,
        "new_effects": change.effects,
        "written": change.place.file if is_written else None,
        **change.told,
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _write(text: str) -> None:
    from pflow.process.stdout import write_pieces

    write_pieces(1, [text.encode("utf-8", "backslashreplace")])
