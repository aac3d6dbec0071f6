"""The steps of pipe syntax, between their separators and inside parentheses."""

from __future__ import annotations

import os

from pflow.catalog.interfaces import node_in
from pflow.catalog.kinds import find_kind
from pflow.errors import shorten
from pflow.flow.pipe.recognize import names_node
from pflow.flow.pipe.scan import ARROWS, CLOSE, END, LINK, OPEN, WORD, Token, fault, scan


class Mention:
    """A step as it is written in a chain: its `words`, the separators `before` and `after` it, if any.

    `prefix` is the part before its name: `pflow-` for a program, `pflow` for the driver. `inside` are the tokens of a
    step in parentheses.
    """

    def __init__(self, words: list[Token], before: Token | None, after: Token | None) -> None:
        self.words = words
        self.before = before
        self.after = after
        self.prefix = ""
        if len(words) > 1 and words[0].text == "pflow":
            self.prefix = "pflow"
            if len(words) > 2 and words[1].text == "run":
                del words[0]
                words += [words.pop(1)] if words[1].text == "-n" and len(words) > 2 else []
                words[1:2] = _words_in(words[1])
            del words[0]
        program = os.path.basename(words[0].text)
        is_own = "/" in words[0].text and find_kind(program[6:]) is None and node_in(words[0].text)
        if program.startswith("pflow-") and len(program) > 6 and not program.endswith(".json") and not is_own:
            words[0].text = program.removeprefix("pflow-")
            self.prefix = "pflow-"
        self.inside = words[0].inside

    @property
    def name(self) -> str:
        return self.words[0].text

    @property
    def at(self) -> int:
        return self.words[0].at

    @property
    def action(self) -> str:
        """The action of the step before that leads here."""
        separator = self.before.text if self.before else ""
        return separator[1:-2] if len(separator) > 3 else "default"

    def is_beside_bar(self) -> bool:
        return any(each is not None and each.text == "|" for each in (self.before, self.after))


def _words_in(word: Token) -> list[Token]:
    """Return the words of a step in quotes, as exported scripts have a batch or a flow; of a chain the word itself."""
    inside = [each for each in grouped(word.text, scan(word.text)) if each.kind != END] if " " in word.text else [word]
    if any(each.kind == LINK for each in inside):
        return [word]
    for each in inside:
        each.at = word.at
    return inside


def split_chains(tokens: list[Token]) -> list[list[Token]]:
    """Return the tokens of each chain. A newline ends one, but not beside a separator, with other newlines between."""
    chains: list[list[Token]] = [[]]
    is_new_line = False
    for token in tokens:
        if token.kind == END:
            is_new_line = token.text == "\n"
            chains += [] if is_new_line else [[]]
            continue
        if is_new_line and LINK not in (token.kind, *(before.kind for before in chains[-1][-1:])):
            chains.append([])
        chains[-1].append(token)
        is_new_line = False
    return [chain for chain in chains if chain]


def read_chains(text: str, tokens: list[Token]) -> list[list[Mention]]:
    """Return the steps between separators. Raises PflowError (2) for a missing step, or for none at all."""
    parsed = [_mentions(text, chain) for chain in split_chains(tokens)]
    if not parsed:
        raise fault(text, 0, "it has no step", "read-file --path=a => llm --prompt='…'")
    return parsed


def is_action(name: str) -> bool:
    """Return True if pipe syntax can say the name of an action."""
    return name.replace("-", "_").isidentifier()


def _mentions(text: str, chain: list[Token]) -> list[Mention]:
    mentions: list[Mention] = []
    words: list[Token] = []
    before: Token | None = None
    for token, behind in zip(chain, [*chain[1:], None], strict=True):
        if token.kind != LINK:
            _check_word(text, token, behind)
            if token.inside is not None and words:
                raise fault(text, token.at, "a ( begins a step", "put a separator before it, or quotes around it")
            words.append(token)
            continue
        if not words:
            hint = "add a step, or leave it out; step =error=> other goes on after a failure"
            raise fault(text, token.at, f"there is nothing before '{token.text}'", hint)
        if len(token.text) > 3 and not is_action(token.text[1:-2]):
            raise fault(text, token.at, f"'{token.text[1:-2]}' is not the name of an action", "=failed=>")
        mentions.append(Mention(words, before, token))
        words, before = [], token
    if not words:
        raise fault(text, chain[-1].at, f"nothing follows '{chain[-1].text}'", "add a step, or leave it out")
    return [*mentions, Mention(words, before, None)]


def _check_word(text: str, word: Token, behind: Token | None) -> None:
    """Refuse redirections, what joins steps elsewhere, and separators without spaces."""
    bare, shown = word.bare, shorten(word.text)
    if bare in ARROWS or (bare == "then" and behind is not None and names_node(behind.text)):
        hint = f"steps are joined by =>; '{bare}' in quotes is a word"
        raise fault(text, word.at, f"'{bare}' is not a separator", hint)
    if bare.lstrip("0123456789&").startswith(("<", ">")) and not bare.startswith(">>"):
        hint = "read-file --path=FILE =>" if bare.startswith("<") else "=> write-file --path=FILE"
        raise fault(text, word.at, f"'{shown}' is a redirection, which only a shell does", hint)
    is_joined = bare.startswith("::") or (bare.endswith("::") and not bare.startswith("-"))
    if is_joined or "=>" in bare or ">>" in bare:
        raise fault(text, word.at, f"'{shown}' is not a separator", "put spaces around it, or quote it")
    if bare in ("&", "&&"):
        raise fault(text, word.at, f"'{bare}' works only in a shell", "a => b leads on; a =error=> b if a fails")


_LEVELS = 20
"""How deep parentheses may be nested."""


def grouped(text: str, tokens: list[Token]) -> list[Token]:
    """Make each step in parentheses one word. Raises PflowError (2) for one without its other half."""
    levels: list[list[Token]] = [[]]
    opened: list[Token] = []
    for token in tokens:
        if token.kind == OPEN:
            opened.append(token)
            levels.append([])
            if len(opened) > _LEVELS:
                raise fault(text, token.at, f"parentheses are nested more than {_LEVELS} levels deep")
        elif token.kind == CLOSE:
            if not opened:
                raise fault(text, token.at, "this ) closes nothing", "a ( with spaces around it begins; ')' is a text")
            group = opened.pop()
            group.kind, group.text, group.bare, group.inside = WORD, "( … )" + token.text[1:], "", levels.pop()
            levels[-1].append(group)
        else:
            levels[-1].append(token)
    if opened:
        hint = "a ) with spaces around it ends; '(' is a text"
        raise fault(text, opened[-1].at, "the ( here is never closed", hint)
    return levels[0]
