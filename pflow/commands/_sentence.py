"""What a sentence is, for `pflow "SENTENCE"`: words, and not what was meant for a step or for pipe syntax."""

from __future__ import annotations

from pflow.catalog.kinds import list_kinds
from pflow.flow.pipe.recognize import is_misspelt_step, split_name
from pflow.flow.pipe.scan import separates
from pflow.interface.common import LETTERS
from pflow.words.naming import nearest


def is_sentence(text: str) -> bool:
    """Whether a text is one: a misspelt node is never sent to a model.

    A first word with a flag or a separator behind it begins a step, and so does `pflow` with such a one; words in
    quotes behind a misspelt node are its.
    """
    words = _words_of(text)
    begins_step = len(words) > 1 and (_is_flag(words[1]) or separates(words[1]) or is_misspelt_step(text))
    return len(words) > 1 and not begins_step


def _words_of(text: str) -> list[str]:
    """The words, without the `pflow` that a pasted command begins with."""
    words = text.split()
    return words[words[:1] == ["pflow"] :]


def _is_flag(word: str) -> bool:
    """Whether a word is a flag, and no dash of a sentence."""
    is_long = word.startswith("--") and word[2:3].isalpha()
    return is_long or (len(word) > 1 and word[0] == "-" and set(word[1:]) <= set(LETTERS))


def step_hint(text: str) -> str:
    """What to do with a text that is a slip away from one step of pipe syntax."""
    words = _words_of(text)
    near = nearest(split_name(words[0])[0], [kind.name for kind in list_kinds()])
    return f"did you mean {near}?" if near else ""
