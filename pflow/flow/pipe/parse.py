"""Chains of steps: what is between the separators of pipe syntax, and the names of steps."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.catalog.flows import is_flow_type, saved_flow
from pflow.catalog.kinds import find_kind
from pflow.flow.build import id_after
from pflow.flow.pipe.scan import END, LINK, fault
from pflow.paths import is_step_name

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

    @property
    def name(self) -> Token:
        return self.words[0]

    @property
    def action(self) -> str:
        """The action that leads here from the step before."""
        separator = self.before.text if self.before else ""
        return separator[1:-2] if len(separator) > 3 else "default"

    def is_beside(self, separator: str) -> bool:
        return any(each is not None and each.text == separator for each in (self.before, self.after))


def parse_chains(text: str, tokens: list[Token]) -> list[list[Mention]]:
    """The chains of a flow. Raises PflowError (2) for a separator with nothing beside it, and for no step at all."""
    chains: list[list[Token]] = [[]]
    for token in _without_soft_newlines(tokens):
        if token.kind == END:
            chains.append([])
        else:
            chains[-1].append(token)
    parsed = [_mentions(text, chain) for chain in chains if chain]
    if not parsed:
        raise fault(text, 0, "there is no step in it", "read-file --path=a => llm --prompt='…'")
    return parsed


def _without_soft_newlines(tokens: list[Token]) -> list[Token]:
    """The tokens without the newlines beside a separator, which end nothing."""
    kept: list[Token] = []
    for token in tokens:
        while token.kind == LINK and kept and kept[-1].text == "\n" and kept[-1].kind == END:
            kept.pop()
        if not (token.kind == END and token.text == "\n" and kept and kept[-1].kind == LINK):
            kept.append(token)
    return kept


def _mentions(text: str, chain: list[Token]) -> list[Mention]:
    mentions: list[Mention] = []
    words: list[Token] = []
    before: Token | None = None
    for token in chain:
        if token.kind != LINK:
            words.append(token)
            continue
        _check_separator(text, token, has_step=bool(words))
        mentions.append(Mention(words, before, token))
        words, before = [], token
    if not words:
        raise fault(text, chain[-1].at, f"nothing follows '{chain[-1].text}'", "a step, or leave it out")
    return [*mentions, Mention(words, before, None)]


def _check_separator(text: str, token: Token, *, has_step: bool) -> None:
    if not has_step and token.text == "|" and text[token.at - 1 : token.at] == "|":
        raise fault(text, token.at, "'||' is a shell's own", "step =error=> other goes on where a step fails")
    if not has_step:
        raise fault(text, token.at, f"there is nothing before '{token.text}'", "a step, or leave it out")
    if len(token.text) > 3 and not is_action(token.text[1:-2]):
        raise fault(text, token.at, f"'{token.text[1:-2]}' is not the name of an action", "=failed=>")


def is_action(name: str) -> bool:
    return name.replace("-", "_").isidentifier()


def split_name(word: str) -> tuple[str, str | None]:
    """The type and the id of `llm`, `llm:draft`, `flow:NAME:id` and `./x.pflow.json:id`; None where it has no id."""
    scheme = "flow:" if word.startswith("flow:") else ""
    type, colon, id = word.removeprefix(scheme).rpartition(":")
    if not colon or (is_flow_type(word) and not scheme and not is_step_name(id)):
        return word, None
    return scheme + type, id


def full_type(type: str) -> str:
    """The type that a name in pipe syntax means: a node's, else a saved flow's as `flow:NAME`."""
    if is_flow_type(type) or find_kind(type) is not None:
        return type
    return f"flow:{type}" if saved_flow(type) else type


def free_id(type: str, taken: set[str]) -> str:
    """The id of a step without one: `llm`, then `llm-2`; `fix` for `flow:fix` and `./fix.pflow.json`."""
    base = id_after(type, set())
    if not is_step_name(base):
        base = "".join(each if each.isalnum() and each.isascii() else "-" for each in base).strip("-")
        base = base if is_step_name(base) else f"step-{base}".rstrip("-")
    return id_after(base, taken)
