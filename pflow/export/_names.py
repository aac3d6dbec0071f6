"""Variables for what may be called anything: steps and inputs of a flow."""

from __future__ import annotations

import keyword
import re


def variable(text: str, taken: set[str]) -> str:
    """A variable's name in Python and in sh, lower case, free as `free` says."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()
    return free(plain if plain[:1].isalpha() else f"step_{plain}".strip("_"), taken)


def free(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken or a word of Python's; then it is taken."""
    names = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 4)))
    found = next(each for each in names if each not in taken and not keyword.iskeyword(each))
    taken.add(found)
    return found
