"""Templates written anew: the same text with other references, and paths as text."""

from __future__ import annotations

from pflow.scanner import quote
from pflow.templates import parse_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.paths import Path


def rewritten(written: Any, places: Mapping[Path, Path]) -> Any:
    """A template whose reference to each path in `places` is to the place there. Without any it stays as written."""
    if isinstance(written, dict):
        return {key: rewritten(item, places) for key, item in written.items()}
    if isinstance(written, list):
        return [rewritten(item, places) for item in written]
    if not isinstance(written, str) or "$" not in written:
        return written
    parts = parse_template(written)
    if not any(part in places for part in parts if not isinstance(part, str)):
        return written
    return "".join([escaped(part) if isinstance(part, str) else reference(places.get(part, part)) for part in parts])


def escaped(value: Any) -> Any:
    """A value as a template that gives just that value: each dollar in its texts twice."""
    if isinstance(value, list):
        return [escaped(item) for item in value]
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    return value.replace("$", "$$") if isinstance(value, str) else value


def reference(path: Path) -> str:
    """The reference to a path: `${a.b[0]}`, its keys quoted where they must be."""
    return "${" + path_text(path) + "}"


def path_text(path: Path) -> str:
    """A path as text that means it both in a mapping and between the braces of a template."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _is_plain(step) and (text or step[0].isalpha() or step[0] == "_"):
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text


def _is_plain(step: str) -> bool:
    return step.isascii() and step.replace("-", "").replace("_", "").isalnum()
