"""A plan as pipe syntax that can be pasted back: its inputs stand in it as literals."""

from __future__ import annotations

from pflow.errors import BAD_DATA, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow

_JSON = "pflow plan prints its JSON, which says it all"


def as_literals(flow: Flow, values: dict[str, Any]) -> Flow:
    """The flow with each declared input replaced by its value, else by its default; without declared inputs.

    An input without either stays where it is read, and becomes one that no step writes; one that takes the pipe
    becomes `stdin`. A declared input stays, and with it all without a value, where only a path can stand: in what a
    batch runs over, among alternatives, as an output that is no text. Raises PflowError (65) for an input that a step
    writes too on some ways.
    """
    from pflow.plan.paste.literals import Literals

    return Literals(flow, values).replaced()


def pipe_of(flow: Flow, values: dict[str, Any]) -> str:
    """Its pipe syntax, which was parsed again and means the same. Raises PflowError (65) for what has no pipe form.

    Outputs are left out, and a comment says so.
    """
    from pflow.flow.pipe import parse_pipe, write_pipe
    from pflow.flow.wiring import wire
    from pflow.plan.paste.origins import different_origin

    _refuse_unsayable(flow)
    try:
        text = write_pipe(_without_outputs(as_literals(flow, values)))
    except ValueError as error:  # a mapping that is no path, in a flow that the rules refuse
        raise PflowError(f"cannot write the flow in pipe syntax: {error}", exit=BAD_DATA) from None
    if "\0" in text:
        raise PflowError("cannot write the flow in pipe syntax: it holds a NUL", hint=_JSON, exit=BAD_DATA)
    odd = different_origin(wire(flow), values, wire(parse_pipe([text], flow.catalog)))
    if odd:
        what = f"'{odd[1]}' of '{odd[0]}' would get something else"
        raise PflowError(f"cannot write the flow in pipe syntax: {what}", hint=_JSON, exit=BAD_DATA)
    return _said_of_outputs(flow) + text


def _without_outputs(flow: Flow) -> Flow:
    flow.outputs = {}
    return flow


def _refuse_unsayable(flow: Flow) -> None:
    """Raise PflowError (65) for a batch and for max_visits, in the words of who planned it."""
    for step in flow.steps:
        if step.batch is not None:
            why = f"'{step.id}' runs once for each of '{step.batch.over}' (a batch), which has no pipe form"
            raise PflowError(f"cannot write the flow in pipe syntax: {why}", hint=_JSON, exit=BAD_DATA)
        if step.max_visits is not None:
            why = f"the max_visits of '{step.id}' has no pipe form"
            raise PflowError(f"cannot write the flow in pipe syntax: {why}", hint=_JSON, exit=BAD_DATA)


def _said_of_outputs(flow: Flow) -> str:
    """A comment, which pasting back leaves out, for the outputs that pipe syntax has no words for."""
    if not flow.outputs:
        return ""
    from pflow.terminal.columns import clean, shorten

    said = "; ".join(f"{name} from {shorten(clean(source), 60)}" for name, source in flow.outputs.items())
    return f"# outputs, which pipe syntax leaves out: {' '.join(clean(said).split())}\n"
