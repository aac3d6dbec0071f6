"""One step of pipe syntax: what its words say, as its type's interface takes them."""

from __future__ import annotations

import os

from pflow.binding.flag_value import FlagValue, parse_texts
from pflow.common import COMMON
from pflow.errors import USAGE, PflowError, shorten
from pflow.flow.flow import Step
from pflow.flow.rewrite import escaped
from pflow.interface import Interface
from pflow.paths import parse_path
from pflow.stage.flags import parse_flags, take_words
from pflow.templates import TEMPLATE, broken_references, references
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.catalog.kinds import Catalog
    from pflow.interface import Item
    from pflow.stage.flags import Flags, Texts

_OF_A_RUN = ("dry_run", "debug", "verbose", "describe", "help", "version")
OF_A_STREAM = {
    "from": ("--from", "first"), "no_stdin": ("-n", "first"), "allow_empty": ("--allow-empty", "any"),
    "raw": ("-r", "any"), "json": ("-j", "any"), "quiet": ("-q", "last"),
}  # fmt: skip
"""Flags that say how a stage reads and prints; in a flow, the whole of it does that once.

How each is spelled, and which step may have it without changing what a flow does.
"""


class Draft:
    """A step as its words say it, before it is wired.

    `is_kept_apart` where `--id` puts it whole under its name. `stream` are its flags that are of no use in a flow.
    """

    def __init__(self, step: Step, interface: Interface, *, is_known: bool) -> None:
        self.step = step
        self.interface = interface
        self.is_known = is_known
        self.is_kept_apart = False
        self.stream: list[str] = []
        self.warnings: list[str] = []


def draft_step(type: str, id: str | None, words: list[str], catalog: Catalog) -> Draft:
    """The step of a type with the flags in `words`; its id is "" where nothing gives one.

    Raises PflowError (2) for the first flag that is wrong. Of a type that is not known every flag is data.
    """
    interface, is_known = interface_of_type(type, catalog)
    draft = Draft(Step("", type), interface, is_known=is_known)
    items = _items(draft.interface)
    texts = take_words(_switched(words) if draft.interface.open else words, items, is_open=draft.interface.open)
    flags = _take_common(draft, texts)
    draft.step.id = _named(draft, id, flags)
    for name, given in texts.items():
        if name not in COMMON:
            _take_value(draft, name, items.get(name.replace("-", "_")), given, verbatim=flags.verbatim)
    _take_mappings(draft, texts)
    return draft


def interface_of_type(type: str, catalog: Catalog) -> tuple[Interface, bool]:
    """The interface of a type, and whether there is one; of what is not known, or not readable, an open one."""
    try:
        kind = catalog.find(type)
        return (kind.interface, True) if kind else (Interface(), False)
    except PflowError:  # the rules say what is wrong with it
        return Interface(), False


def _items(interface: Interface) -> dict[str, Item]:
    """Every read and param by each name of its flag. A flow's params are called after its steps, which may hold a -."""
    items: dict[str, Item] = {}
    for item in [*interface.reads.values(), *interface.params.values()]:
        items.update({name.replace("-", "_"): item for name in [item.name, *item.flags]})
    return items


def _switched(words: list[str]) -> list[str]:
    """The words, `=true` after each flag that has no value: of an open interface nothing says which ones do."""
    switched = list(words)
    for at, word in enumerate(words):
        is_flag = word.startswith("--") and len(word) > 2 and "=" not in word
        name = word[2:].replace("-", "_")
        has_value = at + 1 < len(words) and not words[at + 1].startswith("-")
        if is_flag and not has_value and name not in COMMON:
            switched[at] = word + "=true"
    return switched


def _take_common(draft: Draft, texts: Texts) -> Flags:
    """The common flags, checked as a stage does; those that are a step's own go to the step."""
    for name in _OF_A_RUN:
        if name in texts:
            flag = _spelled(name)
            raise PflowError(
                f"cannot take {flag} in a step", hint=f"give it to pflow run: pflow run {flag} …", exit=USAGE
            )
    words = []
    for name, given in texts.items():
        if name in COMMON and not COMMON[name].repeats:
            flag = "--" + name.replace("_", "-")
            words.append(flag if given[0] is True else f"{flag}={given[0]}")
    flags = parse_flags(words, Interface())
    for name in ("retries", "wait", "timeout"):
        if name in texts:
            setattr(draft.step, name, getattr(flags, name))
    draft.stream = [name for name in OF_A_STREAM if name in texts]
    return flags


def _spelled(name: str) -> str:
    return "-v" if name == "verbose" else "--" + name.replace("_", "-")


def _named(draft: Draft, id: str | None, flags: Flags) -> str:
    draft.is_kept_apart = flags.id is not None
    if id is not None and flags.id not in (None, id):
        raise PflowError(f"cannot name a step '{id}' and '{flags.id}'", hint="choose one", exit=USAGE)
    return id or flags.id or ""


def _take_value(draft: Draft, name: str, item: Item | None, texts: list[str | bool], *, verbatim: bool) -> None:
    """Put one flag where it belongs: an input of the step, or a param; of an open interface it is both."""
    type = item.type if item else Type("str")
    flag = "--" + name.replace("_", "-")
    is_plain = item is not None and "verbatim" in item.marks
    value = _ir_value(flag, type, texts, verbatim=verbatim or is_plain, is_plain=is_plain)
    if not verbatim and not is_plain:
        broken = [each for text in texts for each in broken_references(str(text))]
        draft.warnings += [f"'{shorten(each)}' in {flag} is no reference" for each in broken]
    if item is None or item.kind == "read":
        draft.step.inputs[name] = value
    if (item is None and draft.is_known) or (item is not None and item.kind == "param"):
        draft.step.params[name] = value


def _take_mappings(draft: Draft, texts: Texts) -> None:
    """Put --map-in and --map-out where they belong; one key read from several places takes what was written last."""
    step, interface = draft.step, draft.interface
    for text in texts.get("map_in", ()):
        key, path = _key_and_path("--map-in", str(text), interface.reads, is_open=interface.open)
        before = step.input_mappings.get(key)
        step.input_mappings[key] = path if before is None else [*_listed(before), path]
        if key in step.inputs:
            flag = "--" + key.replace("_", "-")
            raise PflowError(f"cannot take --map-in={key}=…: {flag} gives it", hint="choose one", exit=USAGE)
    for text in texts.get("map_out", ()):
        key, path = _key_and_path("--map-out", str(text), interface.writes, is_open=interface.open)
        if key in step.output_mappings:
            raise PflowError(f"cannot take --map-out={key}=PATH twice", exit=USAGE)
        _check_target(key, path)
        step.output_mappings[key] = path


def _listed(source: str | list[str]) -> list[str]:
    return source if isinstance(source, list) else [source]


def _key_and_path(flag: str, text: str, items: dict[str, Item], *, is_open: bool) -> tuple[str, str]:
    key, equals, path = text.partition("=")
    if not equals:
        raise PflowError(f"cannot take {flag}='{shorten(text)}': no = in it", hint=f"{flag}=KEY=PATH", exit=USAGE)
    try:
        path.encode()
        parse_path(path)
    except ValueError as error:
        raise PflowError(f"cannot take {flag}={key}=PATH: {error}", exit=USAGE) from None
    if path.startswith(TEMPLATE):
        raise PflowError(f"cannot take {flag}={key}=PATH: '{TEMPLATE}' is no path", hint=f"--{key}='…'", exit=USAGE)
    if key not in items and not is_open:
        there = ", ".join(items) or "none"
        raise PflowError(f"cannot take {flag}={key}=PATH: no such key", hint=f"there is {there}", exit=USAGE)
    return key, path


def _check_target(key: str, path: str) -> None:
    root, *rest = parse_path(path)
    if root == "stdin" or str(root).startswith("$") or not all(isinstance(step, str) for step in [root, *rest]):
        hint = "a path of names; stdin and what begins with $ are reserved"
        raise PflowError(f"cannot take --map-out={key}=PATH: no such place to write", hint=hint, exit=USAGE)


def _ir_value(flag: str, type: Type, texts: list[str | bool], *, verbatim: bool, is_plain: bool) -> Any:
    """The value of a flag: as it is written where it is a text or has a reference, else as its type.

    With `verbatim` a `$` in it is a `$`, which a template writes twice; not where `is_plain`, which is no template.
    Raises PflowError (2) where it does not fit the type.
    """
    written = parse_texts(flag, type, texts, verbatim=verbatim)
    found = FlagValue(flag, type, texts, verbatim=verbatim)
    if found.references:
        return written
    if isinstance(found.value, str | bytes) and (is_plain or not verbatim):
        return _as_json(written)
    value = _as_json(found.value)
    return value if is_plain else _escaped(flag, value)


def _as_json(value: Any) -> Any:
    """Texts that are UTF-8 as texts and others as bytes, whatever their type made of them."""
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    try:
        if isinstance(value, bytes):
            return str(value, "utf-8")
        if isinstance(value, str):
            value.encode()
    except ValueError:
        return os.fsencode(value)
    return value


def _escaped(flag: str, value: Any) -> Any:
    """A value as a template that gives just that value. Raises PflowError (2) for a template in an object's key."""
    try:
        list(references(value))
    except ValueError as error:
        raise PflowError(f"cannot take {flag}: {error}", hint="another key", exit=USAGE) from None
    return escaped(value)
