"""From words to steps and edges; a shell pipe that was pasted is read too, or refused in words."""

from __future__ import annotations

from itertools import pairwise

from pflow import TYPE_CHECKING
from pflow.catalog.kinds import Catalog, find_kind
from pflow.catalog.registry import is_flow_type
from pflow.errors import USAGE, PflowError, shorten
from pflow.flow.flow import Edge, FlowSpec
from pflow.flow.pipe.chains import read_chains
from pflow.flow.pipe.compile import compile_flow
from pflow.flow.pipe.recognize import free_id, full_type, is_pipe_text, split_name, taken_for_redirection
from pflow.flow.pipe.scan import (
    cannot_read,
    fault,
    is_cut_separator,
    is_separator,
    quote,
    scan,
    scan_words,
    secret_flags,
)
from pflow.flow.pipe.steps import draft_step
from pflow.values.masks import mask_flags
from pflow.values.paths import is_step_name
from pflow.values.templates import parse_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.flow.pipe.chains import Mention
    from pflow.flow.pipe.scan import Token
    from pflow.flow.pipe.steps import Draft


def parse_pipe(words: Sequence[str], catalog: Catalog | None = None) -> FlowSpec:
    """The flow that pipe syntax says, wired; what is doubtful in it is in its `warnings`.

    One word is a text, with quotes and comments; several are what a shell has taken apart already. Without a
    `catalog` its steps are nodes only. Raises PflowError (2) for wrong syntax and flags, with their place.
    """
    try:
        if len(words) > 1:
            _check_words(words)
        text, tokens = (words[0], scan(words[0])) if len(words) == 1 else scan_words(words)
        flow, apart = _read_flow(text, tokens, catalog or Catalog())
        compiled = compile_flow(flow, apart)
        _check_batches(compiled)
        return compiled
    except PflowError as error:
        raise mask_flags(error, words, secret_flags(" ".join(words))) from None


def _check_batches(flow: FlowSpec) -> None:
    for step in flow.steps:
        if step.takes_pipe_apart:
            what = f"cannot run '{step.id}' once for each: nothing is carried into it, or not one thing"
            raise PflowError(what, hint="--each=PATH names a list", exit=USAGE)


def _check_words(words: Sequence[str]) -> None:
    """Refuse what a shell has left of a `=>` without quotes, and a flow in quotes with more words behind it."""
    if any(map(is_cut_separator, words)) and (error := taken_for_redirection(words)):
        raise error
    if not any(map(is_separator, words)) and is_pipe_text(words[0]):
        what = f"cannot take '{shorten(words[1])}' behind a flow in quotes"
        raise PflowError(what, hint="inside the quotes, after its step", exit=USAGE)


def _read_flow(text: str, tokens: list[Token], catalog: Catalog) -> tuple[FlowSpec, set[str]]:
    """The flow as it is written, without what a pipe carries, and the steps with --id.

    Raises PflowError (2) with the place in the text.
    """
    chains = read_chains(text, tokens)
    reader = _Reader(text, catalog, [mention for chain in chains for mention in chain])
    flow = FlowSpec([draft.step for draft in reader.drafts], reader.edges(chains))
    flow.dialect = "pipe"
    flow.catalog = catalog
    flow.warnings = [*reader.warnings, *(each for draft in reader.drafts for each in draft.all_warnings())]
    return flow, {draft.step.id for draft in reader.drafts if draft.is_kept_apart}


class _Reader:
    """The steps that mentions are of: `drafts` in their order, `named` those that can be referred back to."""

    def __init__(self, text: str, catalog: Catalog, mentions: list[Mention]) -> None:
        self.text = text
        self.catalog = catalog
        self.drafts: list[Draft] = []
        self.draft_of: dict[Mention, Draft] = {}
        self.named: dict[str, Draft] = {}
        ids = {id for mention in mentions if (id := split_name(mention.name)[1])}
        self.warnings = _check_pasted(text, [each for each in mentions if not _refers(each, ids)], catalog)
        for mention in mentions:
            self._take(mention, ids)
        taken = {draft.step.id for draft in self.drafts}
        for number, draft in enumerate(self.drafts):
            draft.step.id = draft.step.id or free_id(draft.step.type, taken)
            draft.step.place = ("nodes", number)
            taken.add(draft.step.id)

    def _take(self, mention: Mention, ids: set[str]) -> None:
        name = mention.name
        if _refers(mention, self.named):
            self.draft_of[mention] = self.named[name]
            return
        if name in ids and find_kind(name) is None:
            why = "words and flags belong where it is named" if name in self.named else "it is named only further on"
            raise fault(self.text, mention.at, f"cannot refer to '{name}' here: {why}", f"{name} alone, after it")
        type, id = self._type_and_id(mention)
        draft = self._draft(mention, type, id)
        self.drafts.append(draft)
        self.draft_of[mention] = draft
        if id:
            self.named[id] = draft

    def _type_and_id(self, mention: Mention) -> tuple[str, str | None]:
        word = mention.name
        type, id = split_name(word)
        if not type or type.startswith("-"):
            raise fault(
                self.text, mention.at, f"'{shorten(word)}' is no node: a step begins with one", "llm --prompt='…'"
            )
        if any(letter.isspace() for letter in type) and not type.endswith(".json"):
            why = f"'{shorten(word)}' is no node: it has white space in it"
            raise fault(self.text, mention.at, why, "one text with the whole flow, or each word by itself")
        if id is not None and not is_step_name(id):
            hint = "letters, digits, _ and -, with a letter first; stdin is reserved"
            raise fault(self.text, mention.at, f"cannot name a step '{id}'", hint)
        return full_type(type), id

    def _draft(self, mention: Mention, type: str, id: str | None) -> Draft:
        try:
            draft = draft_step(type, id, [word.text for word in mention.words[1:]], self.catalog)
        except PflowError as error:
            raise error.within(cannot_read(self.text, mention.at)) from None
        if draft.step.id and any(draft.step.id == other.step.id for other in self.drafts):
            hint = f"{draft.step.id} alone, without a type, is the first one again"
            raise fault(self.text, mention.at, f"two steps are called '{draft.step.id}'", hint)
        return draft

    def edges(self, chains: list[list[Mention]]) -> list[Edge]:
        """The edges, in the order of the steps that they come from."""
        pairs = [pair for chain in chains for pair in pairwise(chain)]
        ends = [(self.draft_of[one].step.id, self.draft_of[other].step.id, other.action) for one, other in pairs]
        place = {draft.step.id: at for at, draft in enumerate(self.drafts)}
        return [Edge(*end) for end in sorted(dict.fromkeys(ends), key=lambda end: place[end[0]])]


def _refers(mention: Mention, ids: set[str] | dict[str, Draft]) -> bool:
    return len(mention.words) == 1 and not mention.prefix and mention.name in ids


_TOOLS = {
    "get": "write-file, or pflow run -r, gives a value out",
    "set": "a flag of the step that reads it: llm --text='…'",
    "catch": "an edge for what fails: step =error=> other",
}
"""pflow's programs that are not nodes, and what a flow has in their place."""

_FILES = {"cat": "read-file --path=", "tee": "write-file --path="}


def _check_pasted(text: str, mentions: list[Mention], catalog: Catalog) -> list[str]:
    """Refuse, in a pasted pipe, what a shell would have done; warn of what it would have read differently.

    `mentions` are those that say what a step is, not those that refer back to one.
    """
    has_driver = any(each.prefix for each in mentions) and any(each.is_beside_bar() for each in mentions)
    if not has_driver and not any(each.prefix == "pflow-" for each in mentions):
        return []
    for mention in mentions:
        _check_program(text, mention, catalog)
    return [warning for mention in mentions for word in mention.words for warning in _expansions(text, word)]


def _expansions(text: str, word: Token) -> list[str]:
    operator = next((letter for letter in word.bare if letter in "<>&()"), None)
    if operator is not None:
        raise fault(text, word.at, f"a shell takes the {operator} in '{shorten(word.text)}' for its own", "quote it")
    if "$(" in word.loose or "`" in word.loose:
        raise fault(text, word.at, "nothing is run inside a text here", "a step before it: shell --command='…' => …")
    if all(isinstance(part, str) for part in parse_template(word.loose)):
        return []
    return [f"in '{shorten(word.text)}' a shell would put a variable of its own; here it is a key of the store"]


def _check_program(text: str, mention: Mention, catalog: Catalog) -> None:
    """Refuse a program that is not a node, and a file that a pasted pipe would write to."""
    name, *rest = [word.text for word in mention.words]
    if catalog.find(split_name(name)[0]) is not None:
        return
    if mention.prefix:
        if name in _TOOLS:
            raise fault(text, mention.at, f"'pflow-{name}' is no node", _TOOLS[name])
        return
    if mention.before is not None and mention.before.text == ">>":
        raise fault(text, mention.before.at, "'>>' is a redirection here", "=> write-file --append --path=FILE")
    if mention.is_beside_bar() and ":" not in name and not is_flow_type(name):
        is_file = len(rest) == 1 and name in _FILES and not rest[0].startswith("-")
        command = " ".join(map(quote, [name, *rest]))
        hint = _FILES[name] + quote(rest[0]) if is_file else "shell --command=" + quote(command)
        raise fault(text, mention.at, f"'{shorten(name)}' is a program, not a node", hint)
