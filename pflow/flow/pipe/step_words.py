"""Writing the words of a step in pipe syntax from its values."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import PflowError
from pflow.flow.pipe.batches import batch_words
from pflow.flow.pipe.scan import quote
from pflow.flow.pipe.steps import interface_of_type
from pflow.interface.common import COMMON, is_shared
from pflow.interface.interface import spell_flag
from pflow.values.jsontext import compact, text_of
from pflow.values.templates import is_reference

if TYPE_CHECKING:
    from typing import Any

    from pflow.catalog.kinds import Catalog
    from pflow.flow.flow import Step
    from pflow.interface.interface import Item


def step_words(step: Step, catalog: Catalog) -> list[str]:
    """Write the flags of a step, quoted. Raises PflowError for a value that no flag gives."""
    interface = interface_of_type(step.type, catalog)[0]
    words = []
    if step.batch is not None:
        words += batch_words(step.batch)
    if step.repeats is not None:
        words.append("--repeats" if step.repeats else "--no-repeats")
    for key, value in {**step.inputs, **step.params}.items():
        words += flag_words(step.id, key, interface.reads.get(key) or interface.params.get(key), value)
    for key in sorted(step.input_mappings, key=[*interface.reads, *step.input_mappings].index):
        source = step.input_mappings[key]
        words += [f"--map-in={quote(f'{key}={path}')}" for path in (source if isinstance(source, list) else [source])]
    words += [f"--map-out={quote(f'{key}={path}')}" for key, path in step.output_mappings.items()]
    fields = (("retries", step.retries), ("wait", step.wait), ("timeout", step.timeout))
    return words + [f"--{name}={_json(value)}" for name, value in fields if value is not None] + cache_words(step)


def cache_words(step: Step) -> list[str]:
    """Write the flag for a step's cache setting, if it has one."""
    if step.cache is None:
        return []
    return ["--cache" if step.cache is True else f"--cache={step.cache}" if step.cache else "--no-cache"]


def flag_words(id: str, key: str, item: Item | None, value: Any) -> list[str]:
    """Write the words that give a read or a param its value, quoted for a shell. Raises PflowError if none do."""
    type, flag = item.type.name if item else "any", spell_flag(key)
    if key.replace("-", "_") in COMMON and not is_shared(item):
        raise PflowError(f"no flag gives '{id}' its '{key}': every step has a flag of that name")
    if item is not None and "secret" in item.marks:
        raise PflowError(f"no flag gives '{id}' its '{key}': a secret is never a flag")
    if item is None and set(key) & set("-=@:"):
        raise PflowError(f"no flag gives '{id}' its '{key}': no flag has that name")
    if type == "bool" and isinstance(value, bool):
        return [quote(spell_flag(key, value))]
    if isinstance(value, str | bytes):
        texts = [os.fsdecode(value)]
    elif type == "list" and isinstance(value, list) and _is_plain_list(value):
        texts = value
    elif item is not None and type in ("list", "dict", "int", "float") and item.type.takes(value):
        texts = [_json(value)]
    elif value is None and type != "any":
        raise PflowError(f"no flag gives '{id}' its '{key}': a flag of type {type} cannot give null")
    else:
        return [f"{quote(flag)}:={quote(compact(value))}"]
    return [f"{quote(flag)}={quote(text)}" for text in texts]


def _json(value: Any) -> str:
    """Write a value as JSON the way a person would: 60 for 60.0."""
    text = text_of(value)
    return text.removesuffix(".0") if isinstance(value, float) else text


def _is_plain_list(value: list[Any]) -> bool:
    """Return True if a list can be given with one flag an item: texts that do not look like JSON or a reference."""
    if not value or not all(isinstance(item, str) and not item.lstrip().startswith("[") for item in value):
        return False
    return len(value) > 1 or not is_reference(value[0])
