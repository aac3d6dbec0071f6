"""Templates written anew: the same text, its references by the places that they were found to mean."""

from __future__ import annotations

from pflow.paths import write_path
from pflow.scanner import quote
from pflow.templates import braced_path, parse_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.paths import Path


def rewritten(written: Any, places: Mapping[Path, Path]) -> Any:
    """A template whose reference to each path stands for the place that `places` gives for it."""
    if isinstance(written, dict):
        return {key: rewritten(item, places) for key, item in written.items()}
    if isinstance(written, list):
        return [rewritten(item, places) for item in written]
    if not isinstance(written, str) or "$" not in written:
        return written
    parts = parse_template(written)
    return "".join([escaped(part) if isinstance(part, str) else reference(places[part]) for part in parts])


def escaped(value: Any) -> Any:
    """A value as a template that stands for just that value: each dollar in its texts twice."""
    if isinstance(value, list):
        return [escaped(item) for item in value]
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    return value.replace("$", "$$") if isinstance(value, str) else value


def reference(path: Path) -> str:
    """The reference to a path: `${a.b[0]}`, its keys quoted where they must be."""
    text = write_path(path)
    if braced_path(text) != path:
        text = "".join([f"[{step}]" if isinstance(step, int) else f"[{quote(step)}]" for step in path])
    return "${" + text + "}"
