"""Examples for a page: commands folded where a shell lets them go on in the next line."""

from __future__ import annotations

WIDTH = 72
"""How long a line may get on a page of 80 columns."""


def folded(command: str) -> list[str]:
    """A command in lines; they are the same command to a shell."""
    if len(command) <= WIDTH:
        return [command]
    words = _words(command)
    made = [words[0]]
    for word in words[1:]:
        room = WIDTH - 2
        if made[-1].endswith(" |") and len(_upto_pipe(command, made)) > WIDTH:
            made.append("    " + word)
        elif len(made[-1]) + 1 + len(word) > room:
            made[-1] += "" if made[-1].endswith("|") else " \\"
            made.append("    " + word)
        else:
            made[-1] += " " + word
    return made


def _upto_pipe(command: str, made: list[str]) -> str:
    """What would stand in the line if the next program of the pipe were added."""
    done = sum(len(line.strip().removesuffix(" \\")) + 1 for line in made)
    return made[-1] + " " + command[done:].partition(" | ")[0]


def _words(command: str) -> list[str]:
    """The words between the spaces that no quote holds."""
    made, word, quote, is_escaped = [], "", "", False
    for sign in command:
        if sign == " " and not quote and not is_escaped:
            made.append(word)
            word = ""
            continue
        is_escaped = sign == "\\" and quote != "'" and not is_escaped
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        word += sign
    return [*made, word]
