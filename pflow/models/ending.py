"""The end of a model's answer: why it ended, what in its text is not the answer, and if it can be used.

The table of judgements is in docs/llm.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from math import exp, log
from typing import Any

from llm import Model, Response

from pflow.errors import BAD_DATA, TRY_AGAIN, PflowError
from pflow.models.errors import AGAIN, hide_keys, unusable
from pflow.models.prices import MAX_TOKENS, limit_of
from pflow.text.printable import foreign_line
from pflow.values.usage import amount

COMPLETE, UNSAID, CUT, LIMIT = "complete", "unsaid", "cut", "limit"
FILTERED, BROKEN, CALL = "filtered", "broken", "call"

_REASONS = {
    LIMIT: "length max_tokens max_output_tokens model_context_window_exceeded model_length",
    FILTERED: "content_filter refusal safety recitation prohibited_content blocklist language other spii jailbreak "
    "image_safety image_prohibited_content image_other image_recitation model_armor blocked_reason_unspecified "
    "error_toxic",
    BROKEN: "error failed cancelled malformed_response missing_thought_signature no_image pause_turn "
    "insufficient_system_resource",
    CALL: "tool_calls tool_call function_call tool_use malformed_function_call unexpected_tool_call "
    "too_many_tool_calls",
}
_KINDS = {reason: kind for kind, reasons in _REASONS.items() for reason in reasons.split()}
"""The kind of end by its reason in small letters; with any other reason the answer is complete."""

_IN_JSON = ("finish_reason", "stop_reason", "finishReason", "done_reason", "blockReason")
"""The members with the reason: of OpenAI, llm-anthropic, llm-gemini, llm-ollama; Gemini's for a refused question."""

_EXPLAIN = ("explanation", "finishMessage", "blockReasonMessage")
"""The members with the provider's words about the reason."""

_SHAPES = ("chat.completion", "text_completion", "message")
"""The beginnings of the `object` or `type` of answers that state a reason when they are complete."""

_SAY_END = ("llm_anthropic", "llm_gemini", "llm_ollama")
"""The plugins that keep the reason of every complete answer."""

_LOCAL = ("echo", "gguf", "gpt4all", "llama_cpp", "markov", "mlc", "mlx", "smollm2", "transformers")
"""The plugins, without `llm_`, whose models run in this process: no connection can cut their answers."""

_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
"""The members of a message in which servers send thoughts; the openai client knows none of them."""


_UNSURE = log(0.05)
"""A token below this log-probability was forced by the grammar: the model would have preferred a forbidden one."""


class Ending:
    """The end of an answer: the `reason` for it, a `refusal` in place of a text, and the provider's `words` about it.

    `note` reads the answers that come through a client of pflow.models.client, and `read` those of any other plugin. An
    answer without a reason was cut if the plugin's complete answers state a reason (`says_end`); otherwise a stream
    may or may not have been cut.

    `tool` is the tool that the answer wants to call; `has_reasoned` is true if thoughts came beside the text. `sent`
    has the request's members, and `refused` is the member that a server's error names (pflow.models.request_form).
    pflow.models.transport sets `headers`, and `error` for a bad status, and ends the request after `time_limit`
    seconds. `tokens` has pairs of a token and its log-probability, if the request asked for them, and `first_tokens`
    the probability of each token with which the answer could have begun.
    """

    def __init__(self, model: Any = None, time_limit: float | None = None) -> None:
        self.reason: str | None = None
        self.refusal = self.words = self.tool = self.refused = ""
        self.has_reasoned = False
        self.usage: dict[str, Any] = {}
        plugin = type(model).__module__.partition(".")[0]
        self.says_end = plugin in _SAY_END
        self.is_stream = bool(getattr(model, "can_stream", False)) and plugin.removeprefix("llm_") not in _LOCAL
        self.headers: Mapping[str, str] = {}
        self.error: Any = None
        self.sent: list[str] = []
        self.tokens: list[tuple[str, float]] = []
        self.first_tokens: dict[str, float] = {}
        self.time_limit = time_limit

    @property
    def kind(self) -> str:
        if self.reason is None:
            return CUT if self.says_end else UNSAID if self.is_stream else COMPLETE
        return _KINDS.get(str(self.reason).lower(), COMPLETE)

    @property
    def guess(self) -> str:
        """The word of the answer that holds the least likely token; empty if the model was sure of all."""
        text, at, least = "", 0, _UNSURE
        for token, logprob in self.tokens:
            if logprob < least:
                at, least = len(text) + len(token), logprob
            text += token
        return next((word[0] for word in re.finditer(r"\S+", text) if at and word.end() >= at), "")

    def _note_tokens(self, tokens: Iterable[tuple[str, float, Iterable[Any]]]) -> None:
        for token, logprob, others in tokens:
            if not self.tokens:
                self.first_tokens = {each["token"]: exp(each["logprob"]) for each in others}
            self.tokens.append((token, logprob))

    def read(self, answer: Any) -> None:
        """Read the end from llm's `response_json`, unless `note` has found a reason."""
        if self.reason is not None or not isinstance(answer, dict):
            return
        self._note_tokens([(each["token"], each["logprob"], each["top_logprobs"]) for each in answer.get("tokens", [])])
        first: Any = next((answer[key][0] for key in ("choices", "candidates") if answer.get(key)), {})
        for said in (answer, first, answer.get("promptFeedback"), answer.get("stop_details")):
            if isinstance(said, dict):
                self.reason = _text_in(said, _IN_JSON) or self.reason
                self.words = _text_in(said, _EXPLAIN) or self.words
        # Older versions of Ollama give no reason, and only say that they are done.
        self.reason = self.reason or ("stop" if answer.get("done") is True else None)
        self.words = self.words or (str(self.reason) if self.kind in (FILTERED, BROKEN) else "")
        self.says_end = self.says_end or str(answer.get("object") or answer.get("type")).startswith(_SHAPES)
        self.usage = answer["usage"] if isinstance(answer.get("usage"), dict) else self.usage

    def note(self, said: Any) -> None:
        """Note the ending that is in an answer, a chunk of a stream or an event of OpenAI's newer protocol."""
        event = getattr(said, "type", None)
        if event == "error":
            self.reason = "error"
        elif event == "response.refusal.delta":
            self.refusal += said.delta
        for choice in (getattr(said, "choices", None) or [])[:1]:
            message = getattr(choice, "delta", None) or getattr(choice, "message", None)
            self.reason = getattr(choice, "finish_reason", None) or self.reason
            self.refusal += getattr(message, "refusal", None) or ""
            self.tool = self.tool or _tool_of(message)
            more = getattr(message, "model_extra", None) or {}
            likely = getattr(getattr(choice, "logprobs", None), "content", None) or []
            self._note_tokens([(each.token, each.logprob, map(dict, each.top_logprobs or [])) for each in likely])
            self.has_reasoned = self.has_reasoned or any(more.get(name) for name in _REASONING)
        response = getattr(said, "response", said)
        status = getattr(response, "status", None)
        if status == "incomplete":
            self.reason = getattr(response.incomplete_details, "reason", None) or "max_output_tokens"
        elif status in ("completed", "failed", "cancelled"):
            self.reason = status
        usage: Any = getattr(response, "usage", None)
        if hasattr(usage, "model_dump"):
            try:
                self.usage = usage.model_dump(warnings="error")
            except ValueError:  # a count is not a number; drop it before llm dumps it and pydantic warns the user
                self.usage, response.usage = usage.model_dump(warnings=False), None
        elif usage:  # llm expects an object, and would fail for anything else
            response.usage = None


def _text_in(said: dict[str, Any], members: tuple[str, ...]) -> str:
    return next((said[name] for name in members if isinstance(said.get(name), str)), "")


def _tool_of(message: Any) -> str:
    """Return the tool that a message, or a chunk of one, calls."""
    calls = getattr(message, "tool_calls", None)
    found: list[Any] = [getattr(message, "function_call", None)]
    found += [getattr(calls[0], name, None) for name in ("function", "custom")] if calls else []
    names = [each.get("name") if isinstance(each, dict) else each.name for each in found if each is not None]
    return next(filter(None, names), "")


def check_ending(ending: Ending, response: Response, model: Model, text: str) -> None:
    """Raise PflowError for an answer that was cut (75), broke off (75) or was refused by the protocol (1)."""
    ending.read(response.response_json)
    # Not by llm's own tool_calls(): if the plugin has failed after the end, that would ask the model again.
    ending.tool = ending.tool or next((call.name or "?" for call in response._tool_calls), "")
    words = foreign_line(hide_keys(ending.words or ending.refusal, model))
    said = f": {words}" if words else ""
    if ending.kind == CUT:
        what = "it was cut off" if text else "it did not come"
        raise unusable(model, what, AGAIN if text else "is the server's address right?", exit=TRY_AGAIN)
    if ending.kind == BROKEN:
        raise unusable(model, f"the provider failed{said}", exit=TRY_AGAIN)
    if ending.kind == FILTERED or (ending.refusal and not text):
        raise PflowError(f"cannot get an answer from '{model.model_id}': it refused{said}", is_permanent=True)


def no_answer(
    ending: Ending, response: Response, model: Model, text: str, wanted: Mapping[str, Any]
) -> PflowError | None:
    """Return why a complete answer cannot be used, else None. `wanted` are the options that a person set."""
    ending.tool = ending.tool or called_in(text, is_cut=ending.kind == LIMIT)
    if ending.tool or (ending.kind == CALL and not text):
        return called_tool(ending, model)
    if text:
        return None
    has_reasoned = ending.has_reasoned or any(event.type == "reasoning" for event in response._stream_events)
    has_reasoned = has_reasoned or bool(visible("".join(response._chunks)))  # the text itself was thoughts
    if ending.kind == LIMIT:
        whose = _tokens(response, wanted, amount(response.output_tokens) or amount(ending.usage.get("output_tokens")))
        what = f"{whose} went into reasoning" if has_reasoned else f"it has no text, and {whose} are used up"
        return unusable(model, what, "--max-tokens sets a higher limit", exit=BAD_DATA, is_permanent=True)
    if has_reasoned:
        hint = f"{AGAIN}; if it is always so, the server takes the answer for reasoning"
        return unusable(model, "it is all reasoning, and has no text", hint, exit=BAD_DATA)
    return unusable(model, "it has no text", AGAIN, exit=TRY_AGAIN)


def called_tool(ending: Ending, model: Model) -> PflowError:
    """Return the failure of an answer that calls a tool."""
    tool = f"the tool '{foreign_line(ending.tool)}'" if ending.tool.strip("?") else "a tool"
    what = f"it wants to call {tool}, and pflow gave it none"
    return unusable(model, what, "ask in other words, or another model", exit=BAD_DATA, is_permanent=True)


def _tokens(response: Response, wanted: Mapping[str, Any], used: int | None) -> str:
    """Return words for the tokens of an answer that reached its limit, and for what set that limit."""
    limit = limit_of(vars(response.prompt.options))
    if limit is None or (used and used < limit):
        return f"its {used:,} tokens" if used else "all its tokens"
    name = next((name for name in MAX_TOKENS if name in wanted), "")
    whose = f"--option={name}" if name else "the model's usual limit"
    return f"the {limit:,} tokens of {'--max-tokens' if name == MAX_TOKENS[0] else whose}"


# Thoughts stand in the text if a server has no parser for reasoning. These are the marks of DeepSeek, Qwen, Gemini,
# Magistral, Seed, Kimi, gpt-oss, Gemma 4, and of models that were told to think aloud.
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
_UNSEEN = re.compile(  # an answer of these alone shows nothing: Default_Ignorable_Code_Point, controls, empty Braille
    r"(?:[\s\0-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f"
    rf"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]+|{'|'.join(map(re.escape, _ENDS))})*"
)

# A call stands in the text if a server has no parser for its model: Hermes, Qwen, GLM, Granite, Phi, LFM, Kimi, Gemma,
# Mistral, Llama, DeepSeek and others each write it in their own way.
_CALL = re.compile(
    r"<[|｜]?(?:\w+:)?(?:tool[_▁-]?(?:calls?|use|code)|(?:start_)?function_calls?|python_tag|START_ACTION"
    r"|action_start|DSML)[\w▁]*[|｜>]|<function=|<invoke name=|\[TOOL_CALLS\]|<\|channel\|>commentary to=|functools\["
    r"|```tool_(?:code|call)\n",
    re.IGNORECASE,
)
_TOOL = re.compile(r'name"?\s*[:=]\s*"([^"]+)"|(?:function=|functions\.|calls?>|CALLS\]|sep｜>)\s*(?:call:)?([\w.-]+)')


def without_thoughts(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts of an answer that follow its thoughts, and an empty part in place of each earlier one.

    A text without visible characters, or whose thoughts do not end, gives only empty parts. Marks further inside the
    text are the user's data.
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
        yield head.lstrip() if has_thought else head  # the whole text looked like the beginning of a mark


def visible(text: str) -> str:
    """Return a text without the invisible characters and end marks before its first word."""
    return _UNSEEN.sub("", text, count=1)


_DATA = re.compile(r"""^[ \t]*(```|~~~).*?^[ \t]*\1|`[^`\n]+`|"[^"\n]*\"""", re.MULTILINE | re.DOTALL)
_CLOSING = "|".join(map(re.escape, _MARKS.values()))
_END = re.compile(
    rf"""(?:^|(?<![\s`'"(\[]))(?:{_CLOSING})(?![`'")\]])|(?<=\s)(?:{_CLOSING})(?=[ \t]*$)""",
    re.MULTILINE | re.IGNORECASE,
)


def after_thoughts(text: str) -> str:
    """Return the text after thoughts without an opening mark, which some servers count as a part of the question.

    A closing mark within a sentence, in quotes or in code does not count, nor one whose opening mark is in the text.
    """
    words = _DATA.sub(lambda data: "_" * len(data[0]), text)
    end = _END.search(words)
    is_meant = end and _OPENINGS[end[0].lower()] not in words.lower()
    return visible(text[end.end() :]) if end and is_meant else text


def called_in(text: str, *, is_cut: bool) -> str:
    """Return the tool that a text calls, "?" if it names none; "" for a text that is more than a call."""
    if not _CALL.match(visible(text)) or not (is_cut or text.rstrip().endswith((">", "]", "}", ")", "`"))):
        return ""
    tool = _TOOL.search(text)
    return tool[1] or tool[2] if tool else "?"
