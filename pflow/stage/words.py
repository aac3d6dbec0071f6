"""Words: the texts of each flag, from the words after a command's name, including bare words and letters.

This is the only parser of flags: of stages, tools, steps in pipe syntax, runs and commands.
"""

from __future__ import annotations

from pflow import TYPE_CHECKING, Iterator, Mapping, Sequence
from pflow.binding.flag_value import Json, Word, read_text
from pflow.errors import USAGE, PflowError, shorten
from pflow.interface.common import COMMON, OF_FLOWS, RUN_FLAGS, is_shared
from pflow.interface.interface import ARGUMENT, COMMON_FLAG, OPTION, READ, REFUSED, TEXT, Item, spell_flag, word_reads

if TYPE_CHECKING:
    Items = Mapping[str, Item]
    """Every read, param and flag by each name that its flag goes by, and the bare words of a command (`by_name`)."""

    Texts = dict[str, list[str | bool]]
    """The texts after each flag; a switch is True, and False with --no-."""


_IN_A_BATCH = "pflow run 'list-files \"*.txt\" => read-file --each'"
_IN_A_FLOW = {"repeats": "pflow run 'shell make --repeats => write-file log.txt'"}
_IN_A_FLOW["max_visits"] = "pflow run 'judge:j --max-visits=9 =failed=> llm => j'"
_NO_BLANKS = "no blanks around it: --KEY=VALUE"


def take_words(words: Sequence[str], items: Items, *, is_open: bool = False, hint: str = "") -> Texts:
    """Return the texts of each flag. Raises PflowError (2) for the first word that no item takes.

    With `is_open` any flag passes. `hint` goes with an unknown flag that resembles no other. A file that a flag names
    and that cannot be read has its own exit code.
    """
    texts: Texts = {}
    bare: list[str] = []
    switch = ""
    for found, (word, *values) in groups(words, items, is_open=is_open):
        if word == "--":
            bare += values
        elif not is_flag(word):
            _check_bare(word, switch, items)
            bare.append(word)
            switch = ""
        elif not word.startswith("--"):
            switch = _take_letters(texts, items, found, word, values, bare)
        elif not found and not is_open:
            raise _unknown(word, items, (hint or "--help lists the flags") + _quotes(bare, word, items))
        else:
            switch = _take_long(texts, items, found, word, values)
    _fill(texts, items, bare)
    return texts


def groups(words: Sequence[str], items: Items, *, is_open: bool = False) -> Iterator[tuple[list[Item], list[str]]]:
    """Yield each flag with the words of its value, each bare word, and `--` with all after it; and the flag's items.

    Letters behind one dash have several items, an unknown flag none. After it the next flag is not its value.
    """
    rest = [*reversed(words)]
    while rest:
        word = rest.pop()
        first = rest[-1] if rest else ""
        found: list[Item] = []
        wanted = 0
        if word == "--":
            wanted = len(rest)
        elif word.startswith("--"):
            flag, sign, _ = split_flag(word)
            item = item_of(flag, sign, items)
            found = [item] if item else []
            if not sign:
                wanted = _count(item, first) if item else int(is_open and not first.startswith("-"))
        elif is_flag(word):
            found = of_letters(word, items)
            at = len(found) + 1
            wanted = _count(found[-1], word[at:] or first) - bool(word[at:]) if is_known(word, found) else 0
        yield found, [word, *(rest.pop() for _ in range(min(wanted, len(rest))))]


def flags_in(words: Sequence[str], items: Items, *, is_open: bool = False) -> dict[str, list[str]]:
    """Return the texts of the flags among the words, without refusing any; an unknown flag goes by its own name.

    This is for what is decided before the words are parsed, or after they were refused. A switch alone is `true`.
    """
    said: dict[str, list[str]] = {}
    for found, (word, *values) in groups(words, items, is_open=is_open):
        if word.startswith("--"):
            flag, sign, _ = split_flag(word)
            item = items.get(_plain(flag))
            name = item.name if item else _plain(flag)
            text = word.removeprefix(flag).removeprefix("=") if sign else "=".join(values) if values else "true"
            said.setdefault(name, []).append(text)
            continue
        for at, item in enumerate(found, 2):
            text = "true" if item.type.name == "bool" else "=".join([*[word[at:]] * bool(word[at:]), *values])
            said.setdefault(item.name, []).append(text)
    return said


def is_asked(name: str, words: Sequence[str], items: Items, *, is_open: bool = False) -> bool:
    """Return True if a switch is among the words and on, even beside wrong ones."""
    return is_on(name, flags_in(words, items, is_open=is_open))


def is_on(name: str, said: Mapping[str, list[str]]) -> bool:
    """Return True if a switch is on by what `flags_in` found."""
    return said.get(name, [""])[-1] == "true"


def is_flag(word: str) -> bool:
    """Return True for a flag or letters, but neither `-`, which is a word, nor `--`, which ends the flags."""
    return len(word) > 1 and word[0] == "-" and word != "--"


def is_known(word: str, found: list[Item]) -> bool:
    """Return True for a flag of which these are all items: none of several letters is unknown."""
    is_whole = word.startswith("--") or len(found) == len(word) - 1
    return bool(found) and (is_whole or found[-1].type.name != "bool")


def part(
    words: Sequence[str], items: Items, own: Items, *, is_open: bool = False
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Split the words from a command's `own` flags. A flag that is among `items` too is not the command's."""
    others, beside = list[str](), list[str]()
    for found, group in groups(words, {**COMMON, **own, **items}, is_open=is_open):
        is_own = is_known(group[0], found) and all(own.get(item.name) is item for item in found)
        (beside if is_own else others).extend(group)
    return others, beside


def _plain(flag: str) -> str:
    return flag[2:].replace("-", "_")


def split_flag(word: str) -> tuple[str, str, str]:
    """Split a flag at the first of `@`, `:=` and `=`, into name, sign and value; the last two may be empty."""
    flag, sign, text = word.partition("=")
    if "@" in flag:
        return word.partition("@")
    if sign and flag.endswith(":"):
        return flag[:-1], ":=", text
    return flag, sign, text


def item_of(flag: str, sign: str, items: Items) -> Item | None:
    """Return the item of a flag, or the switch that --no-NAME turns off."""
    name = _plain(flag)
    item = items.get(name)
    if item is None and not sign and name.startswith("no_"):
        item = items.get(name[3:])
        return item if item is not None and item.type.name == "bool" and name[3:6] != "no_" else None
    return None if item is None or item.kind == ARGUMENT else item


def of_letters(word: str, items: Items) -> list[Item]:
    """Return the items of the letters behind one dash, up to the first with a value or to an unknown one."""
    letters = {item.letter: item for item in items.values() if item.letter}
    found = []
    for letter in word[1:]:
        if letter not in letters:
            break
        found.append(letters[letter])
        if found[-1].type.name != "bool":
            break
    return found


def _count(item: Item, first: str) -> int:
    """Count the words of a value whose first word is known: NAME=VALUE is one, NAME VALUE two, as is URL?a=b TYPE."""
    if item.type.name == "bool" or (item.word and first.startswith("-")):
        return 0
    if "types" in item.marks:
        from pflow.words.naming import split_type

        return 1 if all(split_type(first)) else 2
    return 2 if "pairs" in item.marks and "=" not in first else 1


def _take_long(texts: Texts, items: Items, found: list[Item], word: str, values: list[str]) -> str:
    """Take a flag and its value; return the flag if it is a switch."""
    flag, sign, text = split_flag(word)
    name = _plain(flag)
    item = found[0] if found else None
    if item is None:
        item = Item(READ, name, TEXT)
    elif name not in items:
        return _add(texts, item, flag, False)
    if sign in ("@", ":=") and (item.kind in (COMMON_FLAG, OPTION) or is_shared(item)):
        what = "no file" if sign == "@" else "no JSON"
        raise PflowError(f"cannot take {flag}{sign}: it takes {what}", hint=f"{flag}={shorten(text)}", exit=USAGE)
    if item.is_secret:
        hint = f"set {item.env}" if item.env else "it comes from the store"
        raise PflowError(f"cannot take {flag}: a secret is never a flag", hint=hint, exit=USAGE)
    if not sign and not values and item.type.name != "bool" and not item.word:
        raise PflowError(f"cannot take {flag}: it needs a value", hint=f"{flag}=VALUE", exit=USAGE)
    value = Json(text) if sign == ":=" else text if sign == "=" else "=".join(values) if values else True
    return _add(texts, item, flag, read_text(flag, text) if sign == "@" else value)


def _add(texts: Texts, item: Item, flag: str, value: str | bool) -> str:
    """Add a text; return the flag of a switch, behind which `true` would be a mistake.

    Behind a common flag with a letter, such as -n, `true` is a word: nobody gives these a value. A switch may be said
    twice alike.
    """
    if item.refused:
        raise refusal(item)
    said = texts.setdefault(item.name, [])
    if said and item.type.name != "list" and (item.type.name != "bool" or said != [value]):
        raise PflowError(f"cannot take {flag} twice", exit=USAGE)
    if not said or item.type.name == "list":
        said.append(value)
    is_plain = bool(item.letter) and item.kind in (COMMON_FLAG, OPTION)
    return flag if isinstance(value, bool) and not is_plain else ""


def refusal(item: Item) -> PflowError:
    """Return the error for a flag that is known, and not taken here."""
    what, hint = item.refused or ("", "")
    return PflowError(f"cannot take {item.flag}{what}", hint=hint, exit=USAGE)


def _quotes(bare: list[str], word: str, items: Items) -> str:
    """Return a hint at the quotes that would make an unknown flag a part of the text before it, if a node takes one."""
    is_text = bare and not all(item.type.is_path or item.kind == ARGUMENT for item in word_reads(items))
    return f"; quotes make it a part of the text: '{shorten(' '.join([*bare, word]))}'" if is_text else ""


def _take_letters(
    texts: Texts, items: Items, found: list[Item], word: str, values: list[str], bare: list[str]
) -> str:  # fmt: skip
    """Take letters behind one dash, of which only the last may have a value; return its flag if it is a switch."""
    name = word[1:].partition("=")[0].replace("-", "_")
    are_switches = len(found) == len(word) - 1 and all(item.type.name == "bool" for item in found)
    if len(name) > 1 and name in items and not are_switches:
        from pflow.words.naming import did_you_mean

        flag = shorten(word.partition("=")[0])
        raise PflowError(f"cannot take {flag}: no such flag", hint=did_you_mean(f"-{flag}"), exit=USAGE)
    switch = ""
    for at, item in enumerate(found, 2):
        if item.type.name != "bool":
            _take_value(texts, item, [word[at:]] * bool(word[at:]) + values)
            return ""
        switch = _add(texts, item, f"-{item.letter}", True)
    if found and word[len(found) + 1 :].startswith("="):
        what = f"cannot take {shorten(word)}: no = stands behind a letter"
        raise PflowError(what, hint=f"{found[-1].flag}{shorten(word[len(found) + 1 :])}", exit=USAGE)
    if len(found) < len(word) - 1:
        raise _unknown_letter(word, word[len(found) + 1], items, bare)
    return switch and spell_flag(found[-1].name)


def _unknown_letter(word: str, letter: str, items: Items, bare: list[str]) -> PflowError:
    if word[1] == "j" and word[2:].isdecimal() and "jobs" in items:
        return PflowError(f"cannot take {shorten(word)}: no such flag", hint=f"--jobs={word[2:]}", exit=USAGE)
    hint = _in_place_of(f"-{letter}", items) or _behind_dashes(word)
    hint = hint or "--help lists the flags" + _quotes(bare, word, items)
    return PflowError(f"cannot take -{letter}: no such flag", hint=hint, exit=USAGE)


def _take_value(texts: Texts, item: Item, values: list[str]) -> None:
    """Take the value after a letter, or the name and the value, which become one text."""
    flag = f"-{item.letter}"
    if len(values) < _count(item, values[0] if values else ""):
        what, form = ("a name and a value", "NAME VALUE") if "pairs" in item.marks else ("a value", "VALUE")
        raise PflowError(f"cannot take {flag}: it needs {what}", hint=f"{flag} {form}", exit=USAGE)
    value = Word("=".join(values)) if "pairs" in item.marks else values[0]
    _add(texts, item, flag, value)


def _check_bare(word: str, switch: str, items: Items) -> None:
    """Refuse a word that was meant as something else. `switch` is the flag before it, if it took no value."""
    if switch and word in ("true", "false"):
        hint = f"leave it out; -- {word} if it is the value" if switch.startswith("--no-") else f"{switch}={word}"
        raise PflowError(f"cannot take the bare word '{word}'", hint=hint, exit=USAGE)
    if word in ("-", "=") and not _is_of_command(items):
        hint = {"-": "leave the word out: the pipe already gives the value", "=": _NO_BLANKS}[word]
        hint += f"; -- {word} if it is the value" if word_reads(items) else ""
        raise PflowError(f"cannot take '{word}'", hint=hint, exit=USAGE)


def _fill(texts: Texts, items: Items, bare: list[str]) -> None:
    """Give bare words to the reads that take them and have no flag."""
    mapped = [str(text).partition("=")[0] for text in texts.get("map_in", ())]
    free = [item for item in word_reads(items) if item.name not in texts and item.name not in mapped]
    for at, word in enumerate(bare):
        if not free:
            raise _one_too_many(bare, at, texts, items)
        texts.setdefault(free[0].name, []).append(Word(word))
        free = free if free[0].type.name == "list" else free[1:]
    is_command = any("verbatim" in item.marks and texts.get(item.name) == bare[:1] for item in word_reads(items))
    if is_command and len(bare) > 1:
        from pflow.values.templates import uses_arguments

        if uses_arguments(bare[0]):
            return
        hint = f'{_together(bare)}; "$1" is a command\'s first argument'
        what = f"cannot take the bare word '{shorten(bare[1])}': '{shorten(bare[0])}' does not use its arguments"
        raise PflowError(what, hint=hint, exit=USAGE)


def _one_too_many(bare: list[str], at: int, texts: Texts, items: Items) -> PflowError:
    """Return the error for a bare word too many: the hint names the flag that has or would take it."""
    what = f"cannot take the bare word '{shorten(bare[at])}'"
    filled = [item for item in word_reads(items) if isinstance(texts.get(item.name, [""])[0], Word)]
    if at and filled and filled[-1].kind == ARGUMENT:
        there = f"{filled[-1].metavar.strip('[]…')} is '{shorten(str(texts[filled[-1].name][0]))}'"
        return PflowError(f"{what}: {there}", hint="leave one of them out", exit=USAGE)
    if at and filled:
        there = f"{filled[-1].flag} has '{shorten(str(texts[filled[-1].name][0]))}'"
        return PflowError(f"{what}: {there}", hint=_quoted(bare, filled[-1], items), exit=USAGE)
    if word_reads(items):
        hint = _NO_BLANKS if ["="] in texts.values() else "leave one of them out"
        return PflowError(f"{what}: {word_reads(items)[-1].flag} is given", hint=hint, exit=USAGE)
    reads = [item for item in items.values() if item.kind == READ and not item.is_secret]
    reads = [item for item in reads if item.name not in texts and not item.type.holds_rows]
    needed = [item for item in reads if item.required and "pipe" not in item.marks]
    wanted = next(iter(needed + reads), None)
    hint = f"{wanted.flag}='{shorten(bare[at])}'" if wanted else "--help lists the flags"
    return PflowError(f"{what}: it takes flags only", hint=hint, exit=USAGE)


def _quoted(bare: list[str], item: Item, items: Items) -> str:
    """Return what to quote: a pattern if all words are files, which the shell made of it; else the words."""
    from os.path import isfile, lexists, splitext

    if item.type.is_path and all("\0" not in word and lexists(word) for word in bare):
        return f"quotes keep a pattern from the shell: '*{splitext(bare[0])[1]}'"
    if "\0" in bare[-1] or not isfile(bare[-1]):
        return _together(bare)
    attached = f", and -a {bare[-1]} attaches it" if "attachment" in items else ""
    return f"<{bare[-1]} reads that file{attached}; {_together(bare)}"


def _together(bare: list[str]) -> str:
    return f"quotes keep words together: '{shorten(' '.join(bare))}'"


def _behind_dashes(word: str) -> str:
    if word == "->":
        return "steps are joined by ::, or by => in quotes"
    return f"-- '{shorten(word)}' if it is not a flag" if " " in word else ""


def _unknown(word: str, items: Items, hint: str) -> PflowError:
    from pflow.words.naming import did_you_mean, meant

    flag = split_flag(word)[0]
    near = meant(flag[2:].replace("_", "-"), _flag_names(items))
    hint = did_you_mean(f"--{near}") if near else _behind_dashes(flag) if " " in flag else hint
    hint = _in_place_of(flag, items) or hint
    name = flag[2:].replace("-", "_").removeprefix("no_")
    is_command = _is_of_command(items)
    if name in OF_FLOWS and not is_command:
        hint = f"a step of a flow takes it: {_IN_A_FLOW.get(name, _IN_A_BATCH)}"
    elif name in RUN_FLAGS and not is_command:
        whose = "a budget is a run's" if name.startswith("max_") else "a run takes it"
        hint = f"{whose}: pflow run {flag} FLOW"
    return PflowError(f"cannot take {shorten(flag if name else word)}: no such flag", hint=hint, exit=USAGE)


def _is_of_command(items: Items) -> bool:
    """Return True for the flags of a command or a tool, which is no stage, step or run."""
    return "map_in" not in items


def _in_place_of(option: str, items: Items) -> str:
    """Say what docs/llm.md has in place of an option of llm's; empty for any other, and for other nodes than llm."""
    if "schema_multi" not in items:
        return ""
    from pflow.catalog.registry import bundled_directory
    from pflow.files.reading import read_regular

    try:
        page = read_regular(f"{bundled_directory()}/docs/llm.md").decode()
    except OSError:
        return ""
    rows = (line.split(" | ") for line in page.partition("## Other options")[2].splitlines())
    place = next((row[1] for row in rows if len(row) == 2 and f"`{option}`" in row[0]), "")
    return f"with pflow: {place.rstrip(' |').replace('`', '')}" if place else ""


def _flag_names(items: Items) -> list[str]:
    known = [name for name, item in items.items() if item.kind not in (REFUSED, ARGUMENT)]
    return [name.replace("_", "-") for name in sorted(known, key=lambda name: items[name].kind == COMMON_FLAG)]


def doubts(flag: str, items: Items) -> list[str]:
    """Return a warning for an open node's flag like a common one. Raises PflowError (2) for one like its own."""
    from pflow.words.naming import did_you_mean, nearest

    near = nearest(flag[2:].replace("_", "-"), _flag_names(items))
    if near and items[near.replace("-", "_")].kind != COMMON_FLAG:
        raise _unknown(flag, items, "")
    return [f"{shorten(flag)} is a key of its own ({did_you_mean(f'--{near}')})"] if near else []
