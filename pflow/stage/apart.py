"""Run a node in a child process that sends back only data: changes, action, usage, and how it failed."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any
from pflow.binding.store import REMOVED, NodeStore
from pflow.errors import FAILED, Attempt, PflowError, Within
from pflow.process.confine import restrict, shut_files
from pflow.process.loop import run_all
from pflow.process.signals import ClosedPipe, Interrupted
from pflow.values.jsontext import plain

if TYPE_CHECKING:
    from pflow.process.worker import Parent

_SAID = ("warning", "not_kept")
"""The attributes that a node sets to report on its last result."""

_OF_FAILURE = ("retry_after", "is_permanent", "details", "usage", "is_cut", "refusal", "status", "ends_run")
_OF_VISIT = ("tries", "tried", "asked")
"""The members of a trace entry that a child may set. The parent sets the node's name, or a child could forge it."""
_MAY_ASK = ("claim", "begin", "reserved", "end", "spent")
"""The requests that a stranger's node may send to the run. None of them writes to the journal."""


def act_apart(runner: Any, node: Any, view: NodeStore, visit: Any) -> Any:
    """Run a node in a child process, as a NodeRunner does in this one, and return its action."""
    confinement = getattr(node, "confinement", None)
    is_foreign = confinement is not None and confinement.is_on
    sink = runner.sink()

    def serve(number: int, parent: Parent) -> Any:
        if is_foreign or runner.is_restricted:  # Landlock does not restrict files that are already open
            shut_files(parent.fd)
        if runner.is_restricted:
            restrict()
        runner.enter_child(parent)
        found: dict[str, Any] = {"action": None, "changes": {}, "removed": [], "failure": None}
        try:
            action = runner.act_here(node, view, visit)
            found["action"] = action if action is None else str(action)
        except (Interrupted, ClosedPipe):
            raise
        except BaseException as error:
            found["failure"] = _told(runner.as_failure(error))
        return _result(runner, node, view, visit, found)

    def ask(name: str, question: Any, reply: Any) -> None:
        may_ask = not is_foreign or (name in _MAY_ASK and has_no_negatives(question))
        runner.answer(name, question, reply) if may_ask else reply(None)

    [found] = run_all(1, serve, take=sink or (lambda part: None), ask=ask, is_foreign=True)
    kinds = (TypeError, KeyError, ValueError, AttributeError)
    with Attempt(f"cannot take the result of '{runner.id}'", of=kinds):
        return _take(found, node, view, visit)


def has_no_negatives(question: Any) -> bool:
    """Return True if no number in a request is negative or NaN: spending a negative amount would raise the budget."""
    if isinstance(question, dict | list | tuple):
        return all(map(has_no_negatives, question.values() if isinstance(question, dict) else question))
    return not isinstance(question, int | float) or question >= 0


def _result(runner: Any, node: Any, view: NodeStore, visit: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Return the child's report to its parent, as plain values."""
    for key, value in view.changes(runner.binding.is_watched).items():
        if value is REMOVED:
            found["removed"].append(key)
            continue
        try:
            with Within(f"cannot store '{key}'"):
                found["changes"][f"{key}"] = plain(value)
        except PflowError as error:
            found["failure"] = found["failure"] or _told(error)
    found |= {"reads": view.reads, "asked": [*view.asked], "dropped": view.dropped}
    found |= {"more": visit.more, "spent": visit.spent}
    found |= {name: f"{getattr(node, name, '') or ''}" for name in _SAID}
    return {key: value if key == "changes" else plain(value) for key, value in found.items()}


def _told(error: PflowError) -> dict[str, Any]:
    about = {"message": error.message, "hint": error.hint, "exit": error.exit}
    return about | {name: getattr(error, name) for name in _OF_FAILURE}


def _take(found: dict[str, Any], node: Any, view: NodeStore, visit: Any) -> Any:
    """Repeat on this view the changes that the node made in the child. If it failed, raise its PflowError."""
    changes = {**found["changes"]}
    found = {key: plain(value) for key, value in found.items() if key != "changes"}  # a stranger's process sent them
    visit.more = {name: found["more"][name] for name in _OF_VISIT if name in found["more"]}
    visit.spent = [{**usage} for usage in found["spent"]]
    for key, value in changes.items():
        view[str(key)] = value
    for key in found["removed"]:
        view.pop(key, None)
    view.reads, view.asked, view.dropped = {**found["reads"]}, {*found["asked"]}, [*found["dropped"]]
    vars(node).update({name: str(found[name]) for name in _SAID})
    if failure := found["failure"]:
        exit = int(failure["exit"])
        # A child that claims exit code 0 would turn its failure into a success.
        error = PflowError(str(failure["message"]), hint=str(failure["hint"]), exit=exit if 0 < exit < 256 else FAILED)
        usage, details = failure["usage"] and {**failure["usage"]}, {**failure["details"]}
        vars(error).update({name: failure[name] for name in _OF_FAILURE} | {"usage": usage, "details": details})
        raise error
    return found["action"] if found["action"] is None else str(found["action"])
