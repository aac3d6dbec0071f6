"""From words to steps and edges: each mention of a step is a new one, or refers back to one with a name."""

from __future__ import annotations

from itertools import pairwise

from pflow.catalog.kinds import find_kind
from pflow.errors import PflowError, shorten
from pflow.flow.flow import Edge, Flow
from pflow.flow.pipe.parse import free_id, full_type, parse_chains, split_name
from pflow.flow.pipe.scan import cannot_read, fault
from pflow.flow.pipe.shell import check_pasted, check_words, unwrap
from pflow.flow.pipe.steps import OF_A_STREAM, draft_step
from pflow.paths import is_step_name

TYPE_CHECKING = False
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
