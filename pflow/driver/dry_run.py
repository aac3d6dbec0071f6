"""`pflow run --dry-run`: what each step would read, write and touch, without a run."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.resolve import is_stored
from pflow.binding.sources import Constant, TemplateSource
from pflow.driver.arguments import PROGRAM
from pflow.terminal.messages import say
from pflow.values.jsontext import text_of
from pflow.values.paths import write_path
from pflow.words.printable import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.driver.inputs import RunInputs
    from pflow.flow.wired import WiredStep
    from pflow.stage.document import Document
    from pflow.values.paths import Path


def pretend(inputs: RunInputs, document: Document) -> Document:
    """Say each step on stderr; the document for the stages after it, marked with what would be written."""
    wired = inputs.wired
    for id in wired.graph.order():
        say(PROGRAM, _would(wired.steps[id], inputs, document))
    document = document.copy()
    if wired.carried is not None:
        document.header["last"] = write_path(wired.carried)
    places = list(wired.flow.outputs) or [write_path(place) for place in _places(inputs)]
    document.header["dry"] = list(dict.fromkeys([*document.header.get("dry", []), *places]))
    return document


def _places(inputs: RunInputs) -> Iterator[Path]:
    """Where the flow would put something: what it is given, and the data and the writes of each step."""
    yield from inputs.stored()
    for wired in inputs.wired.steps.values():
        for key in [*wired.step.inputs, *inputs.data.get(wired.id, ())]:
            if is_stored(wired.interface, key, wired.step.params):
                yield wired.data_place(key)
        for key in [*wired.interface.writes, *wired.targets]:
            yield wired.place_of(key)


def _would(wired: WiredStep, inputs: RunInputs, document: Document) -> str:
    """What a step would read, from where, write, and touch."""
    values = {key: source.value for key, source in wired.sources.items() if isinstance(source, Constant)}
    for name, value in inputs.values.items():
        readers = inputs.wired.inputs[name].readers if name in inputs.wired.inputs else ()
        values |= {key: value for id, key in readers if id == wired.id}
    sources = {**wired.params, **wired.sources}.items()
    templates = {key: source for key, source in sources if isinstance(source, TemplateSource)}
    values |= {key: source.written for key, source in templates.items()} | inputs.data.get(wired.id, {})
    parts = [f"would run {wired.id} ({wired.step.type})"]
    reads = []
    for key, item in wired.interface.reads.items():
        source = wired.sources.get(key)
        if source is not None and source.paths:
            reads.append(f"{key} from {source.origin}")
        elif key in values:
            reads.append(f"{key} from {item.flag}")
        elif item.required or (key in document and "explicit" not in item.marks):
            reads.append(f"{key} from {key}")
    writes = [write_path(wired.place_of(key)) for key in wired.interface.writes]
    parts += ["reads " + ", ".join(reads)] if reads else []
    parts += ["writes " + ", ".join(writes)] if writes else []
    parts += [", ".join(wired.interface.effects)] if wired.interface.effects else []
    items = {**wired.interface.params, **wired.interface.reads}
    params = wired.step.params | inputs.params.get(wired.id, {})
    defaults = {key: wired.interface.default_of(item, params) for key, item in items.items() if not item.required}
    params = defaults | params
    for key in [key for key, item in items.items() if item.is_telling]:
        is_led = key not in inputs.data.get(wired.id, {}) and inputs.wired.is_led_by_data(wired.id, key)
        known = values.get(key, params.get(key))
        if is_led or known not in (None, []):
            value = clean(text_of("not known yet" if known is None else known))
            parts.append(f"{key}: {value}" + ", whose directory data chooses" * is_led)
    return "; ".join(parts)
