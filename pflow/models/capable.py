"""Which model can plan: the one that was named for it, or llm's default; never the embedded one unasked."""

from __future__ import annotations

import os

from pflow.errors import BAD_CONFIG, PflowError
from pflow.models.choose import EMBEDDED, choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from llm import Model

VARIABLE = "PFLOW_PLAN_MODEL"
HINT = (
    f"--model or {VARIABLE} names one of `llm models`, `llm models default NAME` chooses one, "
    "`llm keys set openai` gives one its key"
)


class NoCapableModel(PflowError):
    """No model was named that could do an `act`, and llm's default cannot be used (78)."""

    def __init__(self, act: str, why: str) -> None:
        super().__init__(f"cannot {act}: {why}", hint=HINT, exit=BAD_CONFIG)


def choose_capable(name: str | None, act: str = "plan") -> Model:
    """The model called `name`, else the one of PFLOW_PLAN_MODEL, else the one that steps would ask.

    Raises PflowError (78): NoCapableModel, which names the `act`, where none was named and none will do.
    """
    meant = name or os.environ.get(VARIABLE)
    if meant:
        return choose(meant)
    named = os.environ.get("PFLOW_MODEL")
    try:
        model = choose(named or None)
    except PflowError as error:
        if named or not error.message.startswith(("cannot choose", "cannot import")):
            raise
        raise NoCapableModel(act, error.message) from error
    if is_small(model):
        raise NoCapableModel(act, f"the embedded model, {EMBEDDED}, is too small for it")
    return model


def is_small(model: Model) -> bool:
    """Whether it is the embedded model: it takes short questions, and a schema as large as a flow's slows each word."""
    return model.model_id == EMBEDDED
