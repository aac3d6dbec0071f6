"""Compare a plan with its sentence: find values and forms that it leaves out, and values and steps that it invents.

A form is a batch, a loop, a branch, or the use of a model.
"""

import codecs
import os
import posixpath
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from locale import locale_alias
from typing import Any, NamedTuple

from pflow.catalog.registry import is_flow_type
from pflow.errors import PflowError, result_of
from pflow.explain.pipe_form import with_literals
from pflow.flow.findings import Finding
from pflow.flow.flow import Edge, FlowSpec
from pflow.flow.rules.answers import ONLY_GIVES, unused_steps
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.interface.interface import FORMS
from pflow.plan.inputs import Literal, is_named, is_path, literals, spellings
from pflow.saved_flows.nearest import COMMON, words
from pflow.values.paths import Path
from pflow.values.templates import parse_template

_VALUE = re.compile(
    r"""(?<!\w)(?P<quoted>'\S(?:[^']*[^\s'])?' | "[^"]+" | `[^`]+` | [“„][^“”]+[“”] | «[^»]+»)(?!\w)
    | (?P<url>\b[a-z][a-z0-9+.-]*://[^\s'"<>|)]+)
    | (?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d]{2,})
    | (?<![^\s(,;])(?P<channel>[#@][^\W\d][\w-]*)
    | (?<![\w@/.~*?$-])(?!(?:[^\W\d]\.){2}|and/or\b) # e.g., p.m.
      (?P<path>[\w.*?+%~-]*/[\w./*?+%~-]* | [\w*?+-][\w*?.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w@]))
    | (?<![\w./-])(?P<number>\d+(?:[.,:-]\d+)*)(?![\w/-]*\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_COMMAND = re.compile(r"(?:^|[|;(\n]|(?<!>)&)\s*(?:\w+=\S*\s+)*([\w.+-]+)(?![\w.+/$)=-])")


NO_PROGRAM = "PL12"
_ENGLISH = 2
"""A sentence with so many common English words is taken for English."""


class SentenceValue(NamedTuple):
    """A value in a sentence. `kind` is path, url, mail, number, channel, or quoted for any other text in quotes."""

    kind: str
    text: str


def values(sentence: str) -> list[SentenceValue]:
    """Return the file names, URLs, addresses, numbers, channels and quoted texts of a sentence, in order."""
    found = dict[SentenceValue, None]()
    for match in _VALUE.finditer(sentence):
        kind, text = str(match.lastgroup), match[0]
        if kind == "quoted":
            text = text[1:-1].strip()
            inner = _VALUE.fullmatch(text)
            kind = str(inner.lastgroup) if inner is not None else kind
        elif kind in ("url", "path"):
            text = text.rstrip(".,;:?!")
        if kind != "path" or is_path(text):
            found[SentenceValue(kind, text)] = None
    return list(found)


def doubts(wired: WiredFlow, sentence: str) -> list[Finding]:
    """Find misunderstandings in a plan that passes the rules: PL07 and PL10 to PL14.

    All are warnings, except PL12 for a command that cannot start here.
    """
    with suppress(PflowError):  # an input that is one of several sources cannot be replaced by its value
        wired = wire(with_literals(wired, {}))
    own, every = ([*_all_literals(wired, is_deep=is_deep)] for is_deep in (False, True))
    values = (_missing_values(every, sentence), _invented_values(own, sentence), _overwritten_files(own, sentence))
    forms = (_missing_forms(wired, sentence), _unasked_steps(wired, own, sentence), _repeated_steps(wired, own))
    checks = (*values, _missing_programs(own), *forms, _guessed_word(wired.flow))
    return list({(each.rule, each.message): each for check in checks for each in check}.values())


def _all_literals(wired: WiredFlow, *, is_deep: bool, above: Path = ()) -> Iterator[Literal]:
    """Yield the values in a flow and in the flows inside its steps; with `is_deep`, in saved flows too."""
    yield from (each for each in literals(wired, above) if not isinstance(each.value, list))
    for step in wired.steps.values():
        if (inside := step.subflow if is_deep else step.inline) is not None:
            yield from _all_literals(inside, is_deep=is_deep, above=(*above, *step.step.location))


def _warning(rule: str, literal: Literal | None, message: str, remedy: str) -> Finding:
    return Finding(rule, literal.place if literal is not None else (), message, remedy, is_warning=True)


def _missing_values(given: list[Literal], sentence: str) -> Iterator[Finding]:
    opened = _plain(" ".join(str(each.value) for each in given if not _is_read_by_model(each)))
    everything = _plain(" ".join(str(each.value) for each in given))
    named = [SentenceValue("language", word) for word in languages(sentence)]
    encodings = filter(_is_encoding, re.findall(r"\b[a-z]\w*-?\d+\b", sentence))
    named += [SentenceValue("encoding", word) for word in encodings]
    for kind, text in [*values(sentence), *named]:
        is_opened, plain = kind in ("path", "url", "mail", "channel"), _plain(text).lstrip("#").rstrip("/")
        plan = opened if is_opened else everything
        folder, _, name = plain.rpartition("/")
        is_there = plain in plan or (folder and name and folder in plan and name in plan)
        if kind == "language":
            is_there = not {text, languages(text)[text]}.isdisjoint(re.findall(r"\w+", plan))
        elif kind == "number":
            is_there = any(re.search(rf"(?<!\d){re.escape(each)}(?!\d)", plan) for each in spellings(text))
        if not is_there:
            yield _warning("PL10", None, f"'{text}' is in no step", "give it to the step that it is for")


def _is_encoding(word: str) -> bool:
    """Return True for an encoding other than UTF-8, which is the default."""
    codec: Any = result_of(codecs.lookup, word, of=LookupError, otherwise=None)
    return codec is not None and codec._is_text_encoding and codec.name != "utf-8"


def languages(sentence: str) -> dict[str, str]:
    """Return the languages that a sentence names in English, each with its code."""
    return {word: locale_alias[word][:2] for word in re.findall(r"\w{4,}", sentence.lower()) if word in locale_alias}


def _invented_values(given: list[Literal], sentence: str) -> Iterator[Finding]:
    said = {*words(sentence), *words(os.path.expanduser("~")), *languages(sentence).values()}
    for literal in given:
        field, value = literal.field, literal.value
        # An optional item's doc names its usual values, such as HEAD or bytes.
        known = said.union(words("" if field.required else field.doc))
        is_set = value not in (None, field.default) and not isinstance(value, bool)
        for text in _claims(literal) if is_set else ():
            part = re.sub(r"\.\w+$" if field.type.is_path and "*" in text else "^https?://", "", text)
            if not (is_named(sentence, value) or known.issuperset(words(part))):
                what = f"'{text}' of {field.flag} is not in the sentence"
                yield _warning("PL11", literal, what, "leave it out, or take what the task says")


def _claims(literal: Literal) -> list[str]:
    """Return the parts of a value that have to be in the sentence: the whole value, or only the addresses in a text."""
    type, marks, text = literal.field.type, literal.field.marks, str(literal.value)
    if "verbatim" not in marks:
        text = " ".join(part for part in parse_template(text) if isinstance(part, str))
    is_text = type.choices or _is_read_by_model(literal) or marks & {"verbatim", *FORMS} or re.search(r"\s", text)
    if type.is_path or type.is_url or not (is_text and isinstance(literal.value, str)):
        return [text]
    kinds = ("url", "mail", *["number"] * _is_read_by_model(literal))
    return [each.text for each in values(text) if each.kind in kinds]


def _is_read_by_model(literal: Literal) -> bool:
    """Return True for a text that a model will read, such as a prompt, which may use other words than the sentence."""
    interface = literal.step.interface
    return "model" in interface.params and not (literal.field.type.is_path or "reads files" in interface.effects)


def _overwritten_files(given: list[Literal], sentence: str) -> Iterator[Finding]:
    """Warn if a path is read and then written, unless the sentence names it twice."""
    read: dict[str, str] = {}
    for literal in given:
        text, id = str(literal.value), literal.step.id
        path = posixpath.normpath(text)
        if not literal.field.type.is_path or literal.field.name in ("directory", "repo"):
            continue
        if "writes files" not in literal.step.interface.effects:
            read.setdefault(path, id)
        elif path in read and _plain(sentence).count(_plain(text)) < 2:
            what = f"'{id}' overwrites '{text}', which '{read[path]}' reads"
            yield _warning("PL07", literal, what, "another path, unless the task says so")


def _missing_programs(given: list[Literal]) -> Iterator[Finding]:
    for literal in [each for each in given if {"explicit", "verbatim"} <= each.field.marks]:
        for word in _COMMAND.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "''", str(literal.value))):
            # The shell is asked, because it knows its builtins and keywords, which are not on PATH.
            if subprocess.run(["/bin/sh", "-c", 'command -v "$0"', word], capture_output=True, check=False).returncode:
                what = f"it cannot run here: there is no program '{word}'"
                yield Finding(NO_PROGRAM, literal.place, what, "a node, or a program on PATH")


def _unasked_steps(wired: WiredFlow, given: list[Literal], sentence: str) -> Iterator[Finding]:
    """Find steps that do more than read files, and share no value and no word with the sentence.

    Only English sentences are compared: the words of nodes are English, so none is in a sentence in another language.
    """
    if len(COMMON.intersection(sentence.lower().split())) < _ENGLISH:
        return
    said, spoken = {*words(sentence)}, languages(sentence)
    named = {*spoken, *spoken.values(), *(text.lower() for _, text in values(sentence))}
    for id, step in wired.steps.items():
        own = [each for each in given if each.step is step]
        text = " ".join(str(each.value) for each in own if _is_read_by_model(each))
        about = f"{step.step.type} {step.interface.summary} {text}".replace("-", " ")
        is_command = any("verbatim" in each.field.marks for each in own)  # `wc -l` shares no word with "count lines"
        is_thinker = "model" in step.interface.params and not text
        is_idle = {"reads files"}.issuperset(step.interface.effects)
        is_action = not (is_idle or is_command or is_thinker or step.step.batch)
        if is_action and not (said & {*words(about)} or named & {str(each.value).lower() for each in own}):
            what = f"'{id}' has nothing that is in the sentence"
            yield Finding("PL13", step.step.location, what, "leave it out", is_warning=True)


def _repeated_steps(wired: WiredFlow, given: list[Literal]) -> Iterator[Finding]:
    """Find steps of one type with the same values, and prompts for work that an earlier node has done already."""
    seen: list[tuple[str, list[str]]] = []
    for step in _all_steps(wired):
        does = (step.step.type, [f"{each.field.name}={each.value}" for each in given if each.step is step])
        asked = {*words(" ".join(str(each.value) for each in given if each.step is step and _is_read_by_model(each)))}
        asked = asked and asked.difference({"text"}, languages(" ".join(asked)))
        is_done = any(asked and asked <= {*words(type.replace("-", " "))} for type, _ in seen)
        if (does in seen or is_done) and not step.inline:
            what = f"'{step.id}' does again what is done"
            yield Finding("PL13", step.step.location, what, "leave it out", is_warning=True)
        seen.append(does)


_FORMS = {
    "batch": "each|every|separately",
    "loop": "until",
    "branch": "otherwise|fails?",
    "thought": r"summar\w*|explain\w*|translat\w*|rewrite",
}
"""The words of an English sentence that ask for each form."""


def _missing_forms(wired: WiredFlow, sentence: str) -> Iterator[Finding]:
    """Find words that ask for a form which the flow does not have. A command or a saved flow may have it inside."""
    steps = [*_all_steps(wired)]
    if any("command" in step.interface.reads or is_flow_type(step.step.type) for step in steps):
        return
    ids, edges = [step.id for step in wired.flow.steps], wired.flow.edges
    thinks = any("model" in step.interface.params for step in steps)
    has = {
        "batch": not thinks or any(step.step.batch for step in steps),
        "loop": any(ids.index(edge.target) <= ids.index(edge.source) for edge in edges),
        "branch": any(edge.action != "default" for edge in edges),
        "thought": thinks,
    }
    for form in [form for form in _FORMS if not has[form]]:
        word = re.search(rf"\b({_FORMS[form]})\b", _VALUE.sub(" ", sentence), re.IGNORECASE)
        if word and not any({*words(word[0])} & {*words(step.step.type.replace("-", " "))} for step in steps):
            yield _warning("PL10", None, f"'{word[0]}' is in no step", "give the flow the form that it asks for")


def _guessed_word(flow: FlowSpec) -> Iterator[Finding]:
    """Warn of a word of which the model was not sure: 12 of 19 wrong plans had one, and 2 of 56 right ones."""
    if flow.guess:
        yield _warning("PL14", None, f"'{flow.guess}' is a guess", "say it in other words")


def _all_steps(wired: WiredFlow) -> Iterator[WiredStep]:
    """Yield the steps of a flow and of the flows inside them, except saved ones."""
    for step in wired.steps.values():
        yield step
        yield from _all_steps(step.inline) if step.inline is not None else ()


def _plain(text: str) -> str:
    """Return a text in lower case, with ~ for the home directory: in an input's default the ~ is expanded."""
    return re.sub(r"\s+", " ", text.replace(os.path.expanduser("~/"), "~/").replace("./", "").casefold())


def pruned(wired: WiredFlow) -> FlowSpec:
    """Return a flow without steps that only fetch something unused, if it is a plain chain. The last step stays."""
    flow, edges = wired.flow, [(edge.source, edge.target, edge.action) for edge in wired.flow.edges]
    is_chain = edges == [(*pair, "default") for pair in pairwise(step.id for step in flow.steps)]
    idle = [id for id in unused_steps(wired, {})[:-1] if _only_fetches(wired.steps[id])]
    if not (is_chain and idle) or flow.outputs:
        return flow
    flow = flow.copied()
    flow.document = None
    flow.steps = [step for step in flow.steps if step.id != idle[0]]
    flow.edges = [Edge(*pair) for pair in pairwise(step.id for step in flow.steps)]
    return pruned(wire(flow))


def _only_fetches(step: WiredStep) -> bool:
    """Return True for a step that reads nothing from the pipe, and has no effect but to fetch the values it writes."""
    effects, pipe = step.interface.effects, step.interface.pipe_read
    is_fed = pipe is not None and (pipe.name in step.sources or step.step.fills(pipe.name))
    return bool(effects) and ONLY_GIVES.issuperset(effects) and not (is_fed or step.step.batch or step.step.flow)
