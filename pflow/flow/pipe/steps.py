"""A step of pipe syntax and its batch: made from words by the interface of its type, and written as words again."""

from __future__ import annotations

import os
from copy import copy

from pflow import TYPE_CHECKING, Any, Mapping
from pflow.binding.flag_value import FlagValue
from pflow.catalog.find import Catalog, interface_of_type
from pflow.errors import USAGE, Attempt, PflowError
from pflow.flow.expressions import OVER, escape_dollars, expressions_of_step, path_text
from pflow.flow.flow import Batch, FlowSpec, Step, item_reader
from pflow.flow.pipe.scan import full_type, quote, split_name
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.common import BATCH, BOTH, COMMON, NODE, OF_FLOWS, OF_RUNS, OF_VISITS, RUN, STEP, STREAM
from pflow.interface.interface import Field, Interface, flag_word, spell_flag
from pflow.stage.flags import Flags, add_keys, add_mapping, check_keys, convert_texts, value_of
from pflow.stage.words import flags_in, groups, is_flag, part, split_flag, take_words
from pflow.values.jsontext import BLANK, compact, text_of
from pflow.values.paths import Path
from pflow.values.templates import TEMPLATE, is_reference, parse_place, parse_template, references

if TYPE_CHECKING:
    from pflow.stage.words import Fields, Texts


OF_STREAMS = {
    name: f"-{flag.letter}" if flag.letter else flag.flag for name, flag in COMMON.items() if flag.of == STREAM
}
"""Flags for how a stage reads and prints. Only the whole flow reads and prints, so its steps do not have them."""
_MANNER = ("retries", "wait", "timeout", "cache")
"""The flags that both every stage and every step have."""
OF_STEPS = tuple(name for name, flag in COMMON.items() if flag.of in (STEP, BOTH))
_OF_RUN = ("", "give it to pflow run: pflow run {} …")
_COMMON = {
    name: flag.but(refused=(" in a step", (OF_RUNS[name].refused or _OF_RUN)[1].format(flag.flag)))
    if flag.of in (RUN, NODE)
    else flag
    for name, flag in COMMON.items()
}
"""The common flags. Those that only a run takes are refused, with a hint to give them to the run."""


class Draft:
    """A step made from its words, before it is wired.

    `is_kept_apart` is True if `--id` puts all its keys under its name. `stream` names its flags that a flow ignores.
    """

    def __init__(self, step: Step, interface: Interface) -> None:
        self.step = step
        self.interface = interface
        self.is_kept_apart = False
        self.stream: list[str] = []
        self.warnings: list[str] = []

    def all_warnings(self) -> list[str]:
        """Return the warnings about its flags, and one for each flag that only the whole flow can have."""
        read, step = self.interface.pipe_read, self.step
        takes_pipe = self.interface.may_take_stdin or (read and read.name not in {**step.inputs, **step.input_mappings})
        flags = [OF_STREAMS[name] for name in self.stream if takes_pipe or name != "no_stdin"]
        return [
            *self.warnings,
            *(f"{each} of '{step.id}' does nothing in a flow: put {each} after the flow" for each in flags),
        ]


def draft_step(type: str, id: str | None, words: list[str], catalog: Catalog, flow: FlowSpec | None) -> Draft:
    """Make the step of a type with the flags in `words`; without `id` or a flag for it, its id is "".

    Raises PflowError (2) for the first wrong flag. If the type is unknown, every flag is data.
    """
    interface, is_known = interface_of_type(type, catalog, flow)
    if not catalog.opens_files:
        _refuse_files(words)
    fields = {**_COMMON, **interface.fields, **OF_FLOWS}
    words = _as_open(words, fields, is_known=is_known) if interface.open else words
    texts = take_words(words, fields, is_open=interface.open)
    batch = take_batch(texts)
    said = {name: value_of(flag, texts.pop(name)) for name, flag in OF_VISITS.items() if name in texts}
    paths = texts.pop("map_in", [])
    flags = convert_texts(texts, interface)
    if id is not None and flags.id not in (None, id):
        raise PflowError(f"cannot name a step '{id}' and '{flags.id}'", hint="choose one", exit=USAGE)
    step = Step(id or flags.id or "", type, batch=batch, flow=flow)
    step.is_verbatim = flags.verbatim
    said |= {name: getattr(flags, name) for name in _MANNER if name in texts}
    for name, value in said.items():
        setattr(step, name, value)
    interface = add_keys(flags) if is_known else interface
    step.inputs = {name: _ir_value(flags, name, value) for name, value in flags.data.items()}
    if is_known:
        step.params = {name: _ir_value(flags, name, value) for name, value in flags.params.items()}
    for text in paths:
        _map_in(step, interface, str(text))
    step.output_mappings = {
        key: path for key, _, path in (str(text).partition("=") for text in texts.get("map_out", ()))
    }
    for mappings, named in ((step.input_mappings, flags.map_in), (step.output_mappings, flags.map_out)):
        for key, path in named.items():
            mappings.setdefault(key, path_text(path))
    check_item(step, interface)
    draft = Draft(step, interface)
    draft.is_kept_apart = flags.id is not None
    draft.stream = [name for name in OF_STREAMS if name in texts and name not in flags.fields]
    draft.warnings = flags.warnings
    return draft


def _as_open(words: list[str], fields: Fields, *, is_known: bool) -> list[str]:
    """Return the words with `=true` after each unknown flag without a value.

    If the type is unknown, keep only long flags, so that the error is about the type (PF11), not about a word.
    """
    kept = []
    for found, group in groups(words, fields, is_open=True):
        flag, sign, _ = split_flag(group[0])
        is_long = is_flag(flag) and flag.startswith("--")
        if is_known or is_long:
            kept += [f"{flag}=true"] if is_long and not (found or sign or group[1:]) else group
    return kept


def split_step(words: list[str], own: Fields) -> tuple[list[str], list[str]]:
    """Separate the words of a step from the flags that only the command has (`own`); return both."""
    name = "".join(words[:1]).removeprefix("pflow-")
    interface, _ = interface_of_type(full_type(split_name(name)[0]), Catalog())
    fields = {**interface.fields, "repeats": OF_VISITS["repeats"]}
    if "each" in flags_in(words[1:], {**COMMON, **fields, **BATCH}, is_open=interface.open):
        fields |= BATCH  # with --each, --jobs is a flag of the step; without it, of the command
    step, beside = part(words[1:], fields, own, is_open=interface.open)
    return [*words[:1], *step], beside


def _refuse_files(words: list[str]) -> None:
    """Refuse --KEY@FILE in a flow that a model or an MCP client wrote: it could read any file into the flow."""
    for word in words:
        flag, sign, _ = split_flag(word)
        if sign == "@" and flag.startswith("--"):
            raise PflowError(f"cannot take {flag}@FILE: no file may be opened here", hint=f"{flag}=TEXT", exit=USAGE)


def _map_in(step: Step, interface: Interface, text: str) -> None:
    """Add the mapping of a --map-in. Several for one key make a list of places: a run takes the one written last."""
    key, _, path = text.partition("=")
    is_template = path.startswith(TEMPLATE)
    found: dict[str, Path] = {}
    add_mapping(found, "--map-in", f"{key}=" if is_template else text)
    check_keys(found, "--map-in", interface.reads, is_open=interface.open)
    if key in step.inputs:
        flag = spell_flag(key)
        raise PflowError(f"cannot take --map-in={key}=…: {flag} gives it", hint="choose one", exit=USAGE)
    if not path:
        step.is_unfed = True
        return
    if is_template:
        with Attempt(f"cannot take --map-in={key}={TEMPLATE}…", of=ValueError, exit=USAGE):
            parse_template(path.removeprefix(TEMPLATE))
    before = step.input_mappings.get(key, [])
    if before and TEMPLATE in (path[: len(TEMPLATE)], str(before)[: len(TEMPLATE)]):
        raise PflowError(f"cannot take --map-in={key} twice: one is a template", hint="choose one", exit=USAGE)
    several = [*(before if isinstance(before, list) else [before]), path]
    step.input_mappings[key] = several if len(several) > 1 else path


def _ir_value(flags: Flags, name: str, value: FlagValue) -> Any:
    """Return the value of a flag as a flow's JSON holds it: a text or a template as its text, all else typed.

    With --verbatim each `$` is doubled, so that it begins no template; `[verbatim]` fields have no templates.
    """
    field = flags.fields.get(name.replace("-", "_"))
    is_plain = field is not None and "verbatim" in field.marks
    if value.references:
        return value.written
    if isinstance(value.value, str | bytes) and (is_plain or not flags.verbatim):
        return _as_json(value.written)
    typed = _as_json(value.value)
    return typed if is_plain else _escaped(value.flag, typed)


def _as_json(value: Any) -> Any:
    """Return each text or bytes as text if it is UTF-8, else as bytes, such as a file name in another encoding.

    Raises PflowError (2) for a text that no command line can hold.
    """
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    try:
        if isinstance(value, bytes):
            return str(value, "utf-8")
        if isinstance(value, str):
            value.encode()
    except ValueError:
        try:
            return os.fsencode(value)
        except UnicodeEncodeError:
            raise PflowError("cannot take a value: it has a lone surrogate", exit=USAGE) from None
    return value


def _escaped(flag: str, value: Any) -> Any:
    """Return a template that gives exactly this value. Raises PflowError (2) for a reference in an object's key."""
    with Attempt(f"cannot take {flag}", of=ValueError, hint="choose another key", exit=USAGE):
        list(references(value))
    return escape_dollars(value)


def step_words(step: Step, catalog: Catalog) -> list[str]:
    """Write the flags of a step, quoted. Raises PflowError for a value that no flag can give."""
    interface = interface_of_type(step.type, catalog, step.flow)[0]
    words = batch_words(step.batch) if step.batch is not None else []
    words += option_words({name: getattr(step, name) for name in OF_VISITS})
    for key, value in {**step.inputs, **step.params}.items():
        words += flag_words(step.id, key, interface.field(key), value)
    sources = step.input_mappings | ({interface.pipe_read.name: ""} if step.is_unfed and interface.pipe_read else {})
    for key in sorted(sources, key=[*interface.reads, *sources].index):
        source = sources[key]
        words += [f"--map-in={quote(f'{key}={path}')}" for path in (source if isinstance(source, list) else [source])]
    words += [f"--map-out={quote(f'{key}={path}')}" for key, path in step.output_mappings.items()]
    return words + manner_words(step)


def manner_words(step: Step) -> list[str]:
    """Write the flags for a step's tries, time limit and cache setting."""
    return option_words({name: getattr(step, name) for name in _MANNER})


def flag_words(id: str, key: str, field: Field | None, value: Any) -> list[str]:
    """Write the words that give a read or a param its value, quoted for a shell. Raises PflowError if none can."""
    type, flag = field.type.name if field else "any", spell_flag(key)
    if key.replace("-", "_") in COMMON and field is None:
        raise PflowError(f"no flag gives '{id}' its '{key}': every step has a flag of that name")
    if field is not None and field.is_secret:
        raise PflowError(f"no flag gives '{id}' its '{key}': a secret is never a flag")
    if field is None and set(key) & set("-=@:"):
        raise PflowError(f"no flag gives '{id}' its '{key}': no flag has that name")
    if type == "bool" and isinstance(value, bool):
        return [quote(spell_flag(key, value))]
    if isinstance(value, str | bytes):
        texts = [os.fsdecode(value)]
    elif type == "list" and isinstance(value, list) and _is_plain_list(value):
        texts = value
    elif field is not None and type in ("list", "dict", "int", "float") and field.type.takes(value):
        texts = [as_typed(value)]
    elif value is None and type != "any":
        raise PflowError(f"no flag gives '{id}' its '{key}': a flag of type {type} cannot give null")
    else:
        return [f"{quote(flag)}:={quote(compact(value))}"]
    return [f"{quote(flag)}={quote(text)}" for text in texts]


def _is_plain_list(value: list[Any]) -> bool:
    """Return True if one flag for each item can give a list: its texts look neither like JSON nor like references."""
    if not value or not all(isinstance(item, str) and not item.lstrip(BLANK).startswith("[") for item in value):
        return False
    return len(value) > 1 or not is_reference(value[0])


def take_batch(texts: Texts) -> Batch | None:
    """Make the batch that a step's flags ask for, and remove these from `texts`. Raises PflowError (2)."""
    said = {name: value_of(flag, texts.pop(name)) for name, flag in BATCH.items() if name in texts}
    over = said.pop("each", False)
    if isinstance(over, str):
        with Attempt(f"cannot take --each={over}", of=ValueError, hint="--each=PATH names a list", exit=USAGE):
            parse_place(over)
    if over is False:
        for name in said:
            hint = "--each runs the step once for each item"
            raise PflowError(f"cannot take {BATCH[name].flag} without --each", hint=hint, exit=USAGE)
        return None
    item, jobs = said.get("as", "item"), said.get("jobs")
    if not item:
        raise PflowError("cannot take --as='': an item needs a name", hint="--as=file", exit=USAGE)
    on_error = "keep" if said.get("keep_going") else "stop"
    return Batch("" if over is True else over, item, jobs, on_error, keep_item=bool(said.get("with_item")))


def batch_words(batch: Batch) -> list[str]:
    """Write the flags of a batch, quoted."""
    name = batch.item if batch.item != "item" else None
    keeps_going, with_item = batch.on_error == "keep" or None, batch.keep_item or None
    said = {"each": batch.over or True, "as": name, "jobs": batch.jobs, "keep_going": keeps_going}
    return option_words({**said, "with_item": with_item})


def option_words(values: Mapping[str, Any]) -> list[str]:
    """Write the flags that give these values, quoted. None needs no flag."""
    said = {name: value for name, value in values.items() if value is not None}
    return [flag_word(name, each if isinstance(each, bool) else quote(as_typed(each))) for name, each in said.items()]


def as_typed(value: Any) -> str:
    """Write a value as JSON the way a person would: 60 for 60.0."""
    text = text_of(value)
    return text.removesuffix(".0") if isinstance(value, float) else text


def filled_by_item(step: Step, interface: Interface, inside: WiredFlow | None = None) -> str | None:
    """Return the read that a batch's item fills without a mapping: the `[pipe]` read, else the first `[word]` read.

    Return None if the step gives the read a value, or if another read has the item's name. An optional read is not
    filled if the step, or the first step `inside` it, names the item.
    """
    batch, read = step.batch, item_reader(interface)
    by_name = batch is not None and batch.item in interface.reads and step.flow is None
    if batch is None or read is None or step.is_unfed or by_name or step.fills(read.name):
        return None
    return read.name if read.required or not _names_item(step, batch, interface, inside) else None


def with_item(wired: WiredStep) -> Step:
    """Return the step with the item of its batch mapped to the read that it fills."""
    step, batch = wired.step, wired.step.batch
    key = filled_by_item(step, wired.interface, wired.inline)
    if batch is None or key is None:
        return step
    step = copy(step)
    step.input_mappings = {**step.input_mappings, key: path_text((batch.item,))}
    return step


def check_item(step: Step, interface: Interface) -> None:
    """Raise PflowError (2) for a batch whose step does not use the item."""
    batch = step.batch
    if batch is None or interface.open or filled_by_item(step, interface) or _names_item(step, batch, interface):
        return
    if batch.item in interface.reads and not step.fills(batch.item):
        return
    read = item_reader(interface) or next(iter(interface.reads.values()), None)
    hint = f"name it: {read.flag}='${batch.item}'" if read else "leave --each out"
    raise PflowError("cannot take --each: nothing in this step takes an item", hint=hint, exit=USAGE)


def _names_item(step: Step, batch: Batch, interface: Interface, inside: WiredFlow | None = None) -> bool:
    expressions, names = expressions_of_step(step, interface), {batch.item, *batch.parts}
    named = set(interface.reads) if step.flow is not None else set()
    if inside is not None:
        takers = {name: {id for id, _ in given.readers} for name, given in inside.inputs.items()}
        named = {name for name, ids in takers.items() if inside.graph.first in ids}
    return not names.isdisjoint(named) or any(
        path[0] in names for expr in expressions if expr.role != OVER for path in expr.paths
    )
