"""What may stand at the cursor: the flags and values of a command, a node or a step, or the name of one."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.catalog.registry import saved_flow
from pflow.completion import names
from pflow.completion.line import Typed, split
from pflow.completion.names import VALUES, Candidate
from pflow.errors import PflowError
from pflow.flow.pipe.scan import separates
from pflow.help import usage as kinds
from pflow.help.usage import SENTENCE, Flag, Usage, usage_of_node

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Answer:
    """The candidates for what `typed` begins, which follows the first `kept` characters of the word at the cursor.

    Inside pipe syntax, `flow` is that text taken apart, and the word is its last one.
    """

    __slots__ = ("candidates", "flow", "kept", "typed")

    def __init__(self, word: str, kept: int, candidates: Iterable[Candidate]) -> None:
        self.flow: Typed | None = None
        self.kept = kept
        self.typed = word[kept:]
        spelled = self.typed.replace("_", "-") if self.typed.startswith("-") else self.typed
        self.candidates = [
            Candidate(each.group, self.typed + each.value[len(spelled) :], each.about)
            for each in candidates
            if each.value.startswith(spelled)
        ]


def answer(line: Typed) -> Answer:
    """What may stand at the cursor of a command line."""
    programs = [word.rpartition("/")[2] for word in line.words]
    start = next(n for n, name in enumerate(programs) if name == "pflow" or name.startswith("pflow-"))
    words = line.words[start + 1 :]
    if programs[start] == "pflow":
        return _of_driver(words, line)
    return _of_usage(usage_of_type(programs[start][6:]), words, line.word)


def _of_driver(words: list[str], line: Typed) -> Answer:
    """What may follow `pflow`: a command, a node, a tool, a saved flow, steps or a sentence."""
    table = names.read_table()
    command = table.get(f"pflow {words[0]}") if words else None
    if start := _step_start(words):
        return _of_step(words[start:], line.word, command or table["pflow run"])
    if not words and (line.quote or " " in line.word):
        return _in_flow(line.word)
    if not words and line.word.startswith("-"):
        return _of_usage(table["pflow"], [], line.word)
    if words in ([], ["help"]):
        there = [*names.commands(table), *names.nodes(), *names.tools(table), *names.flows()]
        return Answer(line.word, 0, there)
    if command is not None:
        return _of_command(command, words[1:], line)
    if " " not in words[0].strip():
        return _of_step(words, line.word)
    is_flow = any(map(separates, words[0].split()))
    return _of_usage(table["pflow run" if is_flow else SENTENCE], words[1:], line.word)


def _of_command(command: Usage, words: list[str], line: Typed) -> Answer:
    """A command, whose words may be a flow: a quoted text, or a step and its flags."""
    wanted = [argument.values for argument in command.arguments]
    if kinds.FLOW in wanted:
        at = wanted.index(kinds.FLOW)
        before = _Words(words, command.flags)
        if len(before.others) > at:
            return _of_step(words[before.others[at] :], line.word, command)
        is_text = (line.quote or " " in line.word) and not line.word.startswith("-")
        if len(before.others) == at and not before.waiting and is_text:
            return _in_flow(line.word)
    return _of_usage(command, words, line.word)


def _in_flow(text: str) -> Answer:
    """Pipe syntax in one word: the last word of its last step."""
    flow = split(text, is_flow=True)
    found = _of_step(flow.words[_step_start(flow.words) :], flow.word)
    found.flow = flow
    return found


def _step_start(words: list[str]) -> int:
    """Where the last step begins; 0 where no separator is among the words."""
    return max([n + 1 for n, word in enumerate(words) if separates(word)], default=0)


def _of_step(words: list[str], word: str, command: Usage | None = None) -> Answer:
    """A step: the name of its type, or what that takes and then the flags of the command that runs it."""
    if not words:
        return Answer(word, 0, [*names.nodes(), *names.flows("flow:")])
    usage = usage_of_type(words[0].removeprefix("flow:").removeprefix("pflow-").partition(":")[0])
    if command is not None:
        usage.flags = [*usage.flags, *command.flags]
    return _of_usage(usage, words[1:], word)


def usage_of_type(name: str) -> Usage:
    """How a node, a tool or a saved flow is used; what cannot be read of it is left out."""
    from pflow.catalog.kinds import TOOL, find_node
    from pflow.interface import Interface

    found = find_node(name)
    if found is None:
        file = saved_flow(name)
        return _usage_of_flow(file) if file else Usage(name, "")
    if found.origin == TOOL:
        return names.read_table()[f"pflow-{found.name}"]
    try:
        interface = found.interface
    except Exception:  # a node that is being written is completed with the flags that every stage has
        interface = Interface()
    return usage_of_node(found.name, interface)


def _usage_of_flow(file: str) -> Usage:
    from pflow.flow.load import load_file
    from pflow.flow.subflow import FlowCatalog
    from pflow.flow.wiring import wire
    from pflow.run.help import usage_of_run

    try:
        usage = usage_of_run(wire(load_file(file, FlowCatalog()).flow))
    except PflowError:
        usage = usage_of_run()
    usage.arguments = []
    return usage


class _Words:
    """The words before the cursor: the flags that they use, where the other words are, the flag that wants a value."""

    def __init__(self, words: list[str], flags: list[Flag]) -> None:
        self.by_name = {name: flag for flag in reversed(flags) for name in flag.names}
        self.used: set[str] = set()
        self.others: list[int] = []
        self.waiting: Flag | None = None
        self.is_ended = False
        for at, word in enumerate(words):
            name, equals, _ = word.partition("=")
            flag = self.find(name)
            if self.waiting is not None:
                self.waiting = None
            elif self.is_ended or word[:1] != "-" or word == "-":
                self.others.append(at)
            elif word == "--":
                self.is_ended = True
            elif flag is not None:
                self.used.update(flag.names if not flag.repeats else ())
                self.waiting = flag if flag.values and not equals else None

    def find(self, name: str) -> Flag | None:
        name = name.replace("_", "-")
        return self.by_name.get(name) or self.by_name.get(name.replace("--no-", "--", 1))


def _of_usage(usage: Usage, words: list[str], word: str) -> Answer:
    """A flag's value, a flag, or the argument that comes next."""
    before = _Words(words, usage.flags)
    if before.waiting is not None:
        return _values(before.waiting, word, 0)
    name, equals, _ = word.partition("=")
    if equals and name.startswith("--") and not before.is_ended:
        flag = before.find(name)
        return _values(flag, word, len(name) + 1) if flag else Answer(word, 0, [])
    if word.startswith("-") and not before.is_ended:
        return Answer(word, 0, _flags(usage, before.used))
    rest = usage.arguments[len(before.others) :] or [each for each in usage.arguments[-1:] if each.repeats]
    found = _values(rest[0], word, 0) if rest else Answer(word, 0, [])
    if found.candidates or word or before.is_ended:
        return found
    return Answer(word, 0, [each for each in _flags(usage, before.used) if each.value.startswith("--")])


def _flags(usage: Usage, used: set[str]) -> Iterator[Candidate]:
    """The flags that may still be given, group by group; a secret has none."""
    done = set(used)
    for group, flags in usage.groups():
        for flag in flags:
            if not flag.names[0].startswith("-") or not done.isdisjoint(flag.names):
                continue
            done.update(flag.names)  # a step's flag comes before the run's of the same name
            for name in flag.names:
                yield Candidate(group, f"{name}=" if flag.values and name.startswith("--") else name, flag.text)
            if flag.is_bool:
                yield Candidate(group, f"--no-{flag.names[0][2:]}", f"not: {flag.text}")


# How the names of files end that a value may be.
_FILES = {kinds.FILE: "", kinds.DIRECTORY: "/", kinds.FLOW: ".json"}
_NAMES = {
    kinds.MODEL: (names.models,),
    kinds.NODE: (names.nodes, names.flows),
    kinds.SAVED: (names.flows,),
    kinds.FLOW: (names.flows, names.nodes),
    kinds.RUN: (names.runs,),
}


def _values(flag: Flag, word: str, kept: int) -> Answer:
    """The values of a flag or an argument: they follow the first `kept` characters of the word."""
    typed = word[kept:]
    found = [Candidate(VALUES, choice) for choice in (("true", "false") if flag.is_bool else flag.choices)]
    wanted = _FILES.get(flag.values)
    if flag.values == kinds.MODEL and typed.startswith((".", "/", "~")):
        wanted = ".gguf"
    if wanted is None or "/" not in typed:
        found += [candidate for list_all in _NAMES.get(flag.values, ()) for candidate in list_all()]
    if wanted is not None:
        found += names.files(typed, wanted)
        kept += typed.rfind("/") + 1
    return Answer(word, kept, found)
