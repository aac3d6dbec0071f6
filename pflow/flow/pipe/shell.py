"""A shell pipe that was pasted as a flow: it is read as one, and what only a shell can do in it is refused."""

from __future__ import annotations

import os

from pflow.catalog.flows import is_flow_type
from pflow.errors import shorten
from pflow.flow.pipe.parse import split_name
from pflow.flow.pipe.scan import fault, quote
from pflow.templates import parse_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.catalog.kinds import Catalog
    from pflow.flow.pipe.parse import Mention
    from pflow.flow.pipe.scan import Token

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
