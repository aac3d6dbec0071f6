"""The words of `pflow run`: splitting them into the flow, its flags and the run's flags; and the help on them."""

from __future__ import annotations

import os
from itertools import pairwise

from pflow import TYPE_CHECKING, Any, Callable, Container, Mapping
from pflow.errors import check_positive
from pflow.flow.pipe.scan import is_cut_separator, separates
from pflow.flow.subflow import find_file, is_one_step
from pflow.interface.common import COMMON, OF_RUNS, RUN_FLAGS, STEP
from pflow.interface.interface import INPUT, PARAM, UNDECLARED, Field, argument, spell_flag
from pflow.stage.flags import check_common, value_of
from pflow.stage.words import groups, is_flag
from pflow.text.printable import clean
from pflow.values.usage import BUDGET

if TYPE_CHECKING:
    from pflow.flow.flow import FlowInput, FlowSpec
    from pflow.flow.wired_flow import WiredFlow
    from pflow.help.spec import CommandSpec
    from pflow.stage.words import Fields, Texts

PROGRAM = "pflow run"

OWN: dict[str, Field] = {**{name: flag for name, flag in OF_RUNS.items() if flag.of != STEP}, **RUN_FLAGS}
"""The flags of `pflow run` itself, without the flags of steps."""


_HELP = """\
pflow run: Run a flow as a stage of a pipe: a file (JSON, pipe syntax or Python), a saved flow, or pipe syntax.

A flow has a flag for each of its inputs and for each param of its steps, --ID.FLAG if several steps have one. Flags
after the name of a node are the step's, as in pipe syntax: a template in them takes a value from the store. A step
takes the bare words and letters that its program takes; a flow takes only flags. --KEY@FILE takes a value from a file.

The flow is checked before anything runs (pflow check). Missing inputs are asked for on a terminal. Each run has a log
(pflow runs, pflow trace) and, until it succeeds, a journal, from which pflow resume goes on: the store that it began
with and the changes of each step, with a digest in place of a secret. The journal is written before the next step
begins and survives kill -9 and a full disk, but not a power cut. For cron, --resume resumes the newest unfinished run
of this flow with these inputs and params in this directory, or begins one. A batch shows its progress and its cost: on
a terminal at once, in a log after a minute and then each minute.

A budget (--max-calls, --max-tokens-total, --max-cost) holds for a run with its batches, subflows and resumes; each try
counts, failed ones too. Before a call begins, pflow reserves the most that it may take: its question by its bytes, and
an answer of --max-tokens, else of the model's own limit, else of 4,096 tokens. If that is more than is left, the call
waits for the calls in flight. If it is still too much, no further call begins, the steps already running finish, and
the exit code is 79. The spending of commands is not counted. If a file here has the name of a saved flow or a node,
./NAME is the file. FILE.py[:NAME] runs a Flow of pocketflow or pflow as it is: a variable, or what a function returns.
The file is imported. A Flow with methods of its own, as a BatchFlow, is one step. With -n a node may read stdin itself.

Pure steps (@flow_safe) are cached: for the same values and the same code, the earlier result is used. --cache caches
every other step that can be, --no-cache none; a flow can set it for each step. A step is not cached if pflow cannot
tell beforehand what it will read (list-files, a conversation), or if it writes files. A file counts by its content, a
model by its name. Failures and answers that were cut off are never cached. --refresh runs the steps and replaces what
is cached, --cache=require fails with 66 instead of running, and PFLOW_CACHE=off overrides them all; --cache=require
then fails with 78. pflow why says what changed.

For --if-running, two runs are of the same flow if they run the same file, with any flags. A flow without a file is
identified by its text and the current directory. While programs that a killed run started are still running, that run
counts as running. With wait, --timeout limits the waiting, then the run.

\b
pflow run 'read-file --path=examples/notes.txt => write-file --path=copy.txt'
cat examples/notes.txt | pflow run 'llm --prompt=Summarize' -r
pflow run shell --command='uname -s' :: write-file --path=name.txt
"""


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words of the flow, and the flags beside it.

    The words have one of three forms: one word for the flow, with flags on both sides; a step and its flags, with flags
    of `pflow run` among them; or several steps with separators (`a :: b`). In the last form, the flags before the first
    step are those of `pflow run`, and so are stream flags in the first and the last step.
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


def split_flow(words: list[str], own: Fields, before: int = 0) -> tuple[list[str], list[str]]:
    """Split a command's words: return its `own` flags with at most `before` bare words, and the words of the flow.

    The command's flags may stand before several steps, on either side of a flow in one word, and among the flags of a
    single step.
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


def leading(words: list[str], own: Fields, before: int = 0) -> tuple[list[str], list[str], bool]:
    """Return the flags and at most `before` bare words that precede a flow, then the flow's words.

    The third value is True if `--` separates the two.
    """
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
    """Return the indices of the separators.

    A separator that follows a flag and is followed by another flag, or by nothing, is that first flag's value.
    """
    return [at for at, word in enumerate(words) if separates(word) and not _is_value(words, at)]


def without_bare(words: list[str]) -> list[str]:
    """Return the words without those that a `--` makes bare. A `--` ends only the flags of its own step."""
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
    """The flags of one run, each as an attribute. They are removed from `texts`, and `convert` makes values of them.

    A flag that a command has `declared` itself replaces the flag of `pflow run` with that name.
    """

    if TYPE_CHECKING:
        encoding: str | None

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, texts: Texts, declared: Fields | None = None, convert: Callable[..., Any] = value_of) -> None:
        fields = {**OWN, **(declared or {})}
        self.__dict__ = {name: field.default for name, field in fields.items()}
        for name in [name for name in texts if name in fields]:
            setattr(self, name, convert(fields[name], texts.pop(name)))
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
        """The limits of the budget, by the name of the amount: calls, tokens or cost."""
        return {name: limit for name, flag in BUDGET.items() if (limit := getattr(self, flag)) is not None}


def spec_of_run(wired: WiredFlow | None = None) -> CommandSpec:
    """Return the spec of `pflow run`, with the flags of a flow if there is one."""
    from pflow.help import spec as kinds

    usage = kinds.spec_of_command(PROGRAM, _HELP, "pflow run FLOW [FLAG]…", "pflow run STEP [FLAG]… :: STEP [FLAG]… …")
    usage.flags = [*(_flow_flags(wired) if wired else []), *flags_of_runs()]
    usage.arguments = [argument("FLOW", kinds.FLOW)]
    return usage


def flags_of_runs(without: Container[str] = ()) -> list[Field]:
    """Return the flags of `pflow run` itself, except those that `without` names."""
    flags = [flag for name, flag in OWN.items() if not flag.refused and name not in without]
    return [flag.but(doc=flag.doc.replace("the node", "the run")) for flag in flags]


def help_of(flow: FlowSpec | None, words: list[str] | None = None, synopsis: str = "", *, is_whole: bool = True) -> str:
    """Return the help of `pflow run`, with a flow's flags if there is a flow.

    `words` name the flow. The usage of a saved flow is `pflow NAME`.
    """
    from pflow.catalog.find import no_such_type
    from pflow.catalog.registry import flow_name, saved_flow
    from pflow.flow.wiring import wire
    from pflow.help.spec import help_text

    if flow is None:
        return help_text(spec_of_run(), is_whole=is_whole)
    wired = wire(flow)
    for step in wired.steps.values():
        if step.node_type is None and not step.fault:
            raise no_such_type(step.step.type)
    usage = spec_of_run(wired)
    usage.summary = clean(flow.description) or usage.summary
    file = find_file(words[0]) if words and len(words) == 1 else None
    name = flow_name(os.path.basename(file)) if file else ""
    if name and saved_flow(name) == file:
        synopsis = f"pflow {name} [FLAG]…"
    if synopsis:
        usage.synopsis, usage.examples = (synopsis,), ()
    return "\n".join(map(clean, help_text(usage, is_whole=is_whole).split("\n")))


def _flow_flags(wired: WiredFlow) -> list[Field]:
    """Return the flags of the flow's inputs, then of its steps; each flag by a name that no other flag has."""
    from pflow.flow.flags import FlowFlags

    flags = [_input_flag(wired, each) for each in [*wired.inputs.values(), *wired.places.values()]]
    for field, (name, *others) in FlowFlags(wired).of_steps():
        if not field.is_secret:
            default = None if field.required else field.default  # required, but the flow itself gives a value
            marks = field.marks - {"word", "pipe"}
            flags.append(field.but(kind=PARAM, name=name, flags=others, letter="", marks=marks, default=default))
    return flags


def _input_flag(wired: WiredFlow, wanted: FlowInput) -> Field:
    field = wanted.as_field(INPUT)
    field.type, field.doc = wired.help_type(wanted), clean(field.doc)
    if field.is_secret or wanted.is_unflagged:
        origin = "a secret, from the store" if field.is_secret else f"from the store, since {wanted.flag} is the run's"
        field.marks.add("secret")
        field.doc, field.default = f"{field.doc} [{origin}]".lstrip(), None
        return field
    field.name = wanted.flag[2:]
    field.marks |= {"pipe"} if wired.is_given_by_pipe(wanted) else set()
    if (default := wired.default_of(wanted)) is not UNDECLARED:
        field.default = default
    elif wanted not in wired.asked():
        field.default = None
    return field
