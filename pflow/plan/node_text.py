"""A node as a model is told of it: in a line, or in all its items. Nothing secret, nothing that a person chooses."""

import re
from collections.abc import Callable
from typing import Any

from pflow.errors import shorten
from pflow.flow.wired import WiredFlow
from pflow.interface.account import account_of
from pflow.interface.interface import Interface, Item
from pflow.plan.limits import is_choice
from pflow.text.printable import clean
from pflow.values.jsontext import text_of
from pflow.values.secrets import MASK, hider, is_secret_name

Hide = Callable[[str], str]
"""Masks the secrets in a text."""

_LONGEST_DOC = 200
_NO_MARKS = str.maketrans("<>`", "\u2039\u203a'")

_GLOSS = 5
"""Words that say what a node does, in its line."""

_CUT = re.compile(r"[:;.,('\u2019]| by | as | with | without | that | which | through | at | between | including ")
_ARTICLES, _SMALL = {"a", "an", "the"}, {"of", "in", "from", "on", "to", "or", "and", "into"}


def node_line(name: str, interface: Interface, hide: Hide) -> str:
    """Return a node's name, the flags that the pipe does not fill, its actions, and a few words if the name needs any.

    `git-tag --name=: tag commit of git repository`
    """
    flags = [f"{item.flag}=" for item in interface.taken if _is_shown(item)]
    actions = [f"={each}=>" for each in interface.actions if each not in ("default", "error") and " " not in each]
    gloss = _gloss(name, _line(interface.summary, hide))
    return " ".join([name, *flags, *actions[:1]]) + (f": {gloss}" if gloss else "")


def _is_shown(item: Item) -> bool:
    """Return True for an item that a line needs: a required one that no pipe fills, or the words that are its own."""
    is_needed = item.required and "pipe" not in item.marks
    return not item.is_secret and (is_needed or (item.marks >= {"own", "word"} and item.is_textual))


def _gloss(name: str, summary: str) -> str:
    words = [word for word in _CUT.split(summary.strip())[0].split() if word not in _ARTICLES][:_GLOSS]
    while words and words[-1] in _SMALL:
        words.pop()
    known = {each + ending for each in re.split("[:-]", name) for ending in ("", "s", "es")} | _SMALL
    text = " ".join(words)
    return "" if {word.lower() for word in words} <= known else text[:1].lower() + text[1:]


def interface_text(name: str, interface: Interface, hide: Hide) -> str:
    """Return an interface in its docstring's words, a line an item, without what a person chooses; `hide` masks."""
    about = account_of(interface, lambda item: _is_choice(name, item))
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
    kinds = {step.step.type: step.interface for step in wired.steps.values() if step.kind is not None}
    hide = hider()
    return "\n\n".join(interface_text(type, interface, hide) for type, interface in kinds.items()) + "\n"


def _is_choice(name: str, item: Item) -> bool:
    """Return True for an item that a person chooses; an answer with it would only lose it again."""
    is_persons = item.kind == "param" and is_choice(name, item.name)
    return bool(item.env) or item.name == "allow_no_answer" or is_persons


def _item(name: str, item: dict[str, Any], hide: Hide) -> str:
    said = item.get("marks", ())
    is_hidden = item.get("default") is not None and ("secret" in said or is_secret_name(name))
    shown = MASK if is_hidden else "null" if item.get("default") is None else text_of(item["default"])
    default = f" = {shown}" if "default" in item else ""
    marks = "".join(f" [{mark}]" for mark in ("explicit", "verbatim", "secret") if mark in said)
    about = f"  # {_line(item['doc'], hide)}" if item["doc"] else ""
    return f"{name}: {item['type']}{_line(default, hide)}{marks}{about}"


def _line(text: str, hide: Hide) -> str:
    """Put somebody's words on one line, without marks that could be taken for the end of a part of the prompt."""
    return shorten(hide(clean(text)), _LONGEST_DOC).translate(_NO_MARKS)
