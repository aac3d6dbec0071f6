"""Words: the texts of each flag, from the words after a command's name, including bare words and letters."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.flag_value import Json, Word, read_text
from pflow.errors import USAGE, PflowError, shorten
from pflow.interface.common import COMMON, LETTERS, OF_FLOWS, RUN_FLAGS
from pflow.interface.interface import Item, spell_flag, word_reads
from pflow.values.templates import uses_arguments

if TYPE_CHECKING:
    Items = dict[str, Item]
    """Every read and param by each name that its flag goes by."""

    Texts = dict[str, list[str | bool]]
    """The texts after each flag; a switch is True, and False with --no-."""


_IN_A_BATCH = "pflow run 'list-files \"*.txt\" => read-file --each'"
_IN_A_FLOW = {"repeats": "pflow run 'shell make --repeats => write-file log.txt'"}
_IN_A_FLOW["max_visits"] = "pflow run 'judge:j --max-visits=9 =failed=> llm => j'"
_NO_BLANKS = "no blanks around it: --KEY=VALUE"


def take_words(words: list[str], items: Items, *, is_open: bool, hint: str = "--help lists the flags") -> Texts:
    """Return the texts of each flag. Raises PflowError (2) for the first word that no item or common flag takes.

    With `is_open` any flag passes. `hint` goes with an unknown flag that resembles no other. A file that a flag names
    and that cannot be read has its own exit code.
    """
    texts: Texts = {}
    bare: list[str] = []
    rest = words[::-1]
    switch = ""
    while rest:
        word = rest.pop()
        if word == "--":
            bare += rest[::-1]
            break
        if not _is_flag(word):
            _check_bare(word, switch)
            bare.append(word)
            switch = ""
            continue
        values = [rest.pop() for _ in range(values_after(word, rest, items, is_open=is_open))]
        if word.startswith("--"):
            unknown = "" if is_open else hint + _quotes(bare, word, items)
            switch = _take_long(texts, items, word, values, hint=unknown)
        else:
            unknown = "--help lists them" + _quotes(bare, word, items)
            switch = _take_letters(texts, items, word, values, hint=unknown)
    _fill(texts, items, bare)
    return texts


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and word != "--"


def values_after(word: str, rest: list[str], items: Items, *, is_open: bool) -> int:
    """Count the words of `rest`, in reverse order, that are values of a flag or of letters behind one dash.

    A bare word has no values. After an unknown flag, the next flag is not taken for its value.
    """
    return min(_values_wanted(word, rest, items, is_open=is_open), len(rest)) if _is_flag(word) else 0


def _values_wanted(word: str, rest: list[str], items: Items, *, is_open: bool) -> int:
    if word.startswith("--"):
        flag, sign, _ = split_flag(word)
        name = flag[2:].replace("-", "_")
        item = items.get(name) or COMMON.get(name)
        if item is None and (_switched_off(name, items) or not is_open or (rest and rest[-1].startswith("-"))):
            return 0
        if sign or (item and item.type.name == "bool"):
            return 0
        return _count(item, rest[-1] if rest else "") if item else 1
    letters = _letters(items)
    for at, letter in enumerate(word[1:], 2):
        item = letters.get(letter)
        if item is None or item.type.name != "bool":
            return _count(item, word[at:] or (rest[-1] if rest else "")) - bool(word[at:]) if item else 0
    return 0


def split_flag(word: str) -> tuple[str, str, str]:
    """Split a flag at the first of `@`, `:=` and `=`, into name, sign and value; the last two may be empty."""
    flag, sign, text = word.partition("=")
    if "@" in flag:
        return word.partition("@")
    if sign and flag.endswith(":"):
        return flag[:-1], ":=", text
    return flag, sign, text


def _letters(items: Items) -> Items:
    known = {item.letter: item for item in items.values() if item.letter}
    return {**known, **{letter: COMMON[name] for letter, name in LETTERS.items()}}


def _count(item: Item, first: str) -> int:
    """Count the words of a value whose first word is known: NAME=VALUE is one, NAME VALUE two, as is URL?a=b TYPE."""
    if "types" in item.marks:
        from pflow.words.naming import split_type

        return 1 if all(split_type(first)) else 2
    return 2 if "pairs" in item.marks and "=" not in first else 1


def _switched_off(name: str, items: Items) -> Item | None:
    """Return the switch that --no-NAME turns off: one of the items, or a common one with a word."""
    common = COMMON.get(name.removeprefix("no_"))
    item = common if common is not None and common.word else items.get(name.removeprefix("no_"))
    return item if item is not None and item.type.name == "bool" else None


def _take_long(texts: Texts, items: Items, word: str, values: list[str], *, hint: str) -> str:
    """Take a flag and its value; return the flag if it is a switch. Without `hint` an unknown flag passes."""
    flag, sign, text = split_flag(word)
    name = flag[2:].replace("-", "_")
    if name in COMMON and sign in ("@", ":="):
        what = "no file" if sign == "@" else "no JSON"
        raise PflowError(f"cannot take {flag}{sign}: it takes {what}", hint=f"{flag}={shorten(text)}", exit=USAGE)
    item = items.get(name) or COMMON.get(name)
    off = _switched_off(name, items) if item is None and not sign else None
    if off is not None:
        _add(texts, off.name, flag, False)
        return flag
    if item is None and hint:
        raise _unknown(flag, items, hint)
    if item is not None and item.is_secret:
        hint = f"set {item.env}" if item.env else "it comes from the store"
        raise PflowError(f"cannot take {flag}: a secret is never a flag", hint=hint, exit=USAGE)
    type = item.type.name if item else ""
    if not sign and type != "bool" and not values:
        raise PflowError(f"cannot take {flag}: it needs a value", hint=f"{flag}=VALUE", exit=USAGE)
    value = Json(text) if sign == ":=" else text if sign == "=" else "=".join(values) if values else True
    value = read_text(flag, text) if sign == "@" else value
    _add(texts, item.name if item else name, flag, value, repeats=type == "list")
    return flag if value is True else ""


def _add(texts: Texts, name: str, flag: str, value: str | bool, *, repeats: bool = False) -> None:
    if name in texts and not repeats:
        raise PflowError(f"cannot take {flag} twice", exit=USAGE)
    texts.setdefault(name, []).append(value)


def _quotes(bare: list[str], word: str, items: Items) -> str:
    """Return a hint at the quotes that would make an unknown flag a part of the text before it, if there is one."""
    is_text = bare and not all(item.type.is_path for item in word_reads(items))
    return f"; quotes make it a part of the text: '{shorten(' '.join([*bare, word]))}'" if is_text else ""


def _take_letters(texts: Texts, items: Items, word: str, values: list[str], *, hint: str) -> str:
    """Take letters behind one dash, of which only the last may have a value; return its flag if it is a switch."""
    letters = _letters(items)
    name = word[1:].partition("=")[0].replace("-", "_")
    if len(name) > 1 and (name in items or name in COMMON) and not set(name) <= set(LETTERS):
        from pflow.words.naming import did_you_mean

        flag = shorten(word.partition("=")[0])
        raise PflowError(f"cannot take {flag}: no such flag", hint=did_you_mean(f"-{flag}"), exit=USAGE)
    item: Item | None = None
    for at, letter in enumerate(word[1:], 2):
        item = letters.get(letter)
        if item is None and word.startswith("-j") and word[2:].isdecimal() and "jobs" in items:
            raise PflowError(f"cannot take {shorten(word)}: no such flag", hint=f"--jobs={word[2:]}", exit=USAGE)
        if item is None:
            hint = _in_place_of(f"-{letter}", items) or _behind_dashes(word) or hint
            raise PflowError(f"cannot take -{letter}: no such flag", hint=hint, exit=USAGE)
        if item.type.name != "bool":
            _take_value(texts, item, [word[at:]] * bool(word[at:]) + values)
            return ""
        _add(texts, item.name, f"-{letter}", True, repeats=letter in LETTERS)
    return spell_flag(item.name) if item else ""


def _take_value(texts: Texts, item: Item, values: list[str]) -> None:
    """Take the value after a letter, or the name and the value, which become one text."""
    flag = f"-{item.letter}"
    if len(values) < _count(item, values[0] if values else ""):
        what, form = ("a name and a value", "NAME VALUE") if "pairs" in item.marks else ("a value", "VALUE")
        raise PflowError(f"cannot take {flag}: it needs {what}", hint=f"{flag} {form}", exit=USAGE)
    value = Word("=".join(values)) if "pairs" in item.marks else values[0]
    _add(texts, item.name, flag, value, repeats=item.type.name == "list")


def _check_bare(word: str, switch: str) -> None:
    """Refuse a word that was meant as something else. `switch` is the flag before it, if it took no value.

    Behind a common flag with a letter, such as -n, `true` is a word: nobody gives these a value.
    """
    if switch and switch[2:].replace("-", "_") not in LETTERS.values() and word in ("true", "false"):
        hint = f"leave it out; -- {word} if it is the value" if switch.startswith("--no-") else f"{switch}={word}"
        raise PflowError(f"cannot take the bare word '{word}'", hint=hint, exit=USAGE)
    if word in ("-", "="):
        hint = {"-": "leave the word out: the pipe already gives the value", "=": _NO_BLANKS}[word]
        raise PflowError(f"cannot take '{word}'", hint=f"{hint}; -- {word} if it is the value", exit=USAGE)


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
    if is_command and len(bare) > 1 and not uses_arguments(bare[0]):
        hint = f'{_together(bare)}; "$1" is a command\'s first argument'
        what = f"cannot take the bare word '{shorten(bare[1])}': '{shorten(bare[0])}' does not use its arguments"
        raise PflowError(what, hint=hint, exit=USAGE)


def _one_too_many(bare: list[str], at: int, texts: Texts, items: Items) -> PflowError:
    """Return the error for a bare word too many: the hint names the flag that has or would take it."""
    what = f"cannot take the bare word '{shorten(bare[at])}'"
    filled = [item for item in word_reads(items) if isinstance(texts.get(item.name, [""])[0], Word)]
    if at and filled:
        there = f"{filled[-1].flag} has '{shorten(str(texts[filled[-1].name][0]))}'"
        return PflowError(f"{what}: {there}", hint=_quoted(bare, filled[-1], items), exit=USAGE)
    if word_reads(items):
        hint = _NO_BLANKS if ["="] in texts.values() else "leave one of them out"
        return PflowError(f"{what}: {word_reads(items)[-1].flag} is given", hint=hint, exit=USAGE)
    reads = [item for item in items.values() if item.kind == "read" and not item.is_secret]
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


def _unknown(flag: str, items: Items, hint: str) -> PflowError:
    from pflow.words.naming import did_you_mean, meant

    near = meant(flag[2:], _flag_names(items))
    hint = did_you_mean(f"--{near}") if near else _behind_dashes(flag) if " " in flag else hint
    hint = _in_place_of(flag, items) or hint
    name = flag[2:].replace("-", "_").removeprefix("no_")
    if name in OF_FLOWS:
        hint = f"a step of a flow takes it: {_IN_A_FLOW.get(name, _IN_A_BATCH)}"
    elif name in RUN_FLAGS:
        whose = "a budget is a run's" if name.startswith("max_") else "a run takes it"
        hint = f"{whose}: pflow run {flag} FLOW"
    return PflowError(f"cannot take {shorten(flag)}: no such flag", hint=hint, exit=USAGE)


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
    known = [name for name, item in items.items() if item.kind != "refused"]
    return [name.replace("_", "-") for name in [*known, *COMMON]]


def doubts(flag: str, items: Items) -> list[str]:
    """Return a warning for an open node's flag like a common one. Raises PflowError (2) for one like its own."""
    from pflow.words.naming import did_you_mean, nearest

    near = nearest(flag[2:], _flag_names(items))
    if near and near.replace("-", "_") in items:
        raise _unknown(flag, items, "")
    return [f"{shorten(flag)} is a key of its own ({did_you_mean(f'--{near}')})"] if near else []
