"""From words to steps and edges; a shell pipe that was pasted is read too, or refused in words."""

from __future__ import annotations

import os
from itertools import pairwise

from pflow import TYPE_CHECKING
from pflow.catalog.flows import is_flow_type
from pflow.catalog.kinds import find_kind
from pflow.errors import PflowError, shorten
from pflow.flow.flow import Edge, Flow
from pflow.flow.pipe.parse import free_id, full_type, parse_chains, split_name
from pflow.flow.pipe.scan import cannot_read, fault, quote
from pflow.flow.pipe.steps import OF_A_STREAM, draft_step
from pflow.paths import is_step_name
from pflow.templates import parse_template

if TYPE_CHECKING:
    from pflow.catalog.kinds import Catalog
    from pflow.flow.pipe.parse import Mention
    from pflow.flow.pipe.scan import Token
    from pflow.flow.pipe.steps import Draft


def read_flow(text: str, tokens: list[Token], catalog: Catalog) -> tuple[Flow, set[str]]:
    """The flow as it is written, without what a pipe carries, and the steps with --id.

    Raises PflowError (2) with the place in the text.
    """
    reader = _Reader(text, catalog)
    chains = parse_chains(text, tokens)
    reader.take_steps([mention for chain in chains for mention in chain])
    flow = Flow([draft.step for draft in reader.drafts], reader.edges(chains))
    flow.dialect = "pipe"
    flow.catalog = catalog
    flow.warnings = [*reader.warnings, *(each for draft in reader.drafts for each in draft.warnings)]
    flow.warnings += _stream_warnings(flow, reader)
    return flow, {draft.step.id for draft in reader.drafts if draft.is_kept_apart}


class _Reader:
    def __init__(self, text: str, catalog: Catalog) -> None:
        self.text = text
        self.catalog = catalog
        self.drafts: list[Draft] = []
        self.warnings: list[str] = []
        self.draft_of: dict[Mention, Draft] = {}
        """The step of each mention."""
        self.first_at: dict[Draft, Mention] = {}
        self.named: dict[str, Draft] = {}
        """The steps that can be referred back to."""

    def take_steps(self, mentions: list[Mention]) -> None:
        for mention in mentions:
            unwrap(mention)
            check_words(self.text, mention)
        ids = {id for mention in mentions if (id := split_name(mention.name.text)[1])}
        new = [mention for mention in mentions if not self._refers(mention, ids)]
        self.warnings += check_pasted(self.text, new, self.catalog)
        for mention in mentions:
            self._take(mention, ids)
        self._number()

    def _refers(self, mention: Mention, ids: set[str]) -> bool:
        return len(mention.words) == 1 and not mention.prefix and mention.name.text in ids

    def _take(self, mention: Mention, ids: set[str]) -> None:
        name = mention.name.text
        if self._refers(mention, set(self.named)):
            self.draft_of[mention] = self.named[name]
            return
        if name in ids and find_kind(name) is None:
            why = "flags belong where a step gets its name" if name in self.named else "it is named only further on"
            raise fault(self.text, mention.name.at, f"cannot refer to '{name}' here: {why}", f"{name} alone, after it")
        type, id = self._type_and_id(mention)
        draft = self._draft(mention, type, id)
        self.drafts.append(draft)
        self.draft_of[mention] = draft
        self.first_at[draft] = mention
        if id:
            self.named[id] = draft

    def _type_and_id(self, mention: Mention) -> tuple[str, str | None]:
        at, word = mention.name.at, mention.name.text
        type, id = split_name(word)
        if not type or type.startswith("-"):
            raise fault(self.text, at, f"'{shorten(word)}' is no node: a step begins with one", "llm --prompt='…'")
        if any(letter.isspace() for letter in type) and not type.endswith(".json"):
            why = f"'{shorten(word)}' is no node: it has white space in it"
            raise fault(self.text, at, why, "one text with the whole flow, or each word by itself")
        if id is not None and not is_step_name(id):
            hint = "letters, digits, _ and -, with a letter first; stdin is reserved"
            raise fault(self.text, at, f"cannot name a step '{id}'", hint)
        return full_type(type), id

    def _draft(self, mention: Mention, type: str, id: str | None) -> Draft:
        at = mention.name.at
        try:
            draft = draft_step(type, id, [word.text for word in mention.words[1:]], self.catalog)
        except PflowError as error:
            raise error.within(cannot_read(self.text, at)) from None
        if draft.step.id and any(draft.step.id == other.step.id for other in self.drafts):
            hint = f"{draft.step.id} alone, without a type, is the first one again"
            raise fault(self.text, at, f"two steps are called '{draft.step.id}'", hint)
        return draft

    def _number(self) -> None:
        """Give an id to each step without one."""
        taken = {draft.step.id for draft in self.drafts}
        for number, draft in enumerate(self.drafts):
            draft.step.id = draft.step.id or free_id(draft.step.type, taken)
            draft.step.place = ("nodes", number)
            taken.add(draft.step.id)

    def edges(self, chains: list[list[Mention]]) -> list[Edge]:
        """The edges, in the order of the steps that they come from."""
        found: dict[tuple[str, str, str], Edge] = {}
        for chain in chains:
            for before, mention in pairwise(chain):
                edge = Edge(self.draft_of[before].step.id, self.draft_of[mention].step.id, mention.action)
                found.setdefault((edge.source, edge.target, edge.action), edge)
        place = {draft.step.id: at for at, draft in enumerate(self.drafts)}
        return sorted(found.values(), key=lambda edge: place[edge.source])


def _stream_warnings(flow: Flow, reader: _Reader) -> list[str]:
    """Warn of flags that say how the whole pipe reads and prints; refuse those that would cut it in two."""
    leads = {"first": {edge.target for edge in flow.edges}, "last": {edge.source for edge in flow.edges}, "any": set()}
    warnings = []
    for draft in reader.drafts:
        for name in draft.stream:
            flag, where = OF_A_STREAM[name]
            if draft.step.id in leads[where]:
                mention = reader.first_at[draft]
                why = f"{flag} would cut the flow in two: only the {where} step may have it"
                raise fault(reader.text, mention.name.at, why, "leave it out")
            if not (name == "no_stdin" and _takes_no_pipe(draft)):
                warnings.append(f"{flag} of '{draft.step.id}' is not a part of the flow; pflow run {flag} takes it")
    return warnings


def _takes_no_pipe(draft: Draft) -> bool:
    read = draft.interface.pipe_read
    return not draft.interface.open and (
        read is None or read.name in {**draft.step.inputs, **draft.step.input_mappings}
    )


_TOOLS = {
    "get": "write-file, or pflow run -r, gives a value out",
    "set": "a flag of the step that reads it: llm --text='…'",
    "catch": "an edge for what fails: step =error=> other",
}
"""pflow's programs that are not nodes, and what a flow has in their place."""


def unwrap(mention: Mention) -> None:
    """Take `pflow`, `pflow run` and `pflow-` off the front of a step."""
    words = mention.words
    if len(words) > 1 and words[0].text == "pflow":
        mention.prefix = "pflow"
        del words[: 2 if len(words) > 2 and words[1].text == "run" else 1]
    program = os.path.basename(words[0].text)
    if program.startswith("pflow-") and len(program) > 6 and not program.endswith(".json"):
        words[0].text = program.removeprefix("pflow-")
        mention.prefix = "pflow-"


def check_words(text: str, mention: Mention) -> None:
    """Refuse what a flow cannot have: redirections, `&&`, a separator without spaces."""
    for word in mention.words:
        bare = word.bare
        is_joined = bare.startswith("::") or (bare.endswith("::") and not bare.startswith("-"))
        if is_joined or "=>" in bare or ">>" in bare:
            raise fault(text, word.at, f"'{shorten(word.text)}' is no separator", "spaces around it, or quotes")
        if bare in ("&", "&&"):
            raise fault(text, word.at, f"'{bare}' is a shell's own", "a => b leads on, and a =error=> b where a fails")
        if bare.lstrip("0123456789&").startswith(("<", ">")):
            raise fault(
                text, word.at, f"'{shorten(word.text)}' is a redirection, which only a shell does", _instead(bare)
            )


def _instead(redirection: str) -> str:
    return "read-file --path=FILE =>" if redirection.startswith("<") else "=> write-file --path=FILE"


def check_pasted(text: str, mentions: list[Mention], catalog: Catalog) -> list[str]:
    """Refuse, in a pasted pipe, what a shell would have done; warn of what it would have read differently.

    `mentions` are those that say what a step is, not those that refer back to one.
    """
    has_driver = any(each.prefix for each in mentions) and any(each.is_beside("|") for each in mentions)
    is_pasted = has_driver or any(each.prefix == "pflow-" for each in mentions)
    warnings = []
    for mention in mentions:
        _check_program(text, mention, catalog, is_pasted=is_pasted)
        for word in mention.words if is_pasted else []:
            _check_operators(text, word)
            warnings += _expansions(word)
    return warnings


def _check_operators(text: str, word: Token) -> None:
    operator = next((letter for letter in word.bare if letter in "<>&()"), None)
    if operator is not None:
        raise fault(text, word.at, f"a shell takes the {operator} in '{shorten(word.text)}' for its own", "quote it")
    if "$(" in word.loose or "`" in word.loose:
        raise fault(text, word.at, "nothing is run inside a text here", "a step before it: shell --command='…' => …")


def _expansions(word: Token) -> list[str]:
    if all(isinstance(part, str) for part in parse_template(word.loose)):
        return []
    return [f"in '{shorten(word.text)}' a shell would put a variable of its own; here it is a key of the store"]


def _check_program(text: str, mention: Mention, catalog: Catalog, *, is_pasted: bool) -> None:
    """Refuse a program that is not a node, and a file that a pasted pipe would write to."""
    name = mention.name.text
    type, _ = split_name(name)
    kind = catalog.find(type)
    if mention.prefix:
        if type in _TOOLS and kind is None:
            raise fault(text, mention.name.at, f"'pflow-{type}' is no node", _TOOLS[type])
        return
    if is_pasted and kind is None and mention.before is not None and mention.before.text == ">>":
        raise fault(text, mention.before.at, "'>>' is a redirection here", "=> write-file --append --path=FILE")
    if is_flow_type(type) or ":" in name or not mention.is_beside("|"):
        return
    if (is_pasted and _is_on_path(type)) or (kind is None and (is_pasted or _is_on_path(type))):
        raise fault(text, mention.name.at, f"'{shorten(name)}' is a program, not a node", _node_instead(mention))


def _is_on_path(program: str) -> bool:
    import shutil

    return shutil.which(program) is not None


def _node_instead(mention: Mention) -> str:
    """A step that does what a program does."""
    name, *rest = [word.text for word in mention.words]
    if len(rest) == 1 and name in _FILES and not rest[0].startswith("-"):
        return _FILES[name] + quote(rest[0])
    return "shell --command=" + quote(" ".join(map(quote, [name, *rest])))


_FILES = {"cat": "read-file --path=", "tee": "write-file --path="}
