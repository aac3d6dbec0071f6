"""Templates in flags: which flags become mappings, and references under the names that they have in the end."""

from __future__ import annotations

from pflow.scanner import quote
from pflow.templates import TEMPLATE, parse_template, references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Step
    from pflow.interface import Interface, Item
    from pflow.paths import Path

    Places = dict[Path, tuple[Path, ...]]
    """For each path that a step's flags refer to, the places in the store that it means."""

_TEXTUAL = ("str", "any", "path", "bytes", "choice")


def lift_templates(step: Step, interface: Interface) -> dict[str, str]:
    """Make mappings of a step's templated data flags that a stage would not store; any other stays an input.

    They stand under `template:` until it is known what their names mean. The text of each.
    """
    lifted = {key: value for key, value in step.inputs.items() if _is_lifted(interface.reads.get(key), value)}
    for key, text in lifted.items():
        del step.inputs[key]
        step.input_mappings[key] = TEMPLATE + text
    return lifted


def _is_lifted(item: Item | None, value: Any) -> bool:
    return item is not None and not item.is_stored and is_liftable(item, value)


def is_liftable(item: Item, value: Any) -> bool:
    """Whether a mapping could say what a flag does: one text that is a template, not one inside a list or an object."""
    if "verbatim" in item.marks or item.type.name in ("list", "dict"):
        return False
    return isinstance(value, str) and any(True for _ in references(value))


def is_textual(item: Item) -> bool:
    """Whether a read takes a text as it is, so that a template of one reference is the same as the path in it."""
    return item.type.name in _TEXTUAL


def as_mapping(item: Item, text: str, places: Places, *, is_exact: bool) -> str | list[str]:
    """The mapping that a templated flag becomes: a path where it is one whole reference, else a template.

    A text for a number or a switch is read as a flag's would be, so that needs a template unless the source is
    `is_exact`ly of its type.
    """
    path = whole_reference(text)
    if path is not None and (is_textual(item) or is_exact):
        there = places.get(path, (path,))
        return path_text(there[0]) if len(there) == 1 else [path_text(each) for each in there]
    return TEMPLATE + str(renamed(text, places))


def whole_reference(text: str) -> Path | None:
    parts = parse_template(text)
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], str) else None


def renamed(written: Any, places: Places) -> Any:
    """A text, list or object with each reference under the name of its one place; the others stay."""
    if isinstance(written, list):
        return [renamed(item, places) for item in written]
    if isinstance(written, dict):
        return {key: renamed(item, places) for key, item in written.items()}
    if not isinstance(written, str) or not any(len(places.get(path, ())) == 1 for path in references(written)):
        return written
    return "".join(_written(part, places) for part in parse_template(written))


def _written(part: str | Path, places: Places) -> str:
    if isinstance(part, str):
        return part.replace("$", "$$")
    there = places.get(part, (part,))
    return "${" + path_text(there[0] if len(there) == 1 else part) + "}"


def path_text(path: Path) -> str:
    """A path as text that is a path both in a mapping and between the braces of a template."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("-", "").replace("_", "").isalnum() and (text or _begins_a_name(step)) and step.isascii():
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text


def _begins_a_name(step: str) -> bool:
    return step[:1].isalpha() or step[:1] == "_"
