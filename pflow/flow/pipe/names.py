"""Names of steps: the type and the id that stand in a step's first word, and the id of a step without one."""

from __future__ import annotations

from pflow.catalog.flows import is_flow_type, saved_flow
from pflow.catalog.kinds import find_kind
from pflow.flow.build import id_after
from pflow.paths import is_step_name


def split_name(word: str) -> tuple[str, str | None]:
    """The type and the id of `llm`, `llm:draft`, `flow:NAME:id` and `./x.pflow.json:id`; None where it has no id."""
    scheme = "flow:" if word.startswith("flow:") else ""
    type, colon, id = word.removeprefix(scheme).rpartition(":")
    if not colon or (is_flow_type(word) and not scheme and not is_step_name(id)):
        return word, None
    return scheme + type, id


def full_type(type: str) -> str:
    """The type that a name in pipe syntax stands for: a node's, else a saved flow's as `flow:NAME`."""
    if is_flow_type(type) or find_kind(type) is not None:
        return type
    return f"flow:{type}" if saved_flow(type) else type


def free_id(type: str, taken: set[str]) -> str:
    """The id of a step without one: `llm`, then `llm-2`; `fix` for `flow:fix` and `./fix.pflow.json`."""
    base = id_after(type, set())
    if not is_step_name(base):
        base = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in base).strip("-")
        base = base if is_step_name(base) else f"step-{base}".rstrip("-")
    return id_after(base, taken)
