"""The examples of a man page as its source has them: commands, and what they print."""

import re

COMMANDS, PRINTED = ".Bd -literal", ".Bd -unfilled"
"""Blocks of commands, and blocks of what the commands before them print; ... in those stands for anything."""

_SIGNS = {
    "\\e": "\\",
    "\\-": "-",
    "\\(aq": "'",
    "\\(ga": "`",
    "\\(dq": '"',
    "\\(ha": "^",
    "\\(ti": "~",
    "\\&": "",
    "\\%": "",
    "\\ ": " ",
}


def examples(page: str) -> list[tuple[str, str]]:
    """The blocks of a page's EXAMPLES in order, each with its kind."""
    section = re.search(r"^\.Sh EXAMPLES\n(.*?)(?=^\.Sh |\Z)", page, re.MULTILINE | re.DOTALL)
    if section is None:
        return []
    found = re.finditer(r"^(\.Bd -\w+).*\n((?:.*\n)*?)\.Ed$|^\.Dl (.*)$", section[1], re.MULTILINE)
    return [(block[1] or COMMANDS, plain(block[2] or block[3])) for block in found]


def plain(text: str) -> str:
    """What a text of roff shows."""
    return re.sub(r"\\\[u([0-9A-F]+)\]|\\\(..|\\.", _sign, text)


def _sign(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _SIGNS[escape[0]]


def fits(wanted: str, printed: str) -> bool:
    """Whether this was printed, but for what ... stands for and for spaces at the ends."""
    pattern = ".*?".join(map(re.escape, wanted.strip().split("...")))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
