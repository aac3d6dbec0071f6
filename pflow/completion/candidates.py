"""The candidates at the cursor: the flags and values of a command, a node or a step, or the name of one."""

from __future__ import annotations

from pflow import Iterable, Iterator, Sequence
from pflow.completion import names
from pflow.completion.line import Typed, split
from pflow.completion.names import VALUES, Candidate, named, steps_in, usage_of_flow, usage_of_step, usage_of_type
from pflow.flow.pipe.scan import closes, separates
from pflow.help import usage as kinds
from pflow.help.usage import SENTENCE, CommandUsage, Flag
from pflow.stage.words import split_flag


class Candidates:
    """The candidates that begin with `typed`, which follows the first `kept` characters of the word at the cursor.

    Inside pipe syntax, `flow` is that text taken apart, and the word is its last one.
    """

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


def answer(line: Typed) -> Candidates:
    """Return the candidates; none for the file of a redirection, which the shell completes."""
    programs = [word.rpartition("/")[2] for word in line.words]
    start = next(n for n, name in enumerate(programs) if name == "pflow" or name.startswith("pflow-"))
    if line.is_redirected:
        return Candidates("", 0, [])
    words = line.words[start + 1 :]
    if programs[start] == "pflow":
        return _of_driver(words, line)
    return _of_usage(usage_of_type(programs[start][6:]), words, line.word)


def _of_driver(words: list[str], line: Typed) -> Candidates:
    table = names.read_table()
    command = table.get(f"pflow {words[0]}") if words else None
    if any(map(separates, words)):
        from pflow.flow.pipe.steps import OF_STREAMS

        steps = words[1:] if command else words
        return _of_steps(steps, line.word, line.quote, named(table["pflow run"].flags, OF_STREAMS))
    if not words and (line.quote or " " in line.word):
        return _in_flow(line)
    if not words and line.word.startswith("-"):
        return _of_usage(table["pflow"], [], line.word)
    if not words:
        return _values(table["pflow"].arguments[0], line.word, 0)
    if command is not None:
        return _of_command(command, words[1:], line)
    if " " not in words[0].strip():
        return _of_usage(usage_of_type(words[0]), words[1:], line.word)
    from pflow.flow.pipe.recognize import is_pipe

    usage = usage_of_flow(words[0]) if is_pipe(words[:1]) else table[SENTENCE]
    return _of_usage(usage, words[1:], line.word)


def _of_command(command: CommandUsage, words: list[str], line: Typed) -> Candidates:
    """Complete a command, whose words may be a flow: a file, a saved one, a quoted text, or a step and its flags."""
    wanted = [argument.values for argument in command.arguments]
    if kinds.FLOW not in wanted:
        return _of_usage(command, words, line.word)
    at = wanted.index(kinds.FLOW)
    before = _Words(words, command.flags)
    if len(before.others) > at:
        from pflow.flow.subflow import is_one_step

        flow = words[before.others[at] :]
        is_file = kinds.FILE in wanted and not line.word.startswith("-") and not flow[-1].startswith("-")
        if not is_file and is_one_step([*flow, line.word]):
            return _of_steps(flow, line.word, line.quote, command.flags)
        return _of_usage(usage_of_flow(flow[0]) if command.name == "pflow run" else command, words, line.word)
    is_text = (line.quote or " " in line.word) and not line.word.startswith("-")
    if len(before.others) == at and not before.waiting and is_text:
        return _in_flow(line)
    return _of_usage(command, words, line.word)


def _in_flow(line: Typed) -> Candidates:
    flow = split(line.word, is_flow=True)
    found = _of_steps(flow.words, flow.word, line.quote)
    found.flow = flow
    return found


def _of_steps(words: list[str], word: str, quote: str, beside: Sequence[Flag] = ()) -> Candidates:
    """Complete the last step: its type, its flags and those `beside` it, or keys after $ in single quotes."""
    starts = [n + (not closes(each)) for n, each in enumerate(words) if separates(each) or closes(each)]
    start = max(starts, default=0)
    if start == len(words):
        prefix = "flow:" if word and word[:5] in "flow:" else ""
        ids = [Candidate(names.STEPS, id, type) for type, id in dict.fromkeys(steps_in(words)) if id]
        return Candidates(word, 0, [*ids, *names.nodes(), *names.flows(prefix)])
    at = word.rfind("$") + 1
    in_braces = word.startswith("{", at)
    is_name = "}" not in word if in_braces else word[at:].replace("_", "").isalnum() == (at < len(word))
    if at and quote == "'" and is_name:
        return Candidates(word, at + in_braces, names.keys(words[:start], words[start:], in_braces=in_braces))
    usage = usage_of_step(words[start], words[:start])
    usage.flags = [*usage.flags, *beside]
    return _of_usage(usage, words[start + 1 :], word)


class _Words:
    """The words before the cursor: their flags, the places of other words, the flag that waits for a value."""

    def __init__(self, words: list[str], flags: list[Flag]) -> None:
        self.by_name = {name: flag for flag in reversed(flags) for name in flag.names}
        self.used: set[str] = set()
        self.others: list[int] = []
        self.waiting: Flag | None = None
        self.is_ended = False
        wanted = 0
        for at, word in enumerate(words):
            if wanted:
                wanted -= 1
            elif self.is_ended or word[:1] != "-" or word == "-":
                self.others.append(at)
            elif word == "--":
                self.is_ended = True
            else:
                wanted = self._take(word)
            self.waiting = self.waiting if wanted else None

    def _take(self, word: str) -> int:
        """Take a flag, or letters after one dash; return how many of the following words are its values."""
        flag, sign, kept = self.find(word)
        letters = "" if word.startswith("--") else word[1:kept]
        for each in (flag, *(self.by_name.get(f"-{letter}") for letter in letters)):
            self.used.update(each.names if each else ())
        self.waiting = flag
        if flag is None or not flag.values or sign:
            return 0
        return (flag.words if letters else min(flag.words, 1)) - (kept < len(word))

    def find(self, word: str) -> tuple[Flag | None, str, int]:
        """Return a word's flag, the sign after it (`=`, `:=`, `@`), and where a value in the same word begins.

        Of letters after one dash it is the first that may have a value, else the last.
        """
        if not word.startswith("--"):
            flag = None
            for at, letter in enumerate(word[1:], 2):
                flag = self.by_name.get(f"-{letter}")
                if flag is None or flag.values:
                    return flag, "", at
            return flag, "", len(word)
        name, sign, _ = split_flag(word)
        spelled = name.replace("_", "-")
        flag = self.by_name.get(spelled) or self.by_name.get(spelled.replace("--no-", "--", 1))
        return flag, sign, len(name) + len(sign)


def _of_usage(usage: CommandUsage, words: list[str], word: str) -> Candidates:
    before = _Words(words, usage.flags)
    free = [each for each in usage.arguments if before.used.isdisjoint(each.names)]
    before.used.update(name for each in free[: len(before.others)] for name in each.names)
    run = next((words[at] for at in before.others), "last")
    if before.waiting is not None:
        return _values(before.waiting, word, 0, run)
    if word.startswith("-") and not before.is_ended:
        flag, sign, kept = before.find(word)
        if sign == "@":
            flag = _A_FILE if flag and flag.values and flag.group in _NODES_OWN else None
        if sign or kept < len(word):
            return _values(flag, word, kept, run) if flag and sign != ":=" else Candidates(word, 0, [])
        return Candidates(word, 0, _flags(usage, before.used, word))
    rest = free[len(before.others) :] or [each for each in free[-1:] if each.repeats]
    found = _values(_in_act(rest[0], words), word, 0) if rest else Candidates(word, 0, [])
    if found.candidates or word or before.is_ended:
        return found
    return Candidates(word, 0, [each for each in _flags(usage, before.used, word) if each.value.startswith("--")])


def _in_act(argument: Flag, words: list[str]) -> Flag:
    """Return the argument of `pflow mcp ACT`: `serve` takes nodes and flows, the other acts take servers."""
    return kinds.argument("NAME", kinds.NODE) if argument.values == kinds.SERVER and "serve" in words else argument


_A_FILE = kinds.argument("FILE", kinds.FILE)
_NODES_OWN = (kinds.DATA, kinds.INPUTS, kinds.PARAMS)


def _flags(usage: CommandUsage, used: set[str], word: str) -> Iterator[Candidate]:
    """Yield the flags that may still be given, group by group. Those with a step's name wait for a dot."""
    done: set[str] = set()
    for group, flags in usage.groups():
        for flag in flags:
            spent = done if flag.repeats else done | used
            if not flag.names[0].startswith("-") or not spent.isdisjoint(flag.names):
                continue
            done.update(flag.names)  # a step's flag comes before the run's of the same name
            shown = [name for name in flag.names if "." in word or "." not in name] or flag.names
            fitting = [name for name in shown if name.startswith("--") and name.startswith(word.replace("_", "-"))]
            for name in shown:
                is_long = name.startswith("--")
                if name not in fitting[1:]:  # one flag, one candidate
                    yield Candidate(group, f"{name}=" if is_long and flag.values and flag.words else name, flag.text)
                if is_long and flag.is_bool:
                    yield Candidate(group, f"--no-{name[2:]}", _turned_off(flag, name))


def _turned_off(flag: Flag, name: str) -> str:
    """Describe --no-NAME: by the clause `; --no-NAME: …` in the flag's text, if it has one."""
    own = flag.text.partition("; --no-")[2].partition(": ")[2].partition(" [")[0]
    return own or f"turn off {name}"


# The endings of the files that a value may name.
_FILES = {kinds.FILE: "", kinds.DIRECTORY: "/", kinds.FLOW: ".json", kinds.NODE_OR_FILE: ""}
_NAMES = {
    kinds.MODEL: (names.models,),
    kinds.NODE: (names.nodes, names.flows),
    kinds.NODE_OR_FILE: (names.nodes,),
    kinds.SERVER: (names.servers,),
    kinds.SAVED: (names.flows,),
    kinds.FLOW: (names.flows, names.nodes),
    kinds.RUN: (names.runs,),
    kinds.UNFINISHED: (lambda: names.runs(kinds.UNFINISHED),),
    kinds.RUNNING: (lambda: names.runs(kinds.RUNNING),),
    kinds.WORD: (names.commands, names.nodes, names.tools, names.flows),
}


def _values(flag: Flag, word: str, kept: int, run: str = "last") -> Candidates:
    """Complete the value of a flag or argument after the first `kept` characters of the word; `run` has the steps."""
    typed = word[kept:]
    choices = ("true", "false") if flag.is_bool else flag.choices
    shown = (each for each in choices if "=" not in each or each.endswith("=") != ("=" in typed))  # KEY=, then PATH
    found = [Candidate(VALUES, choice) for choice in shown]
    wanted = _FILES.get(flag.values)
    if flag.values == kinds.MODEL and typed.startswith((".", "/", "~")):
        wanted = ".gguf"
    if wanted is None or "/" not in typed:
        found += [candidate for list_all in _NAMES.get(flag.values, ()) for candidate in list_all()]
    if flag.values == kinds.STEP:
        found += names.steps_of(run)
    if wanted is not None:
        found += names.files(typed, wanted)
        kept += typed.rfind("/") + 1
    return Candidates(word, kept, found)
