"""The meaning of a plan beside its sentence: values that the plan leaves out, and values that it invents."""

import re
from typing import NamedTuple

from pflow.plan.declare_inputs import is_path

_MENTION = re.compile(
    r"""(?<!\w)(?P<quoted>'\S(?:[^']*[^\s'])?' | "[^"]+" | `[^`]+` | [“„][^“”]+[“”] | «[^»]+»)(?!\w)
    | (?P<url>\b[a-z][a-z0-9+.-]*://[^\s'"<>|)]+)
    | (?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d]{2,})
    | (?<![^\s(,;])(?P<channel>[#@][^\W\d][\w-]*)
    | (?<![\w@/.~*?$-])(?P<path>[\w.*?+%~-]*/[\w./*?+%~-]* | [\w*?+-][\w*?.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w@]))
    | (?<![\w./-])(?P<number>\d+(?:[.,:-]\d+)*)(?![\w/-]*\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_NO_PATH = re.compile(r"(?:[^\W\d]\.)+[^\W\d]\.|and/or.?", re.IGNORECASE)
"""What looks like a path and is none: `e.g.`, `p.m.`, with the character after it."""


class SentenceValue(NamedTuple):
    """A value that a sentence names. Its kind is `path`, `url`, `mail`, `number`, `channel`, or `quoted` for others."""

    kind: str
    text: str


def values(sentence: str) -> list[SentenceValue]:
    """Return the file names, URLs, addresses, numbers, channels and quoted texts of a sentence, in order."""
    found = dict[SentenceValue, None]()
    for match in _MENTION.finditer(sentence):
        kind, text = str(match.lastgroup), match[0]
        if kind == "quoted":
            text = text[1:-1].strip()
            inner = _MENTION.fullmatch(text)
            kind = str(inner.lastgroup) if inner is not None else kind
        elif kind in ("url", "path"):
            text = text.rstrip(".,;:?!")
        if kind == "path" and (not is_path(text) or _NO_PATH.fullmatch(sentence[match.start() : match.end() + 1])):
            continue
        found[SentenceValue(kind, text)] = None
    return list(found)
