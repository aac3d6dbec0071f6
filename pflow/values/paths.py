"""Paths into a store: `fetch.issue_data.labels[0].name`, `raw_texts/doc1.txt`, `["odd key"]`."""

from __future__ import annotations

from pflow import Any
from pflow.errors import MISSING, PflowError, result_of
from pflow.values.jsontext import BLANK, TooLarge, decode, quote, scanstring

Path = tuple["str | int", ...]


def parse_path(text: str) -> Path:
    """Parse a path, split at `/` if it has one, else at `.`. Raises ValueError if it is not a path."""
    if text.startswith(".") and text.strip(".") and "/" not in text:
        raise ValueError(f"'{text}' is how jq writes a path; here it is '{text.lstrip('.')}'")
    if "/" in text.partition("[")[0]:
        steps: list[str | int] = list(text.split("/"))
        if "" in steps:
            raise ValueError(f"'{text}' has an empty step")
        return tuple(steps)
    steps, at = [], 0
    while at < len(text) or not steps:
        step: str | int
        if text.startswith("[", at):
            step, at = _bracket(text, at + 1)
        elif steps and not text.startswith(".", at):
            raise ValueError(f"'{text}' needs a . after the ]")
        else:
            start = at + 1 if steps else at
            step = text[start:].partition("[")[0].partition(".")[0]
            at = start + len(step)
            if not step:
                raise ValueError(f"'{text}' has an empty step")
        steps.append(step)
    return tuple(steps)


def _bracket(text: str, at: int) -> tuple[str | int, int]:
    step: str | int
    if text.startswith('"', at):
        step, end = scanstring(text, at + 1)
        step.encode()
    else:
        end = text.find("]", at)
        digits = text[at:end]
        if end < 0 or not digits.removeprefix("-").isdecimal() or len(digits) > 18:
            raise ValueError(f"'{text}' has a [ without a number or a \"key\" and a ]")
        step = int(digits)
    if not text.startswith("]", end):
        raise ValueError(f"'{text}' has a [ without a ]")
    return step, end + 1


def write_path(steps: Path, *, in_template: bool = False) -> str:
    """Write a path as a person would; `in_template`, so that it means the same between the braces of a template."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _is_word(step, is_first=not text) if in_template else step and not set(step) & set('./[]"'):
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text


def _is_word(step: str, *, is_first: bool) -> bool:
    is_begun = not is_first or step[:1].isalpha() or step[:1] == "_"
    return is_begun and step.isascii() and step.replace("-", "").replace("_", "").isalnum()


def are_nested(one: Path, other: Path) -> bool:
    """Return True if two paths are the same, or one of them leads into the value at the other."""
    return all(a == b for a, b in zip(one, other, strict=False))


def look_up(value: Any, steps: Path, at: int = 0) -> Any:
    """Return the value at `steps[at:]` in `value`, which is the value at `steps[:at]`. Raises PflowError (66)."""
    for n in range(at, len(steps)):
        value = _step_into(value, steps, n)
    return value


def _step_into(value: Any, steps: Path, n: int) -> Any:
    step, value = steps[n], look_inside(value)
    if isinstance(value, dict):
        key = step if isinstance(step, str) else str(step)
        if key in value:
            return value[key]
        raise missing(key, list(value), write_path(steps[:n]))
    if isinstance(value, list):
        if isinstance(step, str) and step.isdecimal() and step.isascii() and len(step) <= 18:
            step = int(step)
        if isinstance(step, int) and -len(value) <= step < len(value):
            return value[step]
        there = "1 element" if len(value) == 1 else f"{len(value)} elements"
        raise PflowError(f"no '{step}' in {write_path(steps[:n])}; it has {there}", exit=MISSING)
    what = type_name(value) + (fault_inside(value) if isinstance(value, str) else "")
    raise PflowError(f"no '{step}' in {write_path(steps[:n])}; it is {what}", exit=MISSING)


def look_inside(value: Any) -> Any:
    """Decode a string that holds a JSON object or list; return any other value unchanged."""
    if not isinstance(value, str) or not value.lstrip(BLANK).startswith(("{", "[")):
        return value
    return result_of(lambda: decode(value.encode()), of=ValueError, otherwise=value)


def fault_inside(text: str) -> str:
    """Return `: the integer … does not fit in 64 bits` if that is why this JSON stays a text; else ""."""
    try:
        decode(text.encode())
    except TooLarge as error:
        return f": {error}"
    except ValueError:
        pass
    return ""


def missing(name: str, there: list[str], place: str) -> PflowError:
    """Return the error for a missing name: it lists the names that the place has, and suggests the nearest."""
    from pflow.text.naming import did_you_mean, listed, meant

    near = did_you_mean(meant(name, there))
    has = f"it has {listed(there)}" + (f" ({near})" if near else "") if there else "it is empty"
    return PflowError(f"no '{name}' in {place}; {has}", exit=MISSING)


def describe(value: Any) -> dict[str, Any]:
    """Describe a value without showing it: its type, and its number of characters, bytes, items or members."""
    shape: dict[str, Any] = {"type": type_name(value).removeprefix("a ").removeprefix("an ")}
    if isinstance(value, str | bytes | list | dict):
        shape["size"] = len(value)
    return shape


UNITS = {"str": "characters", "bytes": "bytes", "list": "items", "dict": "members"}
"""The units of a size, by the type of its value."""


def size_text(type: str, size: int) -> str:
    """Format a size with its unit: `2,310 characters`."""
    return f"{size:,} {UNITS[type].removesuffix('s') if size == 1 else UNITS[type]}"


def type_name(value: Any) -> str:
    """Name the type of a value in the words of the interface grammar: `an int`, `a list`."""
    if value is None:
        return "null"
    names = {bool: "a bool", int: "an int", float: "a float", str: "a str", bytes: "bytes", list: "a list"}
    return names.get(type(value)) or f"a {'dict' if isinstance(value, dict) else type(value).__name__}"


def is_step_name(name: str) -> bool:
    """Return True if a step may have this name: letters, digits, `_` and `-`, a letter first; `stdin` is reserved."""
    return name.isascii() and name[:1].isalpha() and name.replace("-", "_").isidentifier() and name != "stdin"
