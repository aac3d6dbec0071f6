"""The chains of pipe syntax: steps as they are written, and the separators between them."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import shorten
from pflow.flow.pipe.scan import END, LINK, fault

if TYPE_CHECKING:
    from pflow.flow.pipe.scan import Token


class Mention:
    """A step as it is written in a chain: its `words`, the separator `before` it and that `after` it, if any.

    `prefix` is what was before its name: `pflow-` for a program, `pflow` for the driver.
    """

    __slots__ = ("after", "before", "prefix", "words")

    def __init__(self, words: list[Token], before: Token | None, after: Token | None) -> None:
        self.words = words
        self.before = before
        self.after = after
        self.prefix = ""
        if len(words) > 1 and words[0].text == "pflow":
            self.prefix = "pflow"
            del words[: 2 if len(words) > 2 and words[1].text == "run" else 1]
        program = os.path.basename(words[0].text)
        if program.startswith("pflow-") and len(program) > 6 and not program.endswith(".json"):
            words[0].text = program.removeprefix("pflow-")
            self.prefix = "pflow-"

    @property
    def name(self) -> str:
        return self.words[0].text

    @property
    def at(self) -> int:
        return self.words[0].at

    @property
    def action(self) -> str:
        """The action that leads here from the step before."""
        separator = self.before.text if self.before else ""
        return separator[1:-2] if len(separator) > 3 else "default"

    def is_beside_bar(self) -> bool:
        return any(each is not None and each.text == "|" for each in (self.before, self.after))


def read_chains(text: str, tokens: list[Token]) -> list[list[Mention]]:
    """The steps between separators. Raises PflowError (2) for a separator with nothing beside it, and for no step."""
    chains: list[list[Token]] = [[]]
    for at, token in enumerate(tokens):
        if token.kind != END:
            chains[-1].append(token)
        elif not (token.text == "\n" and _is_beside_separator(tokens, at)):
            chains.append([])
    parsed = [_mentions(text, chain) for chain in chains if chain]
    if not parsed:
        raise fault(text, 0, "there is no step in it", "read-file --path=a => llm --prompt='…'")
    return parsed


def _is_beside_separator(tokens: list[Token], at: int) -> bool:
    """Whether a newline, with others around it, is beside a separator: then it ends nothing."""
    for step in (-1, 1):
        other = at + step
        while 0 <= other < len(tokens) and tokens[other].kind == END and tokens[other].text == "\n":
            other += step
        if 0 <= other < len(tokens) and tokens[other].kind == LINK:
            return True
    return False


def _mentions(text: str, chain: list[Token]) -> list[Mention]:
    mentions: list[Mention] = []
    words: list[Token] = []
    before: Token | None = None
    for token in chain:
        if token.kind != LINK:
            _check_word(text, token)
            words.append(token)
            continue
        if not words:
            hint = "a step, or leave it out; step =error=> other goes on where a step fails"
            raise fault(text, token.at, f"there is nothing before '{token.text}'", hint)
        if len(token.text) > 3 and not token.text[1:-2].replace("-", "_").isidentifier():
            raise fault(text, token.at, f"'{token.text[1:-2]}' is not the name of an action", "=failed=>")
        mentions.append(Mention(words, before, token))
        words, before = [], token
    if not words:
        raise fault(text, chain[-1].at, f"nothing follows '{chain[-1].text}'", "a step, or leave it out")
    return [*mentions, Mention(words, before, None)]


def _check_word(text: str, word: Token) -> None:
    """Refuse what a flow cannot have: redirections, `&&`, a separator without spaces."""
    bare, shown = word.bare, shorten(word.text)
    if bare.lstrip("0123456789&").startswith(("<", ">")) and not bare.startswith(">>"):
        hint = "read-file --path=FILE =>" if bare.startswith("<") else "=> write-file --path=FILE"
        raise fault(text, word.at, f"'{shown}' is a redirection, which only a shell does", hint)
    is_joined = bare.startswith("::") or (bare.endswith("::") and not bare.startswith("-"))
    if is_joined or "=>" in bare or ">>" in bare:
        raise fault(text, word.at, f"'{shown}' is no separator", "spaces around it, or quotes")
    if bare in ("&", "&&"):
        raise fault(text, word.at, f"'{bare}' is a shell's own", "a => b leads on, and a =error=> b where a fails")
