"""Planning one sentence of the evaluation: in this process, afresh, with the evaluation's nodes and its own cache."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from pflow.errors import BAD_CONFIG, BUG, PflowError
from tests.eval.score import score

HERE = Path(__file__).parent
_OWN = ("PFLOW_NODES", "XDG_DATA_HOME", "XDG_CACHE_HOME", "PATH")


class NodeSet:
    """The environment in which there are the bundled nodes, those of nodes/, the saved flows of share/, no other."""

    def __enter__(self) -> NodeSet:
        from pflow.catalog.kinds import forget_kinds

        self._before = {name: os.environ.get(name) for name in _OWN}
        self._cache = tempfile.TemporaryDirectory(prefix="pflow-eval-")
        values = (str(HERE / "nodes"), str(HERE / "share"), self._cache.name, self._cache.name)
        os.environ.update(zip(_OWN, values, strict=True))
        forget_kinds()
        return self

    def __exit__(self, *error: object) -> None:
        from pflow.catalog.kinds import forget_kinds

        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._cache.cleanup()
        forget_kinds()


class NoModel(Exception):
    """No model can plan, or none has that name (78): it would be so for every sentence. Its args: what, and a hint."""


def plan_entry(entry: dict[str, Any], model: str | None, timeout: float, most_tries: int = 3) -> dict[str, Any]:
    """What came of a sentence, scored. Raises NoModel; whatever else goes wrong is in `error`."""
    from pflow.plan.planner import Unplannable, plan_sentence

    responses = _watch_responses()
    started, flow, error, tries, findings = time.monotonic(), None, None, None, []
    why = ""
    try:
        planned = plan_sentence(entry["sentence"], model=model, fresh=True, timeout=timeout, tries=most_tries)
        flow, tries, findings = planned.flow, planned.tries, planned.findings
    except Unplannable as unplannable:
        tries, findings, why = unplannable.tries, unplannable.findings, unplannable.message.partition("; ")[2]
    except PflowError as failure:
        if failure.exit == BAD_CONFIG:
            raise NoModel(failure.message, failure.hint) from None
        error = failure
    except Exception as bug:
        error = PflowError(f"a bug in pflow: {bug!r}", exit=BUG)
    scored = score({**entry, "flows": entry["flows"] or ["llm"]} if error else entry, flow)
    return {
        "sentence": entry["sentence"],
        "right": scored.right,
        "differs": [why] if why and scored.differs else scored.differs,
        "tries": tries,
        "findings": [each.rule + "?" * each.is_warning for each in findings],
        "error": error.message if error else "",
        "exit": error.exit if error else 0,
        "seconds": time.monotonic() - started,
        "tokens": _tokens(responses),
        "is_refusal": not entry["flows"],
        "flow": _ir(flow),
    }


def _ir(flow: Any) -> dict[str, Any] | None:
    from pflow.flow.unload import flow_to_ir

    return flow_to_ir(flow) if flow is not None else None


def _watch_responses() -> list[Any]:
    """The responses of the model from now on, as llm sees them."""
    from pflow.models import talk

    responses: list[Any] = []
    send = getattr(talk.Talk, "_unwatched", talk.Talk._send)

    def watched(self: Any, *args: Any) -> Any:
        responses.append(send(self, *args))
        return responses[-1]

    talk.Talk._unwatched = send  # type: ignore[attr-defined]
    talk.Talk._send = watched  # type: ignore[method-assign]
    return responses


def _tokens(responses: list[Any]) -> tuple[int, int] | None:
    """How many tokens went in and came out, where the provider says it of every answer."""
    counts = [(each.input_tokens, each.output_tokens) for each in responses]
    if not counts or any(number is None for pair in counts for number in pair):
        return None
    return sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)
