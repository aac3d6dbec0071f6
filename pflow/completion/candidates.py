"""What may stand at the cursor: the flags and values of a command, a node or a step, or the name of one."""

from __future__ import annotations

from pflow.completion import names
from pflow.completion.line import Typed, split
from pflow.help import usage as kinds
from pflow.help.usage import SENTENCE, Argument, Flag, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COMMANDS, NODES, TOOLS, FLOWS = "commands", "nodes", "tools", "flows"
VALUES, FILES, RUNS, MODELS = "values", "files", "runs", "models"

_SEPARATORS = ("=>", ">>", "|", "::", ";")


class Candidate:
    """One thing that may stand there: its value, what is said of it, and the group in which it is shown."""

    __slots__ = ("about", "group", "value")

    def __init__(self, group: str, value: str, about: str = "") -> None:
        self.group = group
        self.value = value
        self.about = about

    @property
    def is_open(self) -> bool:
        """Whether more is to be typed after it without a blank."""
        return self.value.endswith(("=", "/"))


class Answer:
    """The candidates for what `typed` begins, which follows the first `kept` characters of the word at the cursor.

    Inside pipe syntax, `flow` is that text taken apart, and the word is its last one.
    """

    __slots__ = ("candidates", "flow", "kept", "typed")

    def __init__(self, word: str, kept: int, candidates: Iterable[Candidate]) -> None:
        self.flow: Typed | None = None
        self.kept = kept
        self.typed = word[kept:]
        spelled = self.typed.replace("_", "-")
        self.candidates = []
        for each in candidates:
            if each.value.startswith(self.typed):
                self.candidates.append(each)
            elif each.value.startswith("-") and each.value.startswith(spelled):
                self.candidates.append(Candidate(each.group, self.typed + each.value[len(spelled) :], each.about))


def answer(line: Typed) -> Answer:
    """What may stand at the cursor of a command line."""
    if line.is_redirected:
        return _values(Flag((), "", values=kinds.FILE), line.word, 0)
    programs = [word.rpartition("/")[2] for word in line.words]
    start = next(n for n, name in enumerate(programs) if name == "pflow" or name.startswith("pflow-"))
    words = line.words[start + 1 :]
    if programs[start] == "pflow":
        return _Driver(line, words).answer()
    return _of_usage(usage_of_type(programs[start][6:]), words, line.word)


class _Driver:
    """What may follow `pflow`: a command, a node, a tool, a saved flow, steps or a sentence."""

    def __init__(self, line: Typed, words: list[str]) -> None:
        self.line = line
        self.words = words
        self.table = names.read_table()

    def answer(self) -> Answer:
        words, word = self.words, self.line.word
        command = self.table.get(f"pflow {words[0]}") if words else None
        if start := _step_start(words):
            return _of_step(words[start:], word, command or self.table["pflow run"])
        if not words and (self.line.quote or " " in word):
            return self._in_flow()
        if words in ([], ["help"]):
            return self._first()
        if command is not None:
            return self._of_command(command)
        if " " not in words[0].strip():
            return _of_step(words, word)
        is_flow = any(separator in words[0] for separator in _SEPARATORS)
        return _of_usage(self.table["pflow run" if is_flow else SENTENCE], words[1:], word)

    def _first(self) -> Answer:
        if self.line.word.startswith("-"):
            return _of_usage(self.table["pflow"], [], self.line.word)
        usages = self.table.items()
        groups: dict[str, Iterable[tuple[str, str]]] = {
            COMMANDS: [(name[6:], usage.summary) for name, usage in usages if name[5:6] == " " and name != SENTENCE],
            NODES: names.nodes(),
            TOOLS: [(name[6:], usage.summary) for name, usage in usages if name[5:6] == "-"],
            FLOWS: names.flows(),
        }
        found = [candidate for group, pairs in groups.items() for candidate in _named(group, pairs)]
        return Answer(self.line.word, 0, found)

    def _of_command(self, command: Usage) -> Answer:
        """A command, whose words may be a flow: a quoted text, or a step and its flags."""
        words, word = self.words[1:], self.line.word
        kinds_of_words = [argument.values for argument in command.arguments]
        if kinds.FLOW not in kinds_of_words:
            return _of_usage(command, words, word)
        before = kinds_of_words.index(kinds.FLOW)
        read = _Read(words, command.flags)
        if len(read.others) > before:
            return _of_step(words[read.others[before] :], word, command)
        if len(read.others) == before and not read.waiting and (self.line.quote or " " in word) and word[:1] != "-":
            return self._in_flow()
        return _of_usage(command, words, word)

    def _in_flow(self) -> Answer:
        """Pipe syntax in one word: the last word of its last step."""
        flow = split(self.line.word, is_flow=True)
        found = _of_step(flow.words[_step_start(flow.words) :], flow.word)
        found.flow = flow
        return found


def _step_start(words: list[str]) -> int:
    """Where the last step begins; 0 where no separator is among the words."""
    links = [n for n, word in enumerate(words) if word in _SEPARATORS or (word[:1] == "=" and word[-2:] == "=>")]
    return links[-1] + 1 if links else 0


def _of_step(words: list[str], word: str, command: Usage | None = None) -> Answer:
    """A step: the name of its type, or what that takes and then the flags of the command that runs it."""
    if not words:
        types = _named(FLOWS, [(f"flow:{name}", about) for name, about in names.flows()])
        return Answer(word, 0, [*_named(NODES, names.nodes()), *types])
    name = words[0].removeprefix("flow:").removeprefix("pflow-").partition(":")[0]
    usage = usage_of_type(name)
    if command is not None:
        usage.flags = [*usage.flags, *command.flags]
    return _of_usage(usage, words[1:], word)


def usage_of_type(name: str) -> Usage:
    """How a node, a tool or a saved flow is used; what cannot be read of it is left out."""
    from pflow.catalog.discovery import TOOL, find_node
    from pflow.help.node import usage_of_node
    from pflow.interface import Interface

    found = find_node(name)
    if found is None:
        return _usage_of_flow(name)
    if found.origin == TOOL:
        return names.read_table()[f"pflow-{found.name}"]
    from pflow.catalog.kinds import Kind

    try:
        interface = Kind(found.name, found.origin, found.file).interface
    except Exception:  # a node that is being written is completed with the flags that every stage has
        interface = Interface()
    return usage_of_node(found.name, interface)


def _usage_of_flow(name: str) -> Usage:
    """The inputs of a saved flow, and the flags of a run."""
    from pflow.catalog.flows import saved_flow
    from pflow.types import parse_type

    file = saved_flow(name)
    usage = Usage(name, "")
    if not file:
        return usage
    for each, about in names.read_flow(file).get("inputs", {}).items():
        type = parse_type(about.get("type", "any"))[0]
        flag = f"--{each.replace('_', '-')}"
        values = kinds.SWITCH if type.name == "bool" else kinds.FILE if type.name == "path" else kinds.TEXT
        usage.flags.append(
            Flag((flag,), about.get("description", ""), group=kinds.INPUTS, values=values, choices=type.choices)
        )
    usage.flags += names.read_table()["pflow run"].flags
    return usage


class _Read:
    """The words before the cursor: the flags that are given, where the other words are, the flag that wants a value."""

    def __init__(self, words: list[str], flags: list[Flag]) -> None:
        self.by_name = {name: flag for flag in reversed(flags) for name in flag.names}
        self.given: set[Flag] = set()
        self.others: list[int] = []
        self.is_ended = False
        waiting: Flag | None = None
        for at, word in enumerate(words):
            if waiting is not None:
                waiting = None
            elif self.is_ended or word[:1] != "-" or word == "-":
                self.others.append(at)
            elif word == "--":
                self.is_ended = True
            else:
                waiting = self._take(word)
        self.waiting = waiting

    def _take(self, word: str) -> Flag | None:
        """Take a flag, or a bundle of letters; the flag that wants the next word as its value."""
        name, equals, _ = word.partition("=")
        flag = None
        for each in [name] if word.startswith("--") else [f"-{letter}" for letter in word[1:]]:
            flag = self.find(each)
            if flag is None:
                return None
            self.given.add(flag)
            if flag.values and not name.endswith(each[1:]):
                return None  # the rest of the bundle is its value
        return flag if flag and flag.values and not equals else None

    def find(self, name: str) -> Flag | None:
        name = name.replace("_", "-")
        return self.by_name.get(name) or self.by_name.get(name.replace("--no-", "--", 1))


def _of_usage(usage: Usage, words: list[str], word: str) -> Answer:
    """A flag's value, a flag, or the argument that comes next."""
    read = _Read(words, usage.flags)
    if read.waiting is not None:
        return _values(read.waiting, word, 0)
    name, equals, _ = word.partition("=")
    if equals and name.startswith("--") and not read.is_ended:
        flag = read.find(name)
        return _values(flag, word, len(name) + 1) if flag else Answer(word, 0, [])
    if word.startswith("-") and not read.is_ended:
        return Answer(word, 0, _flags(usage, read.given))
    taken = len(read.others)
    rest = usage.arguments[taken:] or [each for each in usage.arguments[-1:] if each.repeats]
    found = _values(rest[0], word, 0) if rest else Answer(word, 0, [])
    if found.candidates or word or read.is_ended:
        return found
    return Answer(word, 0, [each for each in _flags(usage, read.given) if each.value.startswith("--")])


def _flags(usage: Usage, given: set[Flag]) -> Iterator[Candidate]:
    """The flags that may still be given, group by group."""
    done = {name for flag in given if not flag.repeats for name in flag.names}
    for group, flags in usage.groups():
        for flag in flags:
            if not flag.is_typed or not done.isdisjoint(flag.names):
                continue
            done.update(flag.names)
            for name in flag.names:
                yield Candidate(group, f"{name}=" if flag.values and name.startswith("--") else name, flag.text)
            if flag.is_bool:
                yield Candidate(group, f"--no-{flag.names[0][2:]}", f"not: {flag.text}")


def _values(taker: Flag | Argument, word: str, kept: int) -> Answer:
    """The values of a flag or an argument: they follow the first `kept` characters of the word."""
    choices = taker.choices
    if isinstance(taker, Flag) and taker.is_bool and kept:
        choices = ("true", "false")
    typed = word[kept:]
    found = [Candidate(VALUES, choice) for choice in choices]
    if "/" not in typed or taker.values not in _FILES:
        for group, pairs in _NAMED[taker.values]().items() if taker.values in _NAMED else ():
            found += _named(group, pairs)
    if taker.values in _FILES:
        found += [Candidate(FILES, name) for name in names.files(typed, _FILES[taker.values])]
        kept += typed.rfind("/") + 1
    return Answer(word, kept, found)


_FILES = {kinds.FILE: "", kinds.DIRECTORY: "/", kinds.FLOW: ".json"}
_NAMED = {
    kinds.MODEL: lambda: {MODELS: names.models()},
    kinds.NODE: lambda: {NODES: names.nodes(), FLOWS: names.flows()},
    kinds.SAVED: lambda: {FLOWS: names.flows()},
    kinds.FLOW: lambda: {FLOWS: names.flows(), NODES: names.nodes()},
    kinds.RUN: lambda: {RUNS: names.runs()},
}


def _named(group: str, pairs: Iterable[tuple[str, str]]) -> list[Candidate]:
    return [Candidate(group, name, about) for name, about in pairs]
