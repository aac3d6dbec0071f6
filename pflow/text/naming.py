"""Names: suggestions for a misspelt name, lists of names, valid variable names, and NAME=VALUE."""

from __future__ import annotations

from pflow import Collection, Iterable
from pflow.errors import USAGE, PflowError, shorten

_SHOWN = 12
"""The most names in a list."""
_MEDIA = ("image", "audio", "video", "text", "application", "model", "font", "message", "multipart")


def nearest(name: str, there: Iterable[str]) -> str | None:
    """Return the name within a typing slip of this one: one letter off, in longer names two."""
    near = [(_distance(name, other), other) for other in there if other != name and _may_be_near(name, other)]
    return min([each for each in near if each[0] <= _slips(name, each[1])], default=(0, None))[1]


def is_slip(one: str, other: str) -> bool:
    """Return True if two names differ by one slip, and are so long that this is hardly chance."""
    return min(len(one), len(other)) >= 6 and _may_be_near(one, other) and _distance(one, other) == 1


def _slips(one: str, other: str) -> int:
    shorter = min(len(one), len(other))
    return 0 if shorter < 3 else 1 if shorter < 6 else 2


def _may_be_near(one: str, other: str) -> bool:
    """Return False if two names cannot be within slips of each other: a cheap test, since a name may have megabytes."""
    slips = _slips(one, other)
    return abs(len(one) - len(other)) <= slips and len({*one} ^ {*other}) <= 2 * slips


def meant(name: str, there: Iterable[str]) -> str | None:
    """Return the known name that was most likely meant by a misspelt one; None if none is near."""
    return next(iter(likely(name, list(there))), None)


def likely(name: str, there: Collection[str], most: int = 1) -> list[str]:
    """Return the known names that may be meant by a misspelt one: first one within a typing slip, then similar ones."""
    near = nearest(name, there)
    found = [] if near is None else [near]
    if there and len(found) < most:
        import difflib

        found += [each for each in difflib.get_close_matches(name, there, most) if each != near]
    return found[:most]


def guess(name: str, there: Iterable[str], otherwise: str = "", most: int = 1) -> str:
    """Suggest a known name for an unknown one, as a hint; else give `otherwise`, or the known names."""
    names = list(there)
    return did_you_mean(*likely(name, names, most)) or otherwise or f"known: {listed(names)}"


def tries_hint(name: str, tries: object, ours: str) -> str:
    """Return the hint for pocketflow's max_retries, which counts the first try too; empty for any other name."""
    if name.replace("-", "_") != "max_retries":
        return ""
    value = f"{max(int(str(tries)) - 1, 0)} for it" if str(tries).isdecimal() else "one less"
    return f"{ours} is {value}: max_retries counts the first try too"


_DID_YOU_MEAN = "did you mean "


def did_you_mean(*names: str | None) -> str:
    """Propose names, as in 'did you mean a, b or c?'; empty without any."""
    proposed = [name for name in names if name is not None]
    *others, last = proposed or [""]
    either = f"{', '.join(others)} or " if others else ""
    return f"{_DID_YOU_MEAN}{either}{last}?" if proposed else ""


def names_meant(hint: str) -> list[str]:
    """Return the names that a hint proposes with `did_you_mean`."""
    names, ended, _ = f"{hint.partition(_DID_YOU_MEAN)[2]} ".partition("?")
    return [name for name in names.replace(" or ", ", ").split(", ") if name != "…"] if ended else []


def listed(names: Iterable[str]) -> str:
    """Join names with commas, at most 12; `nothing` for an empty list."""
    all_names = list(names)
    shown = ", ".join(all_names[:_SHOWN]) + (", …" if len(all_names) > _SHOWN else "")
    return shown or "nothing"


def joined(names: Iterable[str]) -> str:
    """Join names in quotes: 'a', 'b' and 'c'."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) > _SHOWN:
        quoted = [*quoted[: _SHOWN - 1], f"{len(quoted) - _SHOWN + 1} more"]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _distance(one: str, other: str) -> int:
    """Count the letters to insert, delete, change or swap with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, before_above = row, before
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before_above[j - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]


def kebab(name: str) -> str:
    """Convert a class's name to a node's: `YTTranscript` to `yt-transcript`."""
    made = name[:1]
    for before, each, after in zip(name, name[1:], name[2:] + "_", strict=False):
        is_start = each.isupper() and (before.islower() or before.isdigit() or (before.isupper() and after.islower()))
        made += f"-{each}" if is_start else each
    return made.replace("_", "-").strip("-").lower()


def variable(text: str, taken: set[str]) -> str:
    """Make an unused lower-case variable name for Python and sh."""
    plain = "".join([each if each.isascii() and each.isalnum() else "_" for each in text]).strip("_").lower()
    return free(plain if plain[:1].isalpha() else f"step_{plain}".strip("_"), taken)


def free(name: str, taken: set[str]) -> str:
    """Take the name, with a number if it is taken already or a Python keyword."""
    from keyword import iskeyword

    found, number = name, 2
    while found in taken or iskeyword(found):
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found


def read_pairs(
    flag: str, texts: Iterable[str], wanted: str = "NAME=VALUE", *, at_last: bool = False
) -> list[tuple[str, str]]:
    """Read the NAME=VALUE texts of a flag, split at the first or last `=`.

    Raises PflowError (2); the message shows no values.
    """
    pairs = []
    for text in texts:
        name, equals, value = text.rpartition("=") if at_last else text.partition("=")
        if not (name.strip() and equals):
            shown = f"{equals}…" if equals else shorten(text)
            raise PflowError(f"cannot read {flag}='{shown}'", hint=f"it is written {flag}={wanted}", exit=USAGE)
        pairs.append((name, value))
    return pairs


def read_types(flag: str, texts: Iterable[str]) -> dict[str, str]:
    """Read the PATH=TYPE texts of a flag. Raises PflowError (2)."""
    found = [(text, *split_type(text)) for text in texts]
    if wrong := [shorten(text) for text, path, _ in found if not path]:
        hint = f"{flag} PATH TYPE, such as {flag} photo.dat image/png"
        raise PflowError(f"cannot read {flag}: '{wrong[0]}' names no media type", hint=hint, exit=USAGE)
    return {path: kind for _, path, kind in found}


def split_type(text: str) -> tuple[str, str]:
    """Split PATH=TYPE, and drop the type's parameters; return two empty texts if there is no path or no type."""
    at = max(text.lower().rfind(f"={kind}/") for kind in _MEDIA)
    kind = text[at + 1 :].partition(";")[0].strip().lower()
    is_type = kind.partition("/")[2].translate(str.maketrans("", "", "+-._")).isalnum()
    return (text[:at], kind) if at > 0 and is_type else ("", "")
