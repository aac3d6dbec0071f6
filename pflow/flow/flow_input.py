"""An input of a wired flow."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pflow.values.paths import Path
    from pflow.values.types import Type


class FlowInput:
    """A value that the flow starts with: declared, or a source that no step writes.

    `step` is set where it is for one step alone (an `[explicit]` read). `readers` are the (step, read) that take it,
    `flags` every flag that gives it, `flag` the one that a person would type; `pipe` says that what comes through the
    pipe does.
    """

    def __init__(self, name: str, path: Path, type: Type) -> None:
        self.name = name
        self.path = path
        self.type = type
        self.doc = ""
        self.required = False
        self.has_default = False
        self.default: Any = None
        self.pipe = False
        self.declared = False
        self.secret = False
        self.step: str | None = None
        self.readers: list[tuple[str, str]] = []
        self.flags: list[str] = []
        self.flag = ""
