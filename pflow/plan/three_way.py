"""A three-way merge: what an edit of a flow's pipe syntax leaves as it was shown, stays as the flow has it."""

from copy import deepcopy
from typing import Any

from pflow.flow.unload import IR
from pflow.flow.written import path_text


def merge_edit(old: IR, seen: IR, new: IR, text: str) -> IR:
    """Return the `new` document, of an edited `text`, with what it leaves as it was `seen`, and what no line can say.

    Another value where an input gave one is the input's new default, if it is the same everywhere. A step that another
    now meets keeps its keys where they were, unless the text names the new place.
    """
    was, shown, now = parts = [_by_step(deepcopy(each)) for each in (old, seen, new)]
    flow: IR = _merged(*(each.pop("") for each in parts))
    ids = {id for id, _ in now}
    for at in was.keys() & shown.keys() & now.keys():
        _settle(was[at], shown[at], now[at], ids, text)
        now[at] = _merged(was[at], shown[at], now[at])
    gone = {id for id, _ in was} - ids
    flow["outputs"] = {name: path for name, path in flow.get("outputs", {}).items() if path.split(".")[0] not in gone}
    places = [(step.get("inputs", {}), _sources(step), step.get("params", {})) for step in now.values()]
    for name, given in flow.get("inputs", {}).items():
        readers = [(literals, key) for literals, sources, _ in places for key in sources if sources[key] == name]
        values = [literals.get(key) for literals, key in readers]
        if values and all(_is_literal(value) and value == values[0] for value in values):
            flow["inputs"][name] = {**given, "default": values[0]}
            for literals, key in readers:
                del literals[key]
    for literals, *others in places:
        for other in others:
            for key in other.keys() & literals.keys():
                del other[key]
    mappings = {id: step.pop("mapping", {}) for (id, _), step in now.items()}
    return {**flow, "nodes": [*now.values()], "mappings": mappings}


def _by_step(ir: IR) -> dict[Any, IR]:
    """Return the steps of a document by id and type, each with its mapping; "" has the rest."""
    mappings = ir.pop("mappings", {})
    nodes = ir.pop("nodes")
    return {"": ir} | {(each["id"], each["type"]): {**each, "mapping": mappings.get(each["id"], {})} for each in nodes}


def _settle(was: IR, shown: IR, now: IR, ids: set[str], text: str) -> None:
    """Name the reads and writes of a step as they were shown, where an edit means the same."""
    for key in shown.get("inputs", {}).keys() - now.get("inputs", {}).keys():
        _sources(was).pop(key, None)  # the value of an input, which was taken out
    sources, before = _sources(now), _sources(shown)
    for key, source in before.items():
        if str(source).split(".")[0] in ids and str(source).endswith(f".{sources.get(key)}"):
            sources[key] = source  # `content`, which is implied, means `read.content` there
    moved = now["mapping"].get("output_mappings", {})
    for key in moved.keys() - shown["mapping"].get("output_mappings", {}).keys():
        own = path_text((now["id"], key))
        if moved[key] == own and own not in text and f"--id={now['id']}" not in text:
            del moved[key]


def _sources(step: IR) -> dict[str, Any]:
    return step.get("mapping", {}).get("input_mappings", {})  # type: ignore[no-any-return]


def _is_literal(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and "$" in value)


def _merged(old: Any, seen: Any, new: Any) -> Any:
    """Return the old value if the new one is as it was seen; of objects, each member so; None for none."""
    if new == seen:
        return old
    if {dict} != {type(each) for each in (seen, new) if each is not None}:
        return new
    old, seen, given = (each if isinstance(each, dict) else {} for each in (old, seen, new))
    found = {key: _merged(old.get(key), seen.get(key), given.get(key)) for key in {**old, **given}}
    kept = {key: value for key, value in found.items() if value is not None}
    return kept if kept or new is not None else None
