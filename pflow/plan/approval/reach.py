"""Which files a step may reach: each path that an effect may take when it runs, as far as it is known before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pflow.explain.effects import SCHEMA, Effect
from pflow.explain.origins import Origin
from pflow.explain.text import origin_text
from pflow.flow.wired import WiredFlow
from pflow.paths import write_path
from pflow.templates import TEMPLATE, expand

_FILES = ("reads files", "writes files")
_MOST_FOLDERS = 5_000
_WILDCARDS = frozenset("*?[")


@dataclass
class Reached:
    """A path that an effect reaches through a key of its step; None where it is not known, and `why`."""

    effect: str
    key: str
    path: str | None
    why: str = ""


class _Unknown(Exception):
    """A value that is there only when the flow runs; its words say where it comes from."""


class Reach:
    """What is known of a flow before it runs: `values` of its inputs, and whether a store comes in on stdin."""

    def __init__(self, wired: WiredFlow, values: dict[str, Any], *, has_stdin: bool) -> None:
        self.wired = wired
        self.values = values
        self.has_stdin = has_stdin

    def paths(self, effect: Effect) -> list[Reached]:
        """The paths of one effect, those of hidden reads and params too."""
        step, is_inner = effect.step, len(effect.ids) > 1
        if effect.name not in _FILES:
            schema = effect.values.get(SCHEMA) if step.kind is not None and step.kind.name == "llm" else None
            return self._of_key("reads files", SCHEMA, schema, is_inner=True, is_bare=False) if schema else []
        found: list[Reached] = []
        for key, origins in effect.values.items():
            item = step.interface.reads.get(key)
            is_bare = self.has_stdin and (is_inner or (item is not None and "explicit" not in item.marks))
            found += self._of_key(effect.name, key, origins, is_inner=is_inner, is_bare=is_bare)
        for key, item in step.interface.params.items():
            if item.type.name == "path" and key not in effect.values:
                if item.env and os.environ.get(item.env):
                    found.append(Reached(effect.name, key, None, f"from the environment's {item.env}"))
                elif isinstance(item.default, str):
                    found.append(Reached(effect.name, key, item.default))
        return list(_with_folders(found))

    def _of_key(self, effect: str, key: str, origins: list[Origin], *, is_inner: bool, is_bare: bool) -> list[Reached]:
        """Each path that a key may be. `is_bare` says that the store which comes in may hold the key too."""
        try:
            if is_inner and _has_template(origins):
                raise _Unknown(origin_text(origins[0]))  # its names are those of the inner flow
            values = [value for origin in origins for value in self._values_of(origin, is_bare=is_bare)]
            return [Reached(effect, key, path) for value in values for path in _paths_in(value)]
        except _Unknown as unknown:
            return [Reached(effect, key, None, f"from {unknown}")]

    def _values_of(self, origin: Origin, *, is_bare: bool) -> list[Any]:
        """What a value may be. Raises _Unknown."""
        kind = origin["from"]
        if kind in ("default", "param") and is_bare:
            raise _Unknown(origin_text(origin))
        if kind in ("constant", "default") or (kind == "param" and "of" not in origin):
            return [origin["value"]]
        if kind == "input":
            return self._of_input(origin)
        if kind in ("latest", "param"):
            return [value for each in origin["of"] for value in self._values_of(each, is_bare=is_bare)]
        if kind == "template":
            return [self._expanded(origin)]
        raise _Unknown(origin_text(origin))

    def _of_input(self, origin: Origin) -> list[Any]:
        """An input's value; [] where it stays unset, so that what comes after it counts."""
        name = origin.get("input", "")
        wanted = self.wired.inputs.get(name)
        if wanted is None or origin["path"] != name:
            raise _Unknown(origin_text(origin))
        if name in self.values:
            return [self.values[name]]
        if wanted.required or wanted.pipe or (self.has_stdin and wanted.step is None):
            raise _Unknown(f"{origin_text(origin)}, which has no value")
        return []

    def _expanded(self, origin: Origin) -> Any:
        """A template whose every name is an input with a value."""
        known = {each["path"]: self._of_input(each) for each in origin["of"] if each["from"] == "input"}
        if len(known) < len(origin["of"]) or not all(known.values()):
            raise _Unknown(origin_text(origin))
        text = origin["text"]
        text = text.removeprefix(TEMPLATE) if isinstance(text, str) else text
        try:
            return expand(text, lambda path: known[write_path(path)][0])
        except (KeyError, ValueError):
            raise _Unknown(origin_text(origin)) from None


def _has_template(origins: list[Origin]) -> bool:
    return any(each["from"] == "template" or _has_template(each.get("of", [])) for each in origins)


def _paths_in(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return [path for each in value for path in _paths_in(each)]
    if isinstance(value, bytes):
        return [os.fsdecode(value)]
    if not isinstance(value, str):
        raise _Unknown(f"a value that is no path: {origin_text({'from': 'constant', 'value': value})}")
    return [value]


def _with_folders(found: list[Reached]) -> Iterator[Reached]:
    """The same, with a pattern (list-files) as each directory that it looks into."""
    folders = [each.path for each in found if each.key == "directory" and each.path is not None] or ["."]
    for each in found:
        if each.key != "pattern" or each.path is None:
            yield each
            continue
        for folder in folders:
            for path in _folders_of(os.path.join(folder, each.path)):
                yield Reached(each.effect, each.key, path, "a pattern that leads to too many places")


def _folders_of(pattern: str) -> list[str | None]:
    """The directories that a pattern looks into now, links followed; None for too many, and for a .. behind a *."""
    parts = pattern.split("/")
    first = next((at for at, part in enumerate(parts) if _WILDCARDS & set(part)), None)
    if first is None:
        return [pattern]
    fixed = "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")
    if ".." in parts[first:]:
        return [None]
    found: list[str | None] = [fixed]
    try:
        for end in range(first + 1, len(parts)):
            some = (each for each in Path(fixed).glob("/".join(parts[first:end])) if each.is_dir())
            found += map(str, islice(some, _MOST_FOLDERS))
    except (OSError, ValueError):  # a NUL, or a ** that is part of a name
        return [fixed, None]
    return found if len(found) <= _MOST_FOLDERS else [fixed, None]
