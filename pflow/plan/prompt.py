"""The prompt of a plan: a system text, the same for all sentences, and a user turn for each sentence.

The system text is beginning.txt, with a line for each bundled node, rules and examples, and after it the user's own
nodes. The user turn has examples near the sentence, chosen from examples.txt, and nodes that may fit. A prompt never
has a secret, or an item of a node that only a person chooses.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pflow.catalog.find import BUNDLED, FLOW, NodeType, list_types
from pflow.catalog.lines import UNREADABLE, cannot_read, lines
from pflow.catalog.registry import PACKAGE
from pflow.errors import PflowError, result_of, shorten
from pflow.flow.findings import Finding
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wired_flow import WiredFlow
from pflow.interface.account import account_of
from pflow.interface.interface import Field, Interface
from pflow.plan.inputs import Piped
from pflow.plan.limits import is_choice
from pflow.saved_flows.nearest import SearchTarget, nearest, nearest_by_words, words
from pflow.saved_flows.saved import SavedFlow, list_saved, readable
from pflow.terminal.messages import say
from pflow.text.printable import clean
from pflow.values.digest import bytes_digest
from pflow.values.jsontext import encode, text_of
from pflow.values.secrets import MASK, hider, is_secret_name

Hide = Callable[[str], str]
"""A function that masks secrets in a text."""

_LONGEST_DOC = 200
_NO_MARKS = str.maketrans("<>`", "\u2039\u203a'")

_GLOSS = 5
"""The most words of a node's summary in its line, since a model on a laptop reads some 25 tokens a second."""

_CUT = re.compile(r"[:;.,('\u2019]| by | as | with | without | that | which | through | at | between | including ")
_ARTICLES, _SMALL = {"a", "an", "the"}, {"of", "in", "from", "on", "to", "or", "and", "into"}


def node_line(name: str, interface: Interface, hide: Hide) -> str:
    """Return a node's line: name, flags that the pipe does not fill, an action, and a few words if the name needs them.

    For example: `git-tag --name=: tag commit of git repository`.
    """
    flags = [f"{field.flag}=" for field in interface.taken if _is_shown(field)]
    actions = [f"={each}=>" for each in interface.actions if each not in ("default", "error") and " " not in each]
    gloss = _gloss(name, _line(interface.summary, hide))
    return " ".join([name, *flags, *actions[:1]]) + (f": {gloss}" if gloss else "")


def _is_shown(field: Field) -> bool:
    """Return True for an item in a node's line: it is required and not from the pipe, or it takes a bare word."""
    is_needed = field.required and "pipe" not in field.marks
    return not field.is_secret and (is_needed or (field.marks >= {"own", "word"} and field.is_textual))


def _gloss(name: str, summary: str) -> str:
    words = [word for word in _CUT.split(summary.strip())[0].split() if word not in _ARTICLES][:_GLOSS]
    while words and words[-1] in _SMALL:
        words.pop()
    known = {each + ending for each in re.split("[:-]", name) for ending in ("", "s", "es")} | _SMALL
    text = " ".join(words)
    return "" if {word.lower() for word in words} <= known else text[:1].lower() + text[1:]


def interface_text(name: str, interface: Interface, hide: Hide) -> str:
    """Return an interface as its docstring has it, a line for each item, without items that only a person chooses."""
    about = account_of(interface, lambda field: _is_choice(name, field))
    text = [f"{name}: {_line(about['summary'], hide)}"]
    if about["open"]:
        text.append("  any reads, writes and params")
    for kind in ("read", "write", "param"):
        text += [f"  {kind} {_item(key, item, hide)}" for key, item in about[f"{kind}s"].items()]
    if about["actions"] != ["default"]:
        text.append(f"  actions {', '.join(about['actions'])}")
    if about["effects"]:
        text.append(f"  effects {', '.join(about['effects'])}")
    return "\n".join(text)


def interfaces_text(wired: WiredFlow) -> str:
    """Describe the interface of each kind of node in a flow, once."""
    kinds = {step.step.type: step.interface for step in wired.steps.values() if step.node_type is not None}
    hide = hider()
    return "\n\n".join(interface_text(type, interface, hide) for type, interface in kinds.items()) + "\n"


def _is_choice(name: str, field: Field) -> bool:
    """Return True for an item that only a person chooses: drop_choices would remove it from a plan."""
    is_persons = field.kind == "param" and is_choice(name, field.name)
    return bool(field.env) or field.name == "allow_no_answer" or is_persons


def _item(name: str, item: dict[str, Any], hide: Hide) -> str:
    said = item.get("marks", ())
    is_hidden = item.get("default") is not None and ("secret" in said or is_secret_name(name))
    shown = MASK if is_hidden else "null" if item.get("default") is None else text_of(item["default"])
    default = f" = {shown}" if "default" in item else ""
    marks = "".join(f" [{mark}]" for mark in ("explicit", "verbatim", "secret") if mark in said)
    about = f"  # {_line(item['doc'], hide)}" if item["doc"] else ""
    return f"{name}: {item['type']}{_line(default, hide)}{marks}{about}"


def _line(text: str, hide: Hide) -> str:
    """Put foreign text on one line, without marks that a model could take for the end of a part of the prompt."""
    return shorten(hide(clean(text)), _LONGEST_DOC).translate(_NO_MARKS)


_ROOM_OWN = 700
"""The most characters for the user's own nodes in the system text, some 160 tokens. If they need more, the nearest
ones go into each user turn instead."""

_OWN = "\n\nThe user's own nodes, the first choice where they fit:\n"

_ROOM_INTERFACES = 2_400
"""The most characters for the interfaces in a correction, some 700 tokens."""

_MOST_FINDINGS, _LONGEST_ANSWER = 8, 1_200
"""The most findings and characters of a wrong answer that go back to the model."""

CANNOT = "\nFlow: cannot: "
_EXAMPLES = 2
"""The number of examples near the sentence in its user turn."""

_LEAST_LIKE, _LIKE_BEST = 0.12, 0.5
"""The least score of an example's likeness to the sentence, and the least share of the best example's score."""

_FITTING, _LEAST_NEAR, _OF_BEST = 4, 0.17, 0.4
"""The most nodes that are said to fit, their least score, and the least share of the best node's score."""

_NEAREST_FLOWS, _NEAREST_NODES = 3, 5
"""The number of flows and nodes that are named if no model can plan: a sentence needs one flow, or several nodes."""

_VALUE = re.compile(r"https?://\S+|\S+@\S+|[\w.~*-]*/[\w./~*-]*|[\w*-][\w*.-]*\.[A-Za-z]\w{0,5}\b")


@dataclass(frozen=True)
class Prompt:
    """A model's prompt. `system` and `digest` are the same for all sentences until a node or flow changes.

    `kinds` has the interfaces of the nodes and flows that a plan may use, by type; `own` the lines of the user's own.
    """

    system: str
    digest: str
    kinds: dict[str, Interface]
    own: dict[str, str]

    def user_turn(self, sentence: str, piped: Piped | None = None, *, attempt: int = 0) -> str:
        """Return the user turn for a sentence. Each further attempt has other examples."""
        fits, near = self._fitting(sentence), near_examples(sentence)
        if not near and not fits:
            near = [next(each for each in _examples() if part in each) for part in ("\nFlow: llm --prompt", CANNOT)]
        near = near[_EXAMPLES * attempt :][:_EXAMPLES]
        examples = ["\n".join(reversed(near)) + "\n"] if near else []
        fitting = [f"Nodes that may fit: {', '.join(fits)}"] if fits else []
        return "\n".join([*examples, *fitting, *([str(piped)] if piped else []), f"Task: {sentence}", "Flow:"])

    def _fitting(self, sentence: str) -> list[str]:
        """Return the user's nodes near the sentence: their names, or their lines if the system text has none."""
        is_told = _is_short(self.own)
        found = (nearest_by_words if is_told else nearest)(
            _VALUE.sub(lambda value: value[0].rpartition(".")[2], sentence),
            [SearchTarget(name, line) for name, line in self.own.items()],
        )
        least = max(_LEAST_NEAR, _OF_BEST * max(found.values(), default=0))
        near = [self.own[name] for name, nearness in found.items() if nearness >= least][:_FITTING]
        return [line.partition(": ")[0] for line in near] if is_told else near

    def likely_types(self, sentence: str) -> dict[str, Interface]:
        """Return the nodes for the grammar of a sentence. If the sentence is near an example of a refusal, return only
        nodes that share a word with it.

        Of eight tasks that no node can do, a 1.5B model refused none with all nodes, and seven with these.
        """
        near, said = near_examples(sentence), {*words(sentence)}
        if not (near and CANNOT in near[0]) or _VALUE.search(sentence):
            return self.kinds
        about = {name: f"{name} {each.summary}".replace("-", " ") for name, each in self.kinds.items()}
        return {name: each for name, each in self.kinds.items() if said & {*words(about[name])}}

    def correction(self, task: str, line: str, findings: Sequence[Finding]) -> str:
        """Return a complete user turn: the wrong line, its findings, the interfaces of its nodes, and the user turn of
        the `task`.
        """
        wrong = f"{shorten(line, _LONGEST_ANSWER)}\n{listed(findings)}"
        named = [name for name in self.kinds if re.search(rf"(?<![\w:-]){re.escape(name)}(?![\w-])", wrong)]
        about, hide = "", hider()
        for text in (interface_text(name, self.kinds[name], hide) for name in named):
            about += f"{text}\n" if len(about) + len(text) < _ROOM_INTERFACES else ""
        return f"This line is wrong:\n{wrong}\n{about}\nWrite the line for the task anew.\n{task}"


def listed(findings: Sequence[Finding]) -> str:
    """Return the findings that go back to the model, a line each."""
    return "\n".join(f"- {finding}" for finding in findings[:_MOST_FINDINGS])


def plan_prompt() -> Prompt:
    """Return the prompt with every readable node and saved flow. Unreadable flows are reported."""
    saved, hide = saved_flows(), hider()
    shipped: dict[str, str] = {}
    own: dict[str, str] = {}
    kinds: dict[str, Interface] = {}
    for name, node_type in _node_types(saved):
        try:
            told = node_type.help_interface()
            (shipped if node_type.origin == BUNDLED else own)[name] = node_line(name, told, hide)
            kinds[name] = told
        except UNREADABLE as error:
            if node_type.origin == FLOW:
                say("pflow", cannot_read(node_type.file, error))
    system = _read("beginning").replace("@NODES@", _text(shipped))
    system += f"{_OWN}{_text(own)}" if own and _is_short(own) else ""
    interfaces = {name: interface_text(name, interface, hide) for name, interface in kinds.items()}
    contents = [result_of(Path(each.file).read_text, "utf-8", "replace", otherwise="") for each in saved]
    return Prompt(system, bytes_digest(encode([system, _read("examples"), interfaces, contents])), kinds, own)


def _node_types(saved: Iterable[SavedFlow]) -> Iterator[tuple[str, NodeType]]:
    catalog = FlowCatalog()
    yield from ((node_type.name, node_type) for node_type in list_types() if node_type.name not in _SECOND_NAMES)
    for name in [f"flow:{each.name}" for each in saved]:
        if (node_type := catalog.find(name)) is not None:
            yield name, node_type


_SECOND_NAMES = ("summarise-text",)
"""Second names of nodes, which no plan uses."""


def _is_short(own: Mapping[str, str]) -> bool:
    return len(_text(own)) <= _ROOM_OWN


def _text(lines: Mapping[str, str]) -> str:
    return "\n".join(lines.values())


@cache
def _read(name: str) -> str:
    return Path(PACKAGE, "plan", f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def near_examples(sentence: str) -> list[str]:
    """Return the examples like a sentence, nearest first: they share words with it and have the same kind of value (a
    URL, a file or neither). If the nearest one is a refusal, return only refusals.
    """
    kind = _kind_of(sentence)
    pool = [each for each in _examples().items() if _kind_of(each[1][0]) == kind]
    abouts = [SearchTarget(f"example{at}", _alike(" ".join(words))) for at, (_, words) in enumerate(pool)]
    found = nearest_by_words(_alike(sentence), abouts)
    least = max(_LEAST_LIKE, _LIKE_BEST * max(found.values(), default=0))
    near = [pool[int(name[len("example") :])][0] for name, nearness in found.items() if nearness >= least]
    return [each for each in near if CANNOT in each or CANNOT not in near[0]]


def _kind_of(sentence: str) -> int:
    return 2 * ("//" in sentence) or int(_VALUE.search(sentence) is not None)


@cache
def _examples() -> dict[str, list[str]]:
    """Return the examples, each with its task and further words to find it by."""
    parts = [each.split("\n") for each in f"\n{_read('examples')}".split("\nTask: ")[1:]]
    return {f"Task: {task}\n{flow}": [task, *words] for task, flow, *words in parts}


def _alike(text: str) -> str:
    """Replace the values in a text by words that examples share: a host, a file's extension, the number of files."""
    found = [each for each in _VALUE.findall(text) if "@" not in each]
    urls = [f"urlvalue {host}" for host in re.findall(r"//(?:www\.)?([\w-]+)", " ".join(found))]
    files = [each for each in found if "//" not in each and "*" not in each]
    endings = {each.rpartition(".")[2].strip("/") for each in found if "//" not in each}
    many = "every file patternvalue" if "*" in text else ("", "onefile", "twofiles")[min(2, len(files))]
    return " ".join([re.sub(r"\d+", "#", _VALUE.sub(" ", text)), *urls, *endings, many])


def saved_flows() -> list[SavedFlow]:
    """Return every readable saved flow by name. Unreadable ones are only reported, since planning can go on."""
    try:
        return readable(list_saved(), "pflow")
    except PflowError as error:
        say("pflow", error.message)
        return []


def add_nearest(error: PflowError, sentence: str) -> PflowError:
    """Add the nearest saved flows and nodes to an error's hint and `details`, and return the error."""
    flows = [*nearest(sentence, [SearchTarget(each.name, each.description) for each in saved_flows()])]
    there = [line for line in lines(FlowCatalog()) if line.is_there and line.origin != FLOW]
    nodes = [*nearest(sentence, [SearchTarget(line.name, f"{line.summary} {line.words}") for line in there])]
    error.details = {"flows": flows[:_NEAREST_FLOWS], "nodes": nodes[:_NEAREST_NODES]}
    named = [f"{what}: {', '.join(error.details[key])}" for what, key in (("saved flows", "flows"), ("nodes", "nodes"))
             if error.details[key]]  # fmt: skip
    hints = [error.hint, "pipe syntax, 'a => b', needs no model"]
    error.hint = "; ".join([*hints, *([f"nearest {', '.join(named)}"] if named else [])])
    return error
