"""Chains: what stands between the separators of pipe syntax, each step with the separators around it."""

from __future__ import annotations

from pflow.flow.pipe.scan import END, LINK, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.pipe.scan import Token


class Mention:
    """A step as it stands in a chain: its `words`, the separator `before` it and that `after` it, if any.

    `prefix` is what stood before its name: `pflow-` for a program, `pflow` for the driver.
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
        sign = self.before.text if self.before else ""
        return sign[1:-2] if len(sign) > 3 else "default"

    def stands_beside(self, sign: str) -> bool:
        return any(each is not None and each.text == sign for each in (self.before, self.after))


def parse_chains(text: str, tokens: list[Token]) -> list[list[Mention]]:
    """The chains of a flow. Raises PflowError (2) where a separator has nothing beside it, or there is no step."""
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
        _check_sign(text, token, has_step=bool(words))
        mentions.append(Mention(words, before, token))
        words, before = [], token
    if not words:
        raise fault(text, chain[-1].at, f"nothing follows '{chain[-1].text}'", "a step, or leave it out")
    return [*mentions, Mention(words, before, None)]


def _check_sign(text: str, sign: Token, *, has_step: bool) -> None:
    if not has_step and sign.text == "|" and text[sign.at - 1 : sign.at] == "|":
        raise fault(text, sign.at, "'||' is a shell's own", "step =error=> other goes on where a step fails")
    if not has_step:
        raise fault(text, sign.at, f"nothing stands before '{sign.text}'", "a step, or leave it out")
    if len(sign.text) > 3 and not is_action(sign.text[1:-2]):
        raise fault(text, sign.at, f"'{sign.text[1:-2]}' is not the name of an action", "=failed=>")


def is_action(name: str) -> bool:
    return name.replace("-", "_").isidentifier()
