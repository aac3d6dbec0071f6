"""Reading pipe syntax, from words to chains, steps and edges; a pasted pipe of programs is read too, or refused."""

from __future__ import annotations

import os
from itertools import pairwise

from pflow import Sequence
from pflow.catalog.find import Catalog, find_type
from pflow.catalog.node_type import node_in
from pflow.catalog.registry import is_flow_type
from pflow.errors import USAGE, PflowError, shorten
from pflow.flow.flow import INLINE, Edge, FlowSpec, ItemNames
from pflow.flow.pipe.compile import compile_flow
from pflow.flow.pipe.scan import (
    ARROWS,
    CLOSE,
    END,
    LINK,
    OPEN,
    WORD,
    Token,
    cannot_read,
    fault,
    free_id,
    full_type,
    is_cut_separator,
    is_pipe_text,
    is_separator,
    names_node,
    quote,
    scan,
    scan_words,
    secret_flags,
    split_name,
    taken_for_redirection,
)
from pflow.flow.pipe.steps import Draft, draft_step
from pflow.values.paths import is_step_name
from pflow.values.secrets import mask_flags
from pflow.values.templates import parse_template


def parse_pipe(words: Sequence[str], catalog: Catalog | None = None, item_names: ItemNames | None = None) -> FlowSpec:
    """Read and compile a flow in pipe syntax; its `warnings` say what is doubtful. `item_names` are as in FlowSpec.

    One word is a text with quotes and comments; several words were split by a shell. Without a `catalog`, steps can
    only be nodes. Raises PflowError (2) for wrong syntax and flags, and quotes the text around them.
    """
    try:
        if len(words) > 1:
            _check_words(words)
        text, tokens = (words[0], scan(words[0])) if len(words) == 1 else scan_words(words)
        return _compiled(text, tokens, catalog or Catalog(), item_names)
    except PflowError as error:
        raise mask_flags(error, words, secret_flags(" ".join(words))) from None


def _check_words(words: Sequence[str]) -> None:
    """Refuse the rest of an unquoted `=>` of which a shell took the `>`, and words after a flow in quotes."""
    if any(map(is_cut_separator, words)) and (error := taken_for_redirection(words)):
        raise error
    if not any(map(is_separator, words)) and is_pipe_text(words[0]):
        what = f"cannot take '{shorten(words[1])}' after a flow in quotes"
        raise PflowError(what, hint="put it inside the quotes, after its step", exit=USAGE)


def _compiled(text: str, tokens: list[Token], catalog: Catalog, item_names: ItemNames | None) -> FlowSpec:
    compiled = compile_flow(*read_flow(text, tokens, catalog, item_names))
    for step in [step for step in compiled.steps if step.takes_pipe_apart]:
        what = f"cannot run '{step.id}' for each item: no single step passes a value to it"
        raise PflowError(what, hint="--each=PATH names a list", exit=USAGE)
    return compiled


def read_flow(
    text: str, tokens: list[Token], catalog: Catalog, item_names: ItemNames | None = None, *, is_script: bool = False
) -> tuple[FlowSpec, set[str]]:
    """Read a flow without the mappings that it implies; return it and the steps with --id. Raises PflowError (2)."""
    chains = read_chains(text, grouped(text, tokens))
    reader = _Reader(text, catalog, [mention for chain in chains for mention in chain])
    for draft in [reader.draft_of[chain[-1]] for chain in chains[:-1]] if is_script else ():
        # Every pipe of a script but the last needs -q, so no warning says that a flow ignores it.
        draft.stream = [name for name in draft.stream if name != "quiet"]
    flow = FlowSpec([draft.step for draft in reader.drafts], reader.edges(chains))
    flow.dialect = "pipe"
    flow.catalog, flow.item_names = catalog, item_names
    flow.warnings = [*reader.warnings, *(each for draft in reader.drafts for each in draft.all_warnings())]
    flow.warnings += [each for step in flow.steps if step.flow is not None for each in step.flow.warnings]
    return flow, {draft.step.id for draft in reader.drafts if draft.is_kept_apart}


class _Reader:
    """Makes the steps of a flow: all `drafts` in order, and the `named` ones by id, for mentions that refer to them."""

    def __init__(self, text: str, catalog: Catalog, mentions: list[Mention]) -> None:
        self.text = text
        self.catalog = catalog
        self.drafts: list[Draft] = []
        self.draft_of: dict[Mention, Draft] = {}
        self.named: dict[str, Draft] = {}
        self.ids: set[str] = set()
        ids = {id for mention in mentions if (id := split_name(mention.name)[1])}
        self.warnings = _check_pasted(text, [each for each in mentions if not _refers(each, ids)], catalog)
        for mention in mentions:
            self._take(mention, ids)
        taken = {draft.step.id: 2 for draft in self.drafts}
        for number, draft in enumerate(self.drafts):
            draft.step.id = draft.step.id or free_id(draft.step.type, taken)
            draft.step.location = ("nodes", number)
            taken.setdefault(draft.step.id, 2)

    def _take(self, mention: Mention, ids: set[str]) -> None:
        name = mention.name
        if _refers(mention, self.named):
            self.draft_of[mention] = self.named[name]
            return
        if name in ids and find_type(name) is None:
            why = "words and flags belong where it is named" if name in self.named else "it is only named later"
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
        if mention.inside is not None:
            type, id = INLINE, word.partition(":")[2] if ":" in word else None
        if not type or type.startswith(("-", "(")):
            why = f"'{shorten(word)}' is not a node: a step begins with one"
            raise fault(
                self.text, mention.at, why, "put spaces around ( and )" if type[:1] == "(" else "llm --prompt='…'"
            )
        if any(letter.isspace() for letter in type) and not type.endswith(".json"):
            why = f"'{shorten(word)}' is not a node: it contains white space"
            raise fault(self.text, mention.at, why, "one text with the whole flow, or each word by itself")
        if id is not None and not is_step_name(id):
            hint = "letters, digits, _ and -, with a letter first; stdin is reserved"
            raise fault(self.text, mention.at, f"cannot name a step '{id}'", hint)
        return type if mention.inside is not None else full_type(type), id

    def _draft(self, mention: Mention, type: str, id: str | None) -> Draft:
        flow = _compiled(self.text, mention.inside, self.catalog, ()) if mention.inside is not None else None
        try:
            draft = draft_step(type, id, [word.text for word in mention.words[1:]], self.catalog, flow)
        except PflowError as error:
            error.message = f"{mention.name} {error.message}"
            if error.hint.startswith("--help") and flow is None:
                named = f"run {type}" if type.endswith(".json") else type.removeprefix("flow:")
                error.hint = f"pflow {named} {error.hint}"
            raise error.within(cannot_read(self.text, mention.at)) from None
        if draft.step.id in self.ids:
            hint = f"{draft.step.id} alone, without a type, means the first one again"
            raise fault(self.text, mention.at, f"two steps are called '{draft.step.id}'", hint)
        self.ids.update([draft.step.id] if draft.step.id else [])
        return draft

    def edges(self, chains: list[list[Mention]]) -> list[Edge]:
        """Return the edges in the order of the steps that they leave."""
        pairs = [pair for chain in chains for pair in pairwise(chain)]
        ends = [(self.draft_of[one].step.id, self.draft_of[other].step.id, other.action) for one, other in pairs]
        position = {draft.step.id: at for at, draft in enumerate(self.drafts)}
        return [Edge(*end) for end in sorted(dict.fromkeys(ends), key=lambda end: position[end[0]])]


def _refers(mention: Mention, ids: set[str] | dict[str, Draft]) -> bool:
    return len(mention.words) == 1 and not mention.prefix and mention.name in ids


_TOOLS = {
    "get": "write-file, or pflow run -r, writes a value out",
    "set": "use a flag of the step that reads it: llm --text='…'",
    "catch": "use an edge for failures: step =error=> other",
    "map": "--each runs a step for each item of a list",
}
"""pflow's programs that are no nodes, each with its equivalent in a flow."""

_FILES = {"cat": "read-file --path=", "tee": "write-file --path="}


def _check_pasted(text: str, mentions: list[Mention], catalog: Catalog) -> list[str]:
    """Refuse what only a shell can do in a pasted pipe of programs; warn of what a shell would do differently."""
    has_driver = any(each.prefix for each in mentions) and any(each.is_beside_bar() for each in mentions)
    if not has_driver and not any(each.prefix == "pflow-" for each in mentions):
        return []
    for mention in mentions:
        _check_program(text, mention, catalog)
    return [warning for mention in mentions for word in mention.words for warning in _expansions(text, word)]


def _expansions(text: str, word: Token) -> list[str]:
    operator = next((letter for letter in word.bare if letter in "<>&()"), None)
    if operator is not None:
        raise fault(text, word.at, f"a shell would interpret the {operator} in '{shorten(word.text)}'", "quote it")
    if "$(" in word.loose or "`" in word.loose:
        hint = "run it in a step before: shell --command='…' => …"
        raise fault(text, word.at, "pipe syntax runs no commands inside a text", hint)
    if all(isinstance(part, str) for part in parse_template(word.loose)):
        return []
    return [f"a shell would expand its own variable in '{shorten(word.text)}'; here it is a key of the store"]


def _check_program(text: str, mention: Mention, catalog: Catalog) -> None:
    """Refuse a program that is no node, and a redirection into a file."""
    name, *rest = [word.text for word in mention.words]
    if mention.inside is not None or catalog.find(split_name(name)[0]) is not None:
        return
    if mention.prefix:
        if name in _TOOLS:
            raise fault(text, mention.at, f"'pflow{mention.prefix[5:] or ' '}{name}' is not a node", _TOOLS[name])
        return
    if mention.before is not None and mention.before.text == ">>":
        raise fault(text, mention.before.at, "'>>' is a redirection here", "=> write-file --append --path=FILE")
    if mention.is_beside_bar() and ":" not in name and not is_flow_type(name):
        is_file = len(rest) == 1 and name in _FILES and not rest[0].startswith("-")
        command = " ".join(map(quote, [name, *rest]))
        hint = _FILES[name] + quote(rest[0]) if is_file else "shell --command=" + quote(command)
        raise fault(text, mention.at, f"'{shorten(name)}' is a program, not a node", hint)


class Mention:
    """One appearance of a step in a chain: its `words`, and the separators `before` and `after` it, if any.

    `prefix` stands before the name in a pasted command: `pflow-` for a program, `pflow` for the driver. A step in
    parentheses has its tokens in `inside`.
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
        is_own = "/" in words[0].text and find_type(program[6:]) is None and node_in(words[0].text)
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
        """The action of the step before it that leads to this step."""
        separator = self.before.text if self.before else ""
        return separator[1:-2] if len(separator) > 3 else "default"

    def is_beside_bar(self) -> bool:
        return any(each is not None and each.text == "|" for each in (self.before, self.after))


def _words_in(word: Token) -> list[Token]:
    """Split a quoted step into words, since exported scripts quote a batch or a flow. Leave a quoted chain whole."""
    inside = [each for each in grouped(word.text, scan(word.text)) if each.kind != END] if " " in word.text else [word]
    if any(each.kind == LINK for each in inside):
        return [word]
    for each in inside:
        each.at = word.at
    return inside


def split_chains(tokens: list[Token]) -> list[list[Token]]:
    """Split tokens into chains. A newline ends a chain, unless the word before or after it is a separator."""
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
    """Return the steps of each chain. Raises PflowError (2) if one is missing, or if there is no step at all."""
    parsed = [_mentions(text, chain) for chain in split_chains(tokens)]
    if not parsed:
        raise fault(text, 0, "it has no step", "read-file --path=a => llm --prompt='…'")
    return parsed


def is_action(name: str) -> bool:
    """Return True if pipe syntax can have an action of this name."""
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
    """Refuse redirections, arrows of other languages, and separators without spaces."""
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
    """Make each step in parentheses one word. Raises PflowError (2) for a parenthesis without its partner."""
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
