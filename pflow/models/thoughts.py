"""What is not the answer in a model's text: thoughts before it, what nobody sees, marks of its end, calls of tools."""

import re
from collections.abc import Iterable, Iterator

# As models write them through servers without a parser for reasoning: DeepSeek, Qwen, Gemini, Magistral, Seed, Kimi,
# gpt-oss, Gemma 4, and models that were told to think aloud.
_NAMES = ("think", "thinking", "thought", "reasoning", "reason", "seed:think")
_MARKS = {f"<{name}>": f"</{name}>" for name in _NAMES} | {
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel|>analysis<|message|>": "<|channel|>final<|message|>",
    "<|channel>": "<channel|>",
}
_OPENINGS = {closing.lower(): mark.lower().rstrip(">") for mark, closing in _MARKS.items()}
_TAG = re.compile(r"\A(<[A-Za-z:]+)(?:\s[^<>]{0,200})?")

_TOKENS = "im_end endoftext end_of_text eot_id eom_id end eot return end_of_turn END_OF_TURN_TOKEN"
_ENDS = [f"<|{name}|>" for name in _TOKENS.split()]
_ENDS += ["</s>", "<eos>", "<pad>", "<end_of_turn>", "<turn|>", "<｜end▁of▁sentence｜>"]
_UNSEEN = re.compile(  # Unicode's Default_Ignorable_Code_Point, controls, and the empty cell of Braille
    r"(?:[\s\0-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f"
    rf"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]+|{'|'.join(map(re.escape, _ENDS))})*"
)

# Calls of tools, as Hermes, Qwen, GLM, Granite, Phi, LFM, Kimi, Gemma, Mistral, Llama, DeepSeek and others write them.
_CALL = re.compile(
    r"<[|｜]?(?:\w+:)?(?:tool[_▁-]?(?:calls?|use|code)|(?:start_)?function_calls?|python_tag|START_ACTION"
    r"|action_start|DSML)[\w▁]*[|｜>]|<function=|<invoke name=|\[TOOL_CALLS\]|<\|channel\|>commentary to=|functools\["
    r"|```tool_(?:code|call)\n",
    re.IGNORECASE,
)
_TOOL = re.compile(r'name"?\s*[:=]\s*"([^"]+)"|(?:function=|functions\.|calls?>|CALLS\]|sep｜>)\s*(?:call:)?([\w.-]+)')


def without_thoughts(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts of an answer from its first word after any thoughts on; an empty part for each before.

    A text of nothing visible, or whose thoughts do not end, has no words. Marks within a text are the user's data.
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
                end = re.search(re.escape(closing), head, re.IGNORECASE)
                if end is None:
                    head = head[-len(closing) :]
                    break
                head, closing, has_thought = head[end.end() :], "", True
            text = visible(head)
            start = _TAG.sub(lambda tag: tag[1].lower(), text)
            opening = next((mark for mark in _MARKS if start.startswith(mark)), "")
            if opening:
                head, closing = start[len(opening) :], _MARKS[opening]
            elif start and not any(mark.startswith(start) for mark in (*_MARKS, *_ENDS)):
                head, speaks = text if has_thought else head, True
            else:
                break
        yield head if speaks else ""
    if not speaks and not closing and visible(head):
        yield head.lstrip() if has_thought else head  # a beginning like that of a mark


def visible(text: str) -> str:
    """Return a text without what nobody sees, and without marks of an end, before its first word."""
    return _UNSEEN.sub("", text, count=1)


_DATA = re.compile(r"""^[ \t]*(```|~~~).*?^[ \t]*\1|`[^`\n]+`|"[^"\n]*\"""", re.MULTILINE | re.DOTALL)
_CLOSING = "|".join(map(re.escape, _MARKS.values()))
_END = re.compile(
    rf"""(?:^|(?<![\s`'"(\[]))(?:{_CLOSING})(?![`'")\]])|(?<=\s)(?:{_CLOSING})(?=[ \t]*$)""",
    re.MULTILINE | re.IGNORECASE,
)


def after_thoughts(text: str) -> str:
    """Return the text after thoughts that lack their opening mark, which some servers take for a part of the question.

    A closing mark within a sentence, in quotes or in code is not meant, nor one with its opening mark anywhere.
    """
    words = _DATA.sub(lambda data: "_" * len(data[0]), text)
    end = _END.search(words)
    is_meant = end and _OPENINGS[end[0].lower()] not in words.lower()
    return visible(text[end.end() :]) if end and is_meant else text


def called_in(text: str, *, is_cut: bool) -> str:
    """Return the tool that a text calls, ? if it does not name one; "" for a text that is not a call alone."""
    if not _CALL.match(visible(text)) or not (is_cut or text.rstrip().endswith((">", "]", "}", ")", "`"))):
        return ""
    tool = _TOOL.search(text)
    return tool[1] or tool[2] if tool else "?"
