"""A finding's place as a JSON pointer (RFC 6901): `nodes[1].params.model` is /nodes/1/params/model."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.flow import Flow


def pointer(place: str, flow: Flow | None) -> str:
    """The pointer into the flow's document; to the step, for a place in its subflow; "" for the document as a whole.

    What it leads to may be a member that is not there yet.
    """
    if flow is None or (place == "words" and flow.dialect == "pipe"):
        return ""
    parts = _parts(place, _odd_names(flow))
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _odd_names(flow: Flow) -> list[str]:
    """The names in a flow that hold a sign of the places' own, the longest first."""
    names = {*flow.inputs, *flow.outputs}
    for step in flow.steps:
        names |= {step.id, *step.params, *step.inputs, *step.input_mappings, *step.output_mappings}
        names |= {key for value in step.params.values() if isinstance(value, dict) for key in value}  # older dialects'
    return sorted((name for name in names if set(name) & set(".[/")), key=len, reverse=True)


def _parts(place: str, odd: list[str]) -> Iterator[str]:
    """The keys and numbers of a place, until it goes into a subflow."""
    rest = place
    while rest:
        if rest[0] == "/":
            return
        part, rest = _bracketed(rest) if rest[0] == "[" else _named(rest.removeprefix("."), odd)
        yield part


def _bracketed(rest: str) -> tuple[str, str]:
    """A number or a quoted key in brackets, and what is behind them."""
    if rest[1:2] != '"':
        part, _, after = rest[1:].partition("]")
        return part, after
    from pflow.scanner import scanstring

    try:
        part, end = scanstring(rest, 2)
    except ValueError:
        return rest[2:], ""
    return part, rest[end + 1 :]


def _named(rest: str, odd: list[str]) -> tuple[str, str]:
    for name in odd:
        if rest.startswith(name) and rest[len(name) : len(name) + 1] in ("", ".", "["):
            return name, rest[len(name) :]
    end = min((at for sign in ".[/" if (at := rest.find(sign)) >= 0), default=len(rest))
    return rest[:end], rest[end:]
