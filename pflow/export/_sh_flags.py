"""Flags in a shell script: those that it gives its stages, quoted, and the code that reads those it takes itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.flow.wired import FlowInput, WiredFlow
from pflow.flow.written import escaped
from pflow.interface import Item
from pflow.jsontext import encode, text_of
from pflow.naming import variable
from pflow.paths import write_path
from pflow.types import Type

TEXTS = ("str", "path", "any", "choice")
"""Types whose flag is the text itself; that of any other is JSON."""

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+")
_ESCAPE = """\
# A stage would take a $ in a flag's value for a template: $$ is a dollar.
escape() {
    escaped=$(printf '%sx' "$1" | sed 's/\\$/&&/g')
    escaped=${escaped%x}
}
"""
_FAIL = """\
fail() {
    printf '%s: %s\\n' "$0" "$2" >&2
    exit "$1"
}
"""
_NONE = """[ $# -eq 0 ] || { echo "$0: cannot take '$1': it has no flags" >&2; exit 2; }"""


class Unsayable(ValueError):
    """A value that no flag can give as what it is."""


def refused(why: str, hint: str = "") -> PflowError:
    """The error for a flow that is no script."""
    return PflowError(f"cannot export the flow to sh: {why}", hint=hint, exit=BAD_DATA)


def quoted(text: str) -> str:
    """A word for sh. Raises Unsayable for what no argument can hold."""
    if "\0" in text:
        raise Unsayable("it holds a NUL")
    if text and set(text) <= _SAFE:
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def json_text(value: Any) -> str:
    return str(encode(value), "utf-8")


def flag_name(key: str) -> str:
    return "--" + key.replace("_", "-")


def flag(key: str, text: str) -> str:
    return f"{flag_name(key)}={quoted(text) if text else ''}"


def constant(item: Item, value: Any) -> list[str]:
    """The flags that give a read or a param this value. Raises Unsayable where none do."""
    if value is None:
        raise Unsayable("a flag cannot be null")
    if item.type.name == "bool":
        return [flag_name(item.name if value else "no_" + item.name)]
    is_verbatim = "verbatim" in item.marks
    written = value if is_verbatim else escaped(value)
    if item.type.name == "list" and isinstance(value, list) and _is_plain_list(value):
        return [flag(item.name, each) for each in written]
    return [flag(item.name, _text(item.type, written, is_json_read=is_verbatim))]


def template(item: Item, written: Any) -> list[str]:
    """The flag that gives a read or a param what a template becomes. Raises Unsayable where none does."""
    return [flag(item.name, written if isinstance(written, str) else _text(item.type, written))]


def _is_plain_list(value: list[Any]) -> bool:
    """Whether each item may have a flag of its own: a text that does not look like a list."""
    return bool(value) and all(isinstance(item, str) and not item.lstrip().startswith("[") for item in value)


def _text(type: Type, value: Any, *, is_json_read: bool = False) -> str:
    """The text that a flag of this type reads as this value; `is_json_read` for one that reads JSON of any type."""
    if isinstance(value, bytes) or type.name == "bytes":
        raise Unsayable("a flag cannot hold bytes")
    if type.name == "any" and not isinstance(value, str):
        if is_json_read and isinstance(value, dict | list):
            return json_text(value)
        raise Unsayable("a flag for a value of any type is text")
    return text_of(value) if type.name in TEXTS else json_text(value)


class Inputs:
    """The inputs that a script takes, those that are declared, needed, or looked at by a path, and their variables."""

    def __init__(self, wired: WiredFlow) -> None:
        looked_at = {reference.input for reference in wired.references if reference.input is not None}
        self.all = [
            needed
            for needed in wired.inputs.values()
            if (needed.declared or needed.required or needed.name in looked_at) and not needed.secret
        ]
        taken = {"word", "escaped"}
        self.names = {needed.name: variable(needed.name, taken) for needed in self.all}
        self.escaped = {needed.name for needed in self.all if needed.step is not None and _has_templates(wired, needed)}

    def variables(self, step: str) -> dict[str, str]:
        """By read, the variable that holds what the script was given for this step alone."""
        own = [needed for needed in self.all if needed.step == step]
        return {needed.readers[0][1]: self.names[needed.name] for needed in own}

    def usage(self) -> str:
        parts = [(flag_name(needed.name) + _metavar(needed), needed.required) for needed in self.all]
        return " ".join([part if is_required else f"[{part}]" for part, is_required in parts])

    def defaults(self) -> list[str]:
        """The members that inputs have by default."""
        found = [needed for needed in self.all if needed.has_default]
        return [quoted(f"{write_path(needed.path)}:={json_text(needed.default)}") for needed in found]

    def code(self) -> str:
        """Reads the flags: what goes into the store becomes the script's arguments, as members for pflow-set."""
        return "\n".join(self._lines()) if self.all else _NONE

    def _lines(self) -> Iterator[str]:
        required = [needed for needed in self.all if needed.required]
        yield from [_ESCAPE] if self.escaped else []
        yield _FAIL
        yield from (f"has_{self.names[needed.name]}=" for needed in required)
        yield "for word; do\n    shift\n    case $word in"
        for needed in self.all:
            yield from self._cases(needed)
        yield "    *) fail 2 \"cannot take '$word': no such flag\" ;;\n    esac\ndone"
        for needed in required:
            doc = f" ({needed.doc})" if needed.doc else ""
            about = quoted(f"cannot find {needed.name}{doc}: nothing gives it; {flag_name(needed.name)}=…")
            yield f'[ "$has_{self.names[needed.name]}" ] || fail 66 {about}'
        if any(needed.step is None and needed.type.name not in TEXTS for needed in self.all):
            yield 'pflow-set -n -- "$@" >/dev/null || exit  # what is not JSON stops the script here'

    def _cases(self, needed: FlowInput) -> Iterator[str]:
        """The branches of `case` for one input: `--name=…`, and of a switch `--name` and `--no-name`."""
        own = [f"{needed.step}.{needed.readers[0][1]}"] if needed.step is not None else []
        spelt = [form for name in (needed.name, *needed.flags, *own) for form in (flag_name(name), f"--{_snake(name)}")]
        flags = [flag[2:] for flag in dict.fromkeys(spelt)]
        end = f"; has_{self.names[needed.name]}=1 ;;" if needed.required else " ;;"
        path = write_path(needed.path)
        if needed.step is not None:
            name = self.names[needed.name]
            given = f'escape "${{word#*=}}"; {name}=$escaped' if needed.name in self.escaped else f"{name}=${{word#*=}}"
            yield _case([f"--{flag}=" for flag in flags], given, end)
            return
        if needed.type.name == "bool":
            for prefix, value in (("--", "true"), ("--no-", "false")):
                yield _case([prefix + flag for flag in flags], f'set -- "$@" {quoted(f"{path}:={value}")}', end)
        equals = "=" if needed.type.name in TEXTS else ":="
        given = f'set -- "$@" {quoted(path + equals)}"${{word#*=}}"'
        yield _case([f"--{flag}=" for flag in flags], given, end)


def _case(flags: list[str], code: str, end: str) -> str:
    pattern = " | ".join([quoted(flag) + "*" * flag.endswith("=") for flag in flags])
    return f"    {pattern}) {code}{end}"


def _snake(name: str) -> str:
    return name.replace("-", "_")


def _has_templates(wired: WiredFlow, needed: FlowInput) -> bool:
    step, read = needed.readers[0]
    return "verbatim" not in wired.steps[step].interface.reads[read].marks


def _metavar(needed: FlowInput) -> str:
    if needed.type.name == "bool":
        return ""
    if needed.type.choices:
        return f"={needed.type}"
    return "=JSON" if needed.type.name in ("list", "dict") else f"={needed.type.name.upper()}"
