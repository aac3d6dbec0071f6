"""The meaning of a plan beside its sentence: values that the plan leaves out, and values that it invents."""

import os
import posixpath
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from locale import locale_alias
from typing import Any, NamedTuple

from pflow.errors import PflowError
from pflow.explain.pipe_form import with_literals
from pflow.flow.findings import Finding
from pflow.flow.flow import Edge, FlowSpec
from pflow.flow.rules.answers import ONLY_GIVES, unused_steps
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.interface.interface import FORMS, Item
from pflow.library.nearest import words
from pflow.plan.declare_inputs import is_named, is_path, spellings
from pflow.values.paths import Path
from pflow.values.templates import parse_template

_MENTION = re.compile(
    r"""(?<!\w)(?P<quoted>'\S(?:[^']*[^\s'])?' | "[^"]+" | `[^`]+` | [“„][^“”]+[“”] | «[^»]+»)(?!\w)
    | (?P<url>\b[a-z][a-z0-9+.-]*://[^\s'"<>|)]+)
    | (?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d]{2,})
    | (?<![^\s(,;])(?P<channel>[#@][^\W\d][\w-]*)
    | (?<![\w@/.~*?$-])(?P<path>[\w.*?+%~-]*/[\w./*?+%~-]* | [\w*?+-][\w*?.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w@]))
    | (?<![\w./-])(?P<number>\d+(?:[.,:-]\d+)*)(?![\w/-]*\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_NO_PATH = re.compile(r"(?:[^\W\d]\.)+[^\W\d]\.|and/or.?", re.IGNORECASE)
"""What looks like a path and is none: `e.g.`, `p.m.`, with the character after it."""

_OF_SHELLS = """
. : [ [[ ! { } alias bg break case cd command continue declare do done echo elif else esac eval exec exit export false
fg fi for function getopts hash if in jobs kill let local printf pwd read readonly return set shift source test then
time times trap true type ulimit umask unalias unset until wait while
"""
_BUILTINS = frozenset(_OF_SHELLS.split())
"""The words that a shell knows without a program."""
_OPENING = {"!", "{", "do", "elif", "else", "if", "then", "time", "until", "while"}
"""Those that a command follows."""


class SentenceValue(NamedTuple):
    """A value that a sentence names. Its kind is `path`, `url`, `mail`, `number`, `channel`, or `quoted` for others."""

    kind: str
    text: str


def values(sentence: str) -> list[SentenceValue]:
    """Return the file names, URLs, addresses, numbers, channels and quoted texts of a sentence, in order."""
    found = dict[SentenceValue, None]()
    for match in _MENTION.finditer(sentence):
        kind, text = str(match.lastgroup), match[0]
        if kind == "quoted":
            text = text[1:-1].strip()
            inner = _MENTION.fullmatch(text)
            kind = str(inner.lastgroup) if inner is not None else kind
        elif kind in ("url", "path"):
            text = text.rstrip(".,;:?!")
        if kind == "path" and (not is_path(text) or _NO_PATH.fullmatch(sentence[match.start() : match.end() + 1])):
            continue
        found[SentenceValue(kind, text)] = None
    return list(found)


class _Literal(NamedTuple):
    """A value that a plan gives an item of a step; a list's members one by one."""

    place: Path
    step: WiredStep
    item: Item
    value: Any

    @property
    def text(self) -> str:
        """The value without the references in it."""
        if not isinstance(self.value, str) or "verbatim" in self.item.marks:
            return str(self.value)
        return " ".join(part for part in parse_template(self.value) if isinstance(part, str))

    @property
    def is_thought(self) -> bool:
        """True for words to a model, which opens no file and no address."""
        is_opened = self.item.type.is_path or "reads files" in self.step.interface.effects
        return "model" in self.step.interface.params and not is_opened


def doubts(wired: WiredFlow, sentence: str) -> list[Finding]:
    """Return what a plan that passes the rules may have misunderstood, as warnings of the limits PL07, PL10 to PL12."""
    with suppress(PflowError):  # an input that is one of several sources
        wired = wire(with_literals(wired, {}))
    sentence = _with_tilde(sentence)
    found = [*_missing([*_literals(wired, in_saved=True)], sentence)]
    literals = [*_literals(wired)]
    for check in (_invented, _overwritten, _without_program):
        found += check(literals, sentence)
    return list({(each.rule, each.message): each for each in found}.values())


def _literals(wired: WiredFlow, above: Path = (), *, in_saved: bool = False) -> Iterator[_Literal]:
    for step in wired.steps.values():
        for name, given in (("inputs", step.step.inputs), ("params", step.step.params)):
            for key, value in given.items():
                item = step.interface.item(key)
                for each in value if isinstance(value, list) else [value]:
                    if item is not None:
                        yield _Literal((*above, *step.step.place, name, key), step, item, _with_tilde(each))
        if (inside := step.subflow if in_saved else step.inline) is not None:
            yield from _literals(inside, (*above, *step.step.place), in_saved=in_saved)


def _with_tilde(value: Any) -> Any:
    """Return a text as its writer may have meant it: the default of an input has a path with ~ expanded."""
    return value.replace(os.path.expanduser("~/"), "~/") if isinstance(value, str) else value


def _missing(literals: list[_Literal], sentence: str) -> Iterator[Finding]:
    everything = _plain(" ".join(str(each.value) for each in literals))
    opened = _plain(" ".join(str(each.value) for each in literals if not each.is_thought))
    for kind, text in values(sentence):
        there = opened if kind in ("path", "url", "mail") else everything
        if not _is_there(there, kind, text):
            yield Finding("PL10", (), f"'{text}' is in no step", "give it to the step that it is for", is_warning=True)


def _is_there(plan: str, kind: str, text: str) -> bool:
    if kind == "number":
        return any(re.search(rf"(?<!\d){re.escape(each)}(?!\d)", plan) for each in spellings(text))
    plain = _plain(text).lstrip("#").rstrip("/")
    folder, _, name = plain.rpartition("/")
    return plain in plan or (bool(folder and name) and folder in plan and name in plan)


def _invented(literals: list[_Literal], sentence: str) -> Iterator[Finding]:
    said = {*words(sentence), *_languages(sentence)}
    for literal in literals:
        item = literal.item
        if isinstance(literal.value, bool) or literal.value is None or literal.value == item.default:
            continue
        for text in _claims(literal):
            is_glob = item.type.is_path and "*" in text
            named = re.sub(r"\.\w+$", "", text) if is_glob else re.sub("^https?://", "", text)
            known = said if item.required else said.union(words(item.doc))  # HEAD, bytes
            if not (is_named(sentence, literal.value) or known.issuperset(words(named))):
                what = f"'{text}' of {item.flag} is not in the sentence"
                yield Finding("PL11", literal.place, what, "leave it out, or take what it says", is_warning=True)


def _claims(literal: _Literal) -> list[str]:
    """Return the parts of a value that have to come from the sentence: all of it, but the words of a text."""
    type, text = literal.item.type, literal.text
    if type.is_path or type.is_url or not isinstance(literal.value, str):
        return [text]
    is_free = bool(type.choices) or literal.is_thought or not literal.item.marks.isdisjoint({"verbatim", *FORMS})
    is_word = not (is_free or re.search(r"\s", text))
    return [text] if is_word else [value.text for value in values(text) if value.kind in ("url", "mail")]


def _languages(sentence: str) -> set[str]:
    """Return the codes of the languages that a sentence names in English."""
    return {locale_alias[word][:2] for word in re.findall(r"\w{4,}", sentence.lower()) if word in locale_alias}


def _without_program(literals: list[_Literal], sentence: str) -> Iterator[Finding]:
    for literal in [each for each in literals if {"explicit", "verbatim"} <= each.item.marks]:
        for program in _commands(str(literal.value)):
            if program not in _BUILTINS and shutil.which(program) is None:
                what = f"there is no program '{program}' here"
                yield Finding("PL12", literal.place, what, "a node, or a program on PATH", is_warning=True)


def _commands(command: str) -> Iterator[str]:
    """Yield the first word of each simple command, if it is plain."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;()\n")
    lexer.whitespace_split, lexer.whitespace = True, " \t"
    begins = True
    with suppress(ValueError):
        for word in lexer:
            is_sign = not set(word) - set("|&;()\n")
            if begins and not is_sign and re.fullmatch(r"[\w.+-]+", word):
                yield word
            begins = is_sign or (begins and ("=" in word or word in _OPENING))


def _overwritten(literals: list[_Literal], sentence: str) -> Iterator[Finding]:
    """Warn if one path is read and written, unless the sentence says it twice."""
    read: dict[str, str] = {}
    paths = [each for each in literals if each.item.type.is_path and each.item.name not in ("directory", "repo")]
    for literal in paths:
        path, step = posixpath.normpath(literal.text), literal.step
        if "writes files" not in step.interface.effects:
            read.setdefault(path, step.id)
        elif path in read and sentence.count(literal.text) < 2:
            what = f"'{step.id}' overwrites '{literal.text}', which '{read[path]}' reads"
            remedy = "another path, unless the task says so"
            yield Finding("PL07", literal.place, what, remedy, is_warning=True)


def pruned(wired: WiredFlow) -> FlowSpec:
    """Return a plain chain without the steps that only get what nothing takes; its last step stays."""
    while idle := _idle(wired):
        flow = wired.flow.copied()
        flow.document = None
        flow.steps = [step for step in flow.steps if step.id != idle]
        after = wired.graph.after(idle)[0]
        flow.edges = [
            Edge(edge.source, after if edge.target == idle else edge.target, edge.action, edge.place)
            for edge in flow.edges
            if edge.source != idle
        ]
        wired = wire(flow)
    return wired.flow


def _idle(wired: WiredFlow) -> str:
    """Return the first step that nothing is piped into, and whose answer nothing takes; empty if there is none."""
    is_chain = all(len(step.actions) == 1 and len(wired.graph.after(id)) < 2 for id, step in wired.steps.items())
    for id in unused_steps(wired, {})[:-1] if is_chain and not wired.flow.outputs else []:
        step = wired.steps[id]
        effects, pipe = step.interface.effects, step.interface.pipe_read
        is_fed = pipe is not None and (pipe.name in step.sources or step.step.fills(pipe.name))
        if effects and ONLY_GIVES.issuperset(effects) and not (is_fed or step.step.batch or step.step.flow):
            return id
    return ""


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.casefold().replace("./", ""))
