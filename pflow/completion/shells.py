"""`pflow __complete`: the candidates at the cursor, in the form that the shim of each shell wants."""

from __future__ import annotations

from itertools import groupby

from pflow import Callable, Iterable, Iterator, Sequence
from pflow.completion import names
from pflow.completion.line import TypedLine, quoted, split
from pflow.completion.names import VALUES, Candidate, flags_named, spec_of_flow, spec_of_step, spec_of_type, steps_in
from pflow.errors import PflowError, result_of
from pflow.flow.pipe.scan import closes, separates
from pflow.help import spec as kinds
from pflow.help.spec import SENTENCE, TITLES, CommandSpec, choices_of, field_text, tab_of, word_count
from pflow.interface.interface import INPUT, PARAM, READ, Field, argument, by_name
from pflow.stage.words import field_of, groups, of_letters, split_flag
from pflow.text.printable import clean

_OF_WORDS = (names.COMMANDS, names.NODES, names.STORE_COMMANDS, names.FLOWS)
_ENDED, _OPEN = "+o nospace", "-o nospace"
_LISTING = "63"
"""The COMP_TYPE of bash (the character `?`) for a TAB that lists the candidates and inserts nothing."""

_A_FILE = argument("FILE", kinds.FILE)
_NODES_OWN = (READ, INPUT, PARAM)
# The ending of the files that each kind of value may name; `/` allows only directories.
_FILES = {kinds.FILE: "", kinds.DIRECTORY: "/", kinds.FLOW: ".json", kinds.NODE_OR_FILE: ""}
_NAMES = {
    kinds.MODEL: (names.models,),
    kinds.NODE: (names.nodes, names.flows),
    kinds.NODE_OR_FILE: (names.nodes,),
    kinds.SERVER: (names.servers,),
    kinds.PACK: (names.packs,),
    kinds.CONFINED: (names.confined,),
    kinds.SAVED: (names.flows,),
    kinds.FLOW: (names.flows, names.nodes),
    kinds.RUN: (names.runs,),
    kinds.UNFINISHED: (lambda: names.runs(kinds.UNFINISHED),),
    kinds.RUNNING: (lambda: names.runs(kinds.RUNNING),),
    kinds.WORD: (names.commands, names.nodes, names.store_commands, names.flows),
}


def main(words: list[str]) -> int:
    """Print the answer to `SHELL ARGUMENT…`; nothing if there are no candidates."""
    from pflow.process.streams import write_pieces

    shell, *arguments = words
    # An error, such as a damaged pack, would be printed into the line that the person types.
    lines = result_of(_SHELLS[shell], *arguments, of=PflowError, otherwise=[])
    write_pieces(1, ["".join([f"{line}\n" for line in lines]).encode("utf-8", "surrogateescape")])
    return 0


def _bash(type: str, columns: str, breaks: str, text: str) -> list[str]:
    """Return the words for compopt and the lines of COMPREPLY."""
    line = split(text, breaks=breaks)
    found = answer(line)
    if line.is_redirected or (not found.candidates and "$" in line.raw):  # only the shell knows variables
        return ["-o default"]
    if not found.candidates:
        return []
    if type == _LISTING:
        values = [each.value for each in found.candidates]
        labelled = len(values) <= names.MOST and any(each.about for each in found.candidates)
        width = int(columns or 80)
        lines = _described(values, _labelled(found, "({}) "), width, "  ") if labelled else values
        # If a line is longer than half the width, readline shows a single column.
        return [_OPEN, f"{lines[0]:{width // 2 + 1}}" if labelled else values[0], *lines[1:]]
    words = [line.raw[line.cut :] + quoted(_rest(found, each), line.quote) for each in found.candidates]
    first = found.candidates[0]
    if len(words) == 1 and (found.flow is not None or (line.quote and first.is_open)):
        words = _left_open(words[0] + quoted(_end_in_flow(first, found.flow), line.quote))
    return [_ENDED if len(words) == 1 and not first.is_open else _OPEN, *words]


def _left_open(word: str) -> list[str]:
    """Return two candidates, so that readline and fish insert their common part, and leave the quote open."""
    return [word, word + " "]


def _rest(found: Candidates, candidate: Candidate) -> str:
    """Return the rest of a candidate after the typed text, quoted for the pipe syntax around it."""
    rest = candidate.value[len(found.typed) :]
    return rest if found.flow is None else quoted(rest, found.flow.quote)


def _end_in_flow(candidate: Candidate, flow: TypedLine | None) -> str:
    return "" if flow is None or candidate.is_open else f"{flow.quote} "


def _zsh(columns: str, quotes: str, text: str) -> list[str]:
    """Return the number of characters to keep, then a line for each group: tag, title, 2 options of compadd, cells."""
    line = split(text)
    found = answer(line)
    kept = found.kept if found.flow is None else found.flow.start + found.flow.place(found.kept)
    values = [each.value.removesuffix("=") for each in found.candidates]
    shown = _described(values, [each.about for each in found.candidates], int(columns), " -- ")
    rows = []
    for text, each in zip(shown, found.candidates, strict=True):
        value, suffix = (each.value[:-1], each.value[-1]) if each.value.endswith(("=", "/")) else (each.value, "")
        if found.flow is not None:
            suffix = suffix or quoted(_end_in_flow(each, found.flow), line.quote)
            value = quoted(value, found.flow.quote)
        rows.append(([each.group, f"-qS{suffix}" if suffix else "-S" * each.is_open], [value, text]))
    lines = [str(line.place(kept) - int(quotes))]
    for (group, suffix), run in groupby(rows, key=lambda row: row[0]):
        cells = [cell for _, pair in run for cell in pair]
        lines.append("\t".join([group, _title(group), suffix, "-l" * (values != shown), *cells]))
    return lines


def _fish(text: str) -> list[str]:
    """Return whole words without quotes, each with its description."""
    line = split(text, escapable=("\\", "'"))
    found = answer(line)
    words = [line.word + _rest(found, each) for each in found.candidates]
    abouts = _labelled(found, "[{}] ")
    if len(words) == 1 and (found.flow is not None or found.candidates[0].group == names.KEYS):
        words, abouts = _left_open(words[0] + _end_in_flow(found.candidates[0], found.flow)), [*abouts, ""]
    return [f"{word}\t{about}" for word, about in zip(words, abouts, strict=True)]


def _title(group: str) -> str:
    return TITLES.get(group) or ("Saved flows" if group == names.FLOWS else group.capitalize())


def _labelled(found: Candidates, label: str) -> list[str]:
    """Return descriptions for bash and fish, which have no headings: each begins with its group or kind."""
    kinds = {**{group: group for group in TITLES}, **{group: group.removesuffix("s") for group in _OF_WORDS}}
    labels = {group: label.format(kind) for group, kind in kinds.items()}
    return [labels.get(each.group, "") + clean(each.about) for each in found.candidates]


def _described(values: list[str], texts: list[str], columns: int, between: str) -> list[str]:
    """Return a line for each value, with its text in a second column, cut to the terminal."""
    width = max([len(value) for value in values if len(value) <= columns // 3], default=0)
    lines = [
        f"{name:{width}}{between}{clean(text)}" if text else name for name, text in zip(values, texts, strict=True)
    ]
    return [line if len(line) < columns else line[: columns - 2] + "…" for line in lines]


class Candidates:
    """The candidates that begin with `typed`: the part of the word at the cursor after its first `kept` characters.

    Inside pipe syntax, `flow` is the syntax split into words, and the word at the cursor is its last word.
    """

    def __init__(self, word: str, kept: int, candidates: Iterable[Candidate]) -> None:
        self.flow: TypedLine | None = None
        self.kept = kept
        self.typed = word[kept:]
        spelled = self.typed.replace("_", "-") if self.typed.startswith("-") else self.typed
        self.candidates = [
            Candidate(each.group, self.typed + each.value[len(spelled) :], each.about)
            for each in candidates
            if each.value.startswith(spelled)
        ]


def answer(line: TypedLine) -> Candidates:
    """Return the candidates at the end of a line; none in a redirection, where the shell itself completes."""
    programs = [word.rpartition("/")[2] for word in line.words]
    start = next(n for n, name in enumerate(programs) if name == "pflow" or name.startswith("pflow-"))
    if line.is_redirected:
        return Candidates("", 0, [])
    words = line.words[start + 1 :]
    if programs[start] == "pflow":
        return _complete_driver(words, line)
    return _complete_spec(spec_of_type(programs[start][6:]), words, line.word)


def _complete_driver(words: list[str], line: TypedLine) -> Candidates:
    name = f"pflow {words[0]}" if words else ""
    table = names.read_table([name, "pflow", "pflow run", SENTENCE])
    command = table.get(name)
    if any(map(separates, words)):
        from pflow.flow.pipe.steps import OF_STREAMS

        steps = words[1:] if command else words
        return _complete_steps(steps, line.word, line.quote, flags_named(table["pflow run"].flags, OF_STREAMS))
    if not words and (line.quote or " " in line.word):
        return _complete_in_flow(line)
    if not words and line.word.startswith("-"):
        return _complete_spec(table["pflow"], [], line.word)
    if not words:
        return _complete_value(table["pflow"].arguments[0], line.word, 0)
    if command is not None:
        return _complete_command(command, words[1:], line)
    if " " not in words[0].strip():
        return _complete_spec(spec_of_type(words[0]), words[1:], line.word)
    from pflow.flow.pipe.scan import is_pipe

    spec = spec_of_flow(words[0]) if is_pipe(words[:1]) else table[SENTENCE]
    return _complete_spec(spec, words[1:], line.word)


def _complete_command(command: CommandSpec, words: list[str], line: TypedLine) -> Candidates:
    """Complete a command, whose words may be a flow: a file, a saved flow, quoted pipe syntax, or one step's words."""
    wanted = [each.tab for each in command.arguments]
    if kinds.FLOW not in wanted:
        return _complete_spec(command, words, line.word)
    at = wanted.index(kinds.FLOW)
    before = _TypedWords(words, line.word, command.flags)
    if len(before.others) > at:
        from pflow.flow.subflow import is_one_step

        flow = words[before.others[at] :]
        is_file = kinds.FILE in wanted and not line.word.startswith("-") and not flow[-1].startswith("-")
        if not is_file and is_one_step([*flow, line.word]):
            return _complete_steps(flow, line.word, line.quote, command.flags)
        return _complete_spec(spec_of_flow(flow[0]) if command.name == "pflow run" else command, words, line.word)
    is_text = (line.quote or " " in line.word) and not line.word.startswith("-")
    if len(before.others) == at and not before.waiting and is_text:
        return _complete_in_flow(line)
    return _complete_spec(command, words, line.word)


def _complete_in_flow(line: TypedLine) -> Candidates:
    flow = split(line.word, is_flow=True)
    found = _complete_steps(flow.words, flow.word, line.quote)
    found.flow = flow
    return found


def _complete_steps(words: list[str], word: str, quote: str, beside: Sequence[Field] = ()) -> Candidates:
    """Complete the last step: its type, a flag of its own or in `beside`, or a key after a $ in single quotes."""
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
    spec = spec_of_step(words[start], words[:start])
    spec.flags = [*spec.flags, *beside]
    return _complete_spec(spec, words[start + 1 :], word)


class _TypedWords:
    """The words up to the cursor: names of flags `used`, indices of `others`, the flag `waiting` for its value."""

    def __init__(self, words: list[str], word: str, flags: list[Field]) -> None:
        self.fields = by_name(reversed(flags))
        self.used: set[str] = set()
        self.others: list[int] = []
        self.waiting: Field | None = None
        self.is_ended = False
        at = 0
        for found, group in groups([*words, word], self.fields):
            end = at + len(group)
            if at == len(words):
                break
            if group[0] == "--":
                self.is_ended = True
                self.others += range(at + 1, len(words))
            elif len(group[0]) < 2 or group[0][0] != "-":
                self.others.append(at)
            elif end > len(words):
                self.waiting = found[-1] if found else None
            self.used.update(name for each in found for name in each.names)
            at = end

    def find(self, word: str) -> tuple[Field | None, str, int]:
        """Return a word's flag, the sign after it (`=`, `:=`, `@`), and the index at which its value begins.

        For several letters after one dash, the flag is the first one that may have a value, else the last one.
        """
        if not word.startswith("--"):
            letters = of_letters(word, self.fields)
            is_known = len(letters) == len(word) - 1 or (bool(letters) and bool(tab_of(letters[-1])))
            return letters[-1] if letters and is_known else None, "", len(letters) + 1
        name, sign, _ = split_flag(word)
        return field_of(name, "", self.fields), sign, len(name) + len(sign)


def _complete_spec(spec: CommandSpec, words: list[str], word: str) -> Candidates:
    before = _TypedWords(words, word, spec.flags)
    free = [each for each in spec.arguments if before.used.isdisjoint(each.names)]
    before.used.update(name for each in free[: len(before.others)] for name in each.names)
    run = next((words[at] for at in before.others), "last")
    if before.waiting is not None:
        return _complete_value(before.waiting, word, 0, run)
    if word.startswith("-") and not before.is_ended:
        flag, sign, kept = before.find(word)
        if sign == "@":
            flag = _A_FILE if flag and tab_of(flag) and flag.kind in _NODES_OWN else None
        if sign or kept < len(word):
            return _complete_value(flag, word, kept, run) if flag and sign != ":=" else Candidates(word, 0, [])
        return Candidates(word, 0, _flags(spec, before.used, word))
    rest = free[len(before.others) :] or [each for each in free[-1:] if each.type.name == "list"]
    found = _complete_value(_in_act(rest[0], words), word, 0) if rest else Candidates(word, 0, [])
    if found.candidates or word or before.is_ended:
        return found
    return Candidates(word, 0, [each for each in _flags(spec, before.used, word) if each.value.startswith("--")])


def _in_act(word: Field, words: list[str]) -> Field:
    """Return the argument of `pflow mcp ACT`: `serve` takes nodes and flows, the other acts take servers."""
    return argument("NAME", kinds.NODE) if word.tab == kinds.SERVER and "serve" in words else word


def _is_bool(flag: Field) -> bool:
    """Return True for a switch that --no-NAME turns off."""
    return flag.type.name == "bool" and flag.kind in _NODES_OWN


def _flags(spec: CommandSpec, used: set[str], word: str) -> Iterator[Candidate]:
    """Yield the flags that may follow, group by group; the many STEP.NAME only after a dot is typed."""
    done: set[str] = set()
    for group, flags in spec.groups():
        for flag in flags:
            names = flag.names
            spent = done if flag.type.name == "list" else done | used
            if not names[0].startswith("-") or not spent.isdisjoint(names):
                continue
            done.update(names)  # a step's flag comes first, and hides the run's of the same name
            shown = [name for name in names if "." in word or "." not in name] or names
            fitting = [name for name in shown if name.startswith("--") and name.startswith(word.replace("_", "-"))]
            for name in shown:
                is_long = name.startswith("--")
                if name not in fitting[1:]:  # two spellings that both fit are one candidate
                    takes_value = is_long and tab_of(flag) and word_count(flag)
                    yield Candidate(group, f"{name}=" if takes_value else name, field_text(flag))
                if is_long and _is_bool(flag):
                    yield Candidate(group, f"--no-{name[2:]}", _describe_no_flag(flag, name))


def _describe_no_flag(flag: Field, name: str) -> str:
    """Describe --no-NAME with the clause `; --no-NAME: …` in the flag's text, if it has one."""
    own = flag.doc.partition("; --no-")[2].partition(": ")[2]
    return own or f"turn off {name}"


def _complete_value(flag: Field, word: str, kept: int, run: str = "last") -> Candidates:
    """Complete the value of a flag or argument, which begins after `kept` characters of the word. Steps are `run`'s."""
    typed = word[kept:]
    choices = ("true", "false") if _is_bool(flag) else choices_of(flag)
    # For --map-in offer only each KEY= at first, and the many KEY=PATH after the = is typed.
    shown = (each for each in choices if "=" not in each or each.endswith("=") != ("=" in typed))
    found = [Candidate(VALUES, choice) for choice in shown]
    kind = tab_of(flag)
    wanted = _FILES.get(kind)
    if kind == kinds.MODEL and typed.startswith((".", "/", "~")):
        wanted = ".gguf"
    if wanted is None or "/" not in typed:
        found += [candidate for list_all in _NAMES.get(kind, ()) for candidate in list_all()]
    if kind in (kinds.FLOW, kinds.WORD) and typed.startswith("flow:"):
        found += names.flows("flow:")
    if kind == kinds.STEP:
        found += names.steps_of(run)
    if wanted is not None:
        found += names.files(typed, wanted)
        kept += typed.rfind("/") + 1
    return Candidates(word, kept, found)


_SHELLS: dict[str, Callable[..., list[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
