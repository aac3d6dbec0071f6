"""The judgement of an answer by its end: it broke off, was refused, or has no text (the table is in docs/llm.md)."""

from collections.abc import Mapping
from typing import Any

from llm import Model, Response

from pflow.errors import BAD_DATA, TRY_AGAIN, PflowError
from pflow.models.ending import BROKEN, CALL, CUT, FILTERED, LIMIT, Ending
from pflow.models.errors import AGAIN, hide_keys, unusable
from pflow.models.prices import MAX_TOKENS, limit_of
from pflow.models.thoughts import called_in, visible
from pflow.text.printable import one_line
from pflow.values.usage import amount


def check_ending(ending: Ending, response: Response, model: Model, text: str) -> None:
    """Raise PflowError for an answer that was cut (75), broke off (75) or was refused by the protocol (1)."""
    ending.read(response.response_json)
    # llm's own methods would ask again if the plugin failed after the end.
    ending.tool = ending.tool or next((call.name or "?" for call in response._tool_calls), "")
    words = one_line(hide_keys(ending.words or ending.refusal, model))
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
    """Return why a whole answer has nothing to use; else None. `wanted` are the options that a person set."""
    ending.tool = ending.tool or called_in(text, is_cut=ending.kind == LIMIT)
    if ending.tool or (ending.kind == CALL and not text):
        return called_tool(ending, model)
    if text:
        return None
    has_reasoned = ending.has_reasoned or any(event.type == "reasoning" for event in response._stream_events)
    has_reasoned = has_reasoned or bool(visible("".join(response._chunks)))  # thoughts, which were taken out
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
    tool = f"the tool '{one_line(ending.tool)}'" if ending.tool.strip("?") else "a tool"
    what = f"it wants to call {tool}, and pflow gave it none"
    return unusable(model, what, "ask in other words, or another model", exit=BAD_DATA, is_permanent=True)


def _tokens(response: Response, wanted: Mapping[str, Any], used: int | None) -> str:
    """Name the tokens of an answer that reached its limit, and who set that."""
    limit = limit_of(vars(response.prompt.options))
    if limit is None or (used and used < limit):
        return f"its {used:,} tokens" if used else "all its tokens"
    name = next((name for name in MAX_TOKENS if name in wanted), "")
    whose = f"--option={name}" if name else "the model's usual limit"
    return f"the {limit:,} tokens of {'--max-tokens' if name == MAX_TOKENS[0] else whose}"
