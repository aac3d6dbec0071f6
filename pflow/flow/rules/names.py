"""Names in findings: what a name may look like, what a misspelt one was meant to be, and what there is instead."""

from __future__ import annotations

from pflow.naming import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 12


def is_plain_word(name: str) -> bool:
    """Whether a key is a plain snake_case word."""
    return name.isascii() and name.isidentifier() and name == name.lower()


def meant(name: str, there: Iterable[str]) -> str | None:
    """The name that a misspelt one was most likely to be, if any is like it."""
    names = list(there)
    near = nearest(name, names)
    if near is not None or not names:
        return near
    import difflib

    close = difflib.get_close_matches(name, names, 1)
    return close[0] if close else None


def guess(name: str, there: Iterable[str]) -> str:
    """What to write instead of a name that is not there."""
    names = list(there)
    near = meant(name, names)
    return f"did you mean {near}?" if near else f"there is {listed(names)}"


def listed(names: Iterable[str]) -> str:
    """Names with commas between them, not too many; `nothing` without any."""
    all_names = list(names)
    shown = ", ".join(all_names[:_SHOWN]) + (", …" if len(all_names) > _SHOWN else "")
    return shown or "nothing"


def joined(names: Iterable[str]) -> str:
    """Names in quotes, the last with an `and`: 'a', 'b' and 'c'."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) > _SHOWN:
        quoted = [*quoted[: _SHOWN - 1], f"{len(quoted) - _SHOWN + 1} more"]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
