"""A command's words: which are flags, with their values, and which are others."""

from __future__ import annotations

from pflow.errors import USAGE, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.docs.usage import Flag


def split_flags(words: list[str], known: list[Flag]) -> tuple[dict[str, list[str]], list[str]]:
    """The flags and the other words of a tool: each flag's values, by its long name.

    Raises PflowError (2) at a flag that is not known.
    """
    by_name = {name: flag for flag in known for name in flag.names}
    flags: dict[str, list[str]] = {}
    others: list[str] = []
    rest = words[::-1]
    while rest:
        word = rest.pop()
        name, equals, value = word.partition("=")
        flag = by_name.get(name)
        if word == "--":
            return flags, others + rest[::-1]
        if flag is not None and not flag.metavar and not equals:
            flags.setdefault(flag.names[-1], []).append("")
        elif flag is not None and flag.metavar:
            if not equals and not rest:
                raise PflowError(f"cannot take {name}: it needs a value", exit=USAGE)
            flags.setdefault(flag.names[-1], []).append(value if equals else rest.pop())
        elif word.startswith("-") and len(word) > 1:
            raise PflowError(f"cannot take '{word}': no such flag", hint="--help lists them", exit=USAGE)
        else:
            others.append(word)
    return flags, others
