"""A model's thoughts in front of its answer, which are not part of it."""

import re
from collections.abc import Iterable, Iterator

# As models write them through servers without a parser for reasoning: DeepSeek, Qwen, Gemini, Magistral, Seed, Kimi,
# gpt-oss, Gemma 4, and models that were told to think aloud.
_NAMES = ("think", "thinking", "thought", "reasoning", "reason", "seed:think")
_MARKS = {f"<{name}>": f"</{name}>" for each in _NAMES for name in (each, each.capitalize())} | {
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel|>analysis<|message|>": "<|channel|>final<|message|>",
    "<|channel>": "<channel|>",
}


def without_thoughts(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts of an answer from its first word after any thoughts on; an empty part for each before.

    A text of white space, or whose thoughts do not end, has no words. Marks within a text are the user's data.
    """
    head = closing = ""
    speaks = has_thought = False
    for part in parts:
        if speaks:
            yield part
            continue
        head += part
        while not speaks:
            if closing:
                at = head.find(closing)
                if at < 0:
                    head = head[-len(closing) :]
                    break
                head, closing, has_thought = head[at + len(closing) :], "", True
            text = head.lstrip()
            start = text[:_LONGEST]
            opening = next((mark for mark in _MARKS if start.startswith(mark)), "")
            if opening:
                head, closing = text[len(opening) :], _MARKS[opening]
            elif start and not any(mark.startswith(start) for mark in _MARKS):
                head, speaks = text if has_thought else head, True
            else:
                break
        yield head if speaks else ""
    if not speaks and not closing and head.strip():
        yield head.lstrip() if has_thought else head  # a beginning like that of a mark


_LONGEST = max(map(len, _MARKS))

_END = re.compile(r"""(^|(?<![\s`'"(\[]))</think>(?![`'")\]])""", re.MULTILINE)


def after_thoughts(text: str) -> str:
    """Return the text after thoughts that lack their opening mark, which some servers take for a part of the question.

    A closing mark within a sentence, or in quotes, is not meant, nor one with an opening mark anywhere.
    """
    end = None if "<think>" in text else _END.search(text)
    return text[end.end() :].lstrip() if end else text
