"""The words of `pflow run`, split into the flow, its flags, and the flags of the run itself."""

from __future__ import annotations

from itertools import pairwise

from pflow import TYPE_CHECKING, Any, Callable, Mapping
from pflow.errors import check_positive
from pflow.flow.pipe.scan import is_cut_separator, separates
from pflow.flow.subflow import is_one_step
from pflow.interface.common import COMMON, OF_RUNS, RUN_FLAGS, STEP
from pflow.interface.interface import Item, spell_flag
from pflow.stage.flags import check_common, value_of
from pflow.stage.words import groups, is_flag
from pflow.values.usage import BUDGET

if TYPE_CHECKING:
    from pflow.stage.words import Items, Texts

PROGRAM = "pflow run"

OWN: dict[str, Item] = {**{name: flag for name, flag in OF_RUNS.items() if flag.of != STEP}, **RUN_FLAGS}
"""The flags of `pflow run` itself, without those of a step."""


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words of the flow, and the flags beside it.

    A flow is one word with flags on both sides; or a step and its flags, with ours among them; or words with separators
    (`a :: b`): then the flags before the first word are ours, and so are stream flags in the first and the last step.
    """
    flags, rest, _ = leading(words, OWN)
    if separators(rest):
        flow, taken = _take_stream_flags(rest)
        return flow, flags + taken
    if is_one_step(rest):
        from pflow.flow.pipe.steps import split_step

        step, beside = split_step(rest, OWN)
        return step, flags + beside
    return rest[:1], flags + rest[1:]


def split_flow(words: list[str], own: Items, before: int = 0) -> tuple[list[str], list[str]]:
    """Return the words of a command, its `own` flags and so many bare words, and those of the flow behind them.

    The flags may stand before several steps, on either side of one word, and among the flags of one step.
    """
    from pflow.flow.pipe.steps import split_step

    kept, rest, is_ended = leading(words, own, before)
    if is_ended or any(separates(word) or is_cut_separator(word) for word in rest):
        return kept, rest
    if is_one_step(rest):
        step, beside = split_step(rest, own)
        return kept + beside, step
    flow = list[str]()
    for _, group in groups(rest, own):
        (kept if is_flag(group[0]) else flow).extend(group[group[0] == "--" :])
    return kept, flow


def leading(words: list[str], own: Items, before: int = 0) -> tuple[list[str], list[str], bool]:
    """Return the flags, and so many bare words, before a flow; the flow's words; True if a `--` is between them."""
    kept = list[str]()
    for _, group in groups(words, own):
        if group[0] == "--":
            return kept + (group[: 1 + before] if before else []), group[1 + before :], True
        before -= not is_flag(group[0])
        if before < 0:
            break
        kept += group
    return kept, words[len(kept) :], False


def separators(words: list[str]) -> list[int]:
    """Return where separators stand. One between a flag and another flag, or the end, is that flag's value."""
    return [at for at, word in enumerate(words) if separates(word) and not _is_value(words, at)]


def without_bare(words: list[str]) -> list[str]:
    """Return the words without those that a `--` makes bare: it ends the flags of its own step only."""
    kept = list[str]()
    places = [0, *separators(words), len(words)]
    for begin, end in pairwise(places):
        for _, group in groups(words[begin:end], OWN, is_open=True):
            kept += group if group[0] != "--" else []
    return kept


def _is_value(words: list[str], at: int) -> bool:
    before, after = words[max(at - 1, 0)], words[at + 1 : at + 2]
    is_after_flag = before.startswith("--") and len(before) > 2 and "=" not in before
    return is_after_flag and (not after or after[0].startswith("-"))


def _take_stream_flags(words: list[str]) -> tuple[list[str], list[str]]:
    """Take the flags for stdin and stdout out of the first and the last step."""
    from pflow.flow.pipe.steps import split_step

    places = separators(words)
    begin, end = places[0], places[-1] + 1
    first, reading = split_step(words[:begin], {name: flag for name, flag in COMMON.items() if flag.fd == 0})
    last, printing = split_step(words[end:], {name: flag for name, flag in COMMON.items() if flag.fd == 1})
    return [*first, *words[begin:end], *last], reading + printing


class RunFlags:
    """The flags of one run, each as an attribute. They are removed from `texts`, of which `convert` makes values.

    What a command has `declared` itself stands for the flag of `pflow run` of that name.
    """

    if TYPE_CHECKING:
        encoding: str | None

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, texts: Texts, declared: Items | None = None, convert: Callable[..., Any] = value_of) -> None:
        items = {**OWN, **(declared or {})}
        self.__dict__ = {name: item.default for name, item in items.items()}
        for name in [name for name in texts if name in items]:
            setattr(self, name, convert(items[name], texts.pop(name)))
        check_common(vars(self))
        for name, limit in self.limits.items():
            check_positive(spell_flag(BUDGET[name]), limit)

    def replaced(self, values: Mapping[str, Any]) -> RunFlags:
        """Return these flags with other values."""
        flags = object.__new__(RunFlags)
        flags.__dict__ = {**self.__dict__, **values}
        return flags

    @property
    def limits(self) -> dict[str, float]:
        """The limits of the budget, by amount."""
        return {name: limit for name, flag in BUDGET.items() if (limit := getattr(self, flag)) is not None}
