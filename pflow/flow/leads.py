"""The references that paths and URLs begin with: these choose a directory, or a host."""

from __future__ import annotations

from pflow.binding.sources import DIRECTORY, HOST, chosen_by_lead
from pflow.flow.wired import Reference, WiredFlow


def led_by_data(flow: WiredFlow, id: str, key: str) -> str:
    """Return what a step's write, an item or stdin chooses, as the beginning of the path or URL of a read or param."""
    found = (each for each in flow.references_to(id, key) if each.input in (None, "stdin") or each.writes)
    led = (_led(flow, each) for each in found)
    return next(filter(None, led), "")


def led_by_input(flow: WiredFlow, name: str) -> str:
    """Return what an input chooses, as the beginning of a path or a URL; empty if it begins neither."""
    led = {_led(flow, each) for each in flow.references if each.input == name}
    return next((what for what in (DIRECTORY, HOST) if what in led), "")


def begins_url(flow: WiredFlow, name: str) -> bool:
    """Return True if a template of a URL begins with this input, also in a flow inside."""
    templates = [each for each in flow.references if each.input == name and each.part.is_template]
    readers = flow.inputs[name].readers if name in flow.inputs else ()
    inside = ((flow.steps[id].subflow, key) for id, key in readers)
    is_inside = (each is not None and begins_url(each, key) for each, key in inside)
    return any(_led(flow, each) == HOST for each in templates) or any(is_inside)


def _led(flow: WiredFlow, reference: Reference) -> str:
    """Return what a reference chooses as the beginning of a path or a URL; empty for any other reference."""
    if reference.step not in flow.steps or not reference.is_leading:
        return ""
    return chosen_by_lead(flow.steps[reference.step].interface.item(reference.key))
