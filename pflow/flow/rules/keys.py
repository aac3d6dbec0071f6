"""PF05 and PF10: `stdin` is reserved, and the keys that a flow makes are plain snake_case words."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import Finding, Rule
from pflow.paths import parse_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.rules._view import View
    from pflow.paths import Path

    Places = Iterator[tuple[Path, Path]]


def check_reserved(view: View) -> Iterator[Finding]:
    for place, path in _made_keys(view):
        root = str(path[0])
        if root == "stdin":
            remedy = "stdin is what comes through the pipe: choose another key"
            yield Finding("PF05", place, "'stdin' is reserved", remedy)
        elif root.startswith("$"):
            yield Finding("PF05", place, f"'{root}' is reserved", "a key does not begin with $")
    for step in view.flow.steps:
        if step.id == "stdin":
            yield Finding("PF05", (*step.place, "id"), "'stdin' is reserved", "call the step something else")
    takers = [name for name, given in view.flow.inputs.items() if given.pipe]
    for name in takers[1:]:
        message = f"what comes through the pipe goes to '{takers[0]}' already"
        yield Finding("PF05", ("inputs", name, "pipe"), message, 'one input is "pipe": true')


def check_words(view: View) -> Iterator[Finding]:
    warned = set()
    for place, path in _made_keys(view):
        steps = path[1:] if path[0] in view.steps else path
        odd = [step for step in steps if isinstance(step, str) and not is_plain_word(step)]
        if odd and path[0] != "stdin" and not str(path[0]).startswith("$") and path not in warned:
            warned.add(path)
            remedy = f"{_as_word(odd[0])} is one"
            yield Finding("PF10", place, f"'{odd[0]}' is no plain snake_case word", remedy, is_warning=True)


def _made_keys(view: View) -> Places:
    """Every place of a store that the flow itself names and makes: where, and the path."""
    for kind, names in (("inputs", view.flow.inputs), ("outputs", view.flow.outputs)):
        for name in names:
            yield (kind, name), (name,)
    for wired in view.steps.values():
        step = wired.step
        if step.batch is not None:
            yield (*step.place, "batch", "as"), (step.batch.item,)
        for key, written in step.output_mappings.items():
            try:
                yield ("mappings", step.id, "output_mappings", key), parse_path(written)
            except ValueError:
                continue  # PF14 says so
    for reference in view.wired.references:
        given = view.wired.inputs.get(reference.input or "")
        if given is not None and not given.declared:
            yield reference.place, reference.path[:1]


def _as_word(name: str) -> str:
    """A name as a plain word: videoUrl as video_url, doc-1.txt as doc_1_txt."""
    word = ""
    for before, letter in zip(" " + name, name, strict=False):
        if letter.isupper() and before.isalnum() and not before.isupper():
            word += "_"
        word += letter.lower() if letter.isascii() and letter.isalnum() else "_"
    word = word.strip("_") or "key"
    return word if is_plain_word(word) else f"key_{word}"


def is_plain_word(name: str) -> bool:
    """Whether a key is a plain snake_case word."""
    return name.isascii() and name.isidentifier() and name == name.lower()


RULES = (
    Rule("PF05", "stdin is reserved: no step writes it; piped bytes need a step", check_reserved),
    Rule("PF10", "keys are plain snake_case words", check_words, otherwise="warning"),
)
