"""Parse the words after a command's name, bare words and letters included, into the texts of each flag.

This is the only parser of flags: of stages, store commands, steps in pipe syntax, runs and commands.
"""

from __future__ import annotations

from pflow import TYPE_CHECKING, Iterator, Mapping, Sequence
from pflow.binding.flag_value import Json, Word, read_text
from pflow.errors import USAGE, PflowError, shorten
from pflow.interface.common import COMMON, is_shared
from pflow.interface.interface import ARGUMENT, COMMON_FLAG, OPTION, READ, TEXT, Field, spell_flag, word_reads

if TYPE_CHECKING:
    from pflow.stage.wrong_words import Fields as Fields
    from pflow.stage.wrong_words import Texts as Texts


def take_words(words: Sequence[str], fields: Fields, *, is_open: bool = False, hint: str = "") -> Texts:
    """Return the texts of each flag. Raises PflowError (2) for the first word that nothing takes.

    With `is_open`, any flag passes. `hint` is for an unknown flag that resembles no other. If a file that a flag names
    cannot be read, the exit code is that of the system's error.
    """
    texts: Texts = {}
    bare: list[str] = []
    switch = ""
    for found, (word, *values) in groups(words, fields, is_open=is_open):
        if word == "--":
            bare += values
        elif not is_flag(word):
            _check_bare(word, switch, fields)
            bare.append(word)
            switch = ""
        elif not word.startswith("--"):
            switch = _take_letters(texts, fields, found, word, values, bare)
        elif not found and not is_open:
            from pflow.stage.wrong_words import quotes, unknown_flag

            hint = (hint or "--help lists the flags") + quotes(bare, word, fields)
            raise unknown_flag(word, split_flag(word)[0], fields, hint)
        else:
            switch = _take_long(texts, fields, found, word, values)
    _fill(texts, fields, bare)
    return texts


def groups(words: Sequence[str], fields: Fields, *, is_open: bool = False) -> Iterator[tuple[list[Field], list[str]]]:
    """Yield each flag with the words of its value, each bare word, and `--` with all after it, each after its fields.

    Letters after one dash have several fields, an unknown flag none. A flag after an unknown one is not its value.
    """
    rest = [*reversed(words)]
    while rest:
        word = rest.pop()
        first = rest[-1] if rest else ""
        found: list[Field] = []
        wanted = 0
        if word == "--":
            wanted = len(rest)
        elif word.startswith("--"):
            flag, sign, _ = split_flag(word)
            field = field_of(flag, sign, fields)
            found = [field] if field else []
            if not sign:
                wanted = _count(field, first) if field else int(is_open and not first.startswith("-"))
        elif is_flag(word):
            found = of_letters(word, fields)
            at = len(found) + 1
            wanted = _count(found[-1], word[at:] or first) - bool(word[at:]) if is_known(word, found) else 0
        yield found, [word, *(rest.pop() for _ in range(min(wanted, len(rest))))]


def flags_in(words: Sequence[str], fields: Fields, *, is_open: bool = False) -> dict[str, list[str]]:
    """Return the texts of the flags among the words, without refusing any; an unknown flag keeps its name.

    Use it for decisions before the words are parsed, or after they were refused. A switch without a value is `true`.
    Letters beside an unknown letter are ignored.
    """
    said: dict[str, list[str]] = {}
    for found, (word, *values) in groups(words, fields, is_open=is_open):
        if word.startswith("--"):
            flag, sign, _ = split_flag(word)
            field = fields.get(_plain(flag))
            name = field.name if field else _plain(flag)
            text = word.removeprefix(flag).removeprefix("=") if sign else "=".join(values) if values else "true"
            said.setdefault(name, []).append(text)
            continue
        for at, field in enumerate(found if is_known(word, found) else (), 2):
            text = "true" if field.type.name == "bool" else "=".join([*[word[at:]] * bool(word[at:]), *values])
            said.setdefault(field.name, []).append(text)
    return said


def is_asked(name: str, words: Sequence[str], fields: Fields, *, is_open: bool = False) -> bool:
    """Return True if a switch is among the words and on, even beside wrong ones."""
    return is_on(name, flags_in(words, fields, is_open=is_open))


def is_on(name: str, said: Mapping[str, list[str]]) -> bool:
    """Return True if a switch is on in the result of `flags_in`."""
    return said.get(name, [""])[-1] == "true"


def is_flag(word: str) -> bool:
    """Return True for a flag or letters, but neither `-`, which is a word, nor `--`, which ends the flags."""
    return len(word) > 1 and word[0] == "-" and word != "--"


def is_known(word: str, found: list[Field]) -> bool:
    """Return True if the flag, or each of several letters, is known."""
    is_whole = word.startswith("--") or len(found) == len(word) - 1
    return bool(found) and (is_whole or found[-1].type.name != "bool")


def part(
    words: Sequence[str], fields: Fields, own: Fields, *, is_open: bool = False
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Separate the words from a command's `own` flags. A flag that is also in `fields` is not the command's."""
    others, beside = list[str](), list[str]()
    for found, (word, *values) in groups(words, {**COMMON, **own, **fields}, is_open=is_open):
        owns = [own.get(field.name) is field for field in found] if is_known(word, found) else []
        if any(owns) and not all(owns):  # one word has letters of both the command and the step
            for field, is_own in zip(found[:-1], owns, strict=False):
                (beside if is_own else others).append(f"-{field.letter}")
            word = f"-{word[len(found) :]}"
        (beside if owns[-1:] == [True] else others).extend([word, *values])
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


def field_of(flag: str, sign: str, fields: Fields) -> Field | None:
    """Return the field of a flag, or the switch that --no-NAME turns off."""
    name = _plain(flag)
    field = fields.get(name)
    if field is None and not sign and name.startswith("no_"):
        field = fields.get(name[3:])
        return field if field is not None and field.type.name == "bool" and name[3:6] != "no_" else None
    return None if field is None or field.kind == ARGUMENT else field


def of_letters(word: str, fields: Fields) -> list[Field]:
    """Return the fields of the letters after one dash, up to the first letter with a value or an unknown letter."""
    letters = {field.letter: field for field in fields.values() if field.letter}
    found = []
    for letter in word[1:]:
        if letter not in letters:
            break
        found.append(letters[letter])
        if found[-1].type.name != "bool":
            break
    return found


def _count(field: Field, first: str) -> int:
    """Return how many words a value has, by its first word: NAME=VALUE has one, NAME VALUE and URL?a=b TYPE two."""
    if field.type.name == "bool" or (field.word and first.startswith("-")):
        return 0
    if "types" in field.marks:
        from pflow.text.naming import split_type

        return 1 if all(split_type(first)) else 2
    return 2 if "pairs" in field.marks and "=" not in first else 1


def _take_long(texts: Texts, fields: Fields, found: list[Field], word: str, values: list[str]) -> str:
    """Take a flag and its value; return the flag if it is a switch."""
    flag, sign, text = split_flag(word)
    name = _plain(flag)
    field = found[0] if found else None
    if field is None:
        field = Field(READ, name, TEXT)
    elif name not in fields:
        return _add(texts, field, flag, False)
    if sign in ("@", ":=") and (field.kind in (COMMON_FLAG, OPTION) or is_shared(field)):
        from pflow.help.spec import metavar

        what, kind = "no file" if sign == "@" else "no JSON", metavar(field)
        hint = f"{flag}={kind}" if kind else flag
        raise PflowError(f"cannot take {flag}{sign}: it takes {what}", hint=hint, exit=USAGE)
    if field.is_secret:
        hint = f"set {field.env}" if field.env else "it comes from the store"
        raise PflowError(f"cannot take {flag}: a secret is never a flag", hint=hint, exit=USAGE)
    if not sign and not values and field.type.name != "bool" and not field.word:
        raise PflowError(f"cannot take {flag}: it needs a value", hint=f"{flag}=VALUE", exit=USAGE)
    value = Json(text) if sign == ":=" else text if sign == "=" else "=".join(values) if values else True
    return _add(texts, field, flag, read_text(flag, text) if sign == "@" else value)


def _add(texts: Texts, field: Field, flag: str, value: str | bool) -> str:
    """Add a text; return the flag if it is a switch, after which `true` would be a mistake.

    After a common flag with a letter, such as -n, `true` is a bare word, because nobody gives these flags a value. A
    switch may be repeated with the same value.
    """
    if field.refused:
        raise refusal(field)
    said = texts.setdefault(field.name, [])
    if said and field.type.name != "list" and (field.type.name != "bool" or said != [value]):
        if {value, *said} == {True, False}:
            both = f"{field.flag} and --no-{field.flag[2:]}"
            raise PflowError(f"cannot take both {both}", hint="choose one", exit=USAGE)
        raise PflowError(f"cannot take {flag} twice", exit=USAGE)
    if not said or field.type.name == "list":
        said.append(value)
    is_plain = bool(field.letter) and field.kind in (COMMON_FLAG, OPTION)
    return flag if isinstance(value, bool) and not is_plain else ""


def refusal(field: Field) -> PflowError:
    """Return the error for a flag that is known but refused here."""
    what, hint = field.refused or ("", "")
    return PflowError(f"cannot take {field.flag}{what}", hint=hint, exit=USAGE)


def _take_letters(
    texts: Texts, fields: Fields, found: list[Field], word: str, values: list[str], bare: list[str]
) -> str:  # fmt: skip
    """Take letters after one dash; only the last may have a value. Return the last one's flag if it is a switch."""
    name = word[1:].partition("=")[0].replace("-", "_")
    are_switches = len(found) == len(word) - 1 and all(field.type.name == "bool" for field in found)
    if len(name) > 1 and name in fields and not are_switches:
        from pflow.text.naming import did_you_mean

        flag = shorten(word.partition("=")[0])
        raise PflowError(f"cannot take {flag}: no such flag", hint=did_you_mean(f"-{flag}"), exit=USAGE)
    switch = ""
    for at, field in enumerate(found, 2):
        if field.type.name != "bool":
            _take_value(texts, field, [word[at:]] * bool(word[at:]) + values)
            return ""
        switch = _add(texts, field, f"-{field.letter}", True)
    if found and word[len(found) + 1 :].startswith("="):
        what, flag = f"cannot take {shorten(word)}: no = stands behind a letter", found[-1].flag
        raise PflowError(what, hint=f"{flag}=true, or {flag}=false", exit=USAGE)
    if len(found) < len(word) - 1:
        from pflow.stage.wrong_words import unknown_letter

        raise unknown_letter(word, word[len(found) + 1], fields, bare)
    return switch and spell_flag(found[-1].name)


def _take_value(texts: Texts, field: Field, values: list[str]) -> None:
    """Take the value after a letter. If it is a name and a value, join them to one text."""
    if len(values) < _count(field, values[0] if values else ""):
        what, form = ("a name and a value", "NAME VALUE") if "pairs" in field.marks else ("a value", "VALUE")
        flag = f"-{field.letter}"
        raise PflowError(f"cannot take {flag}: it needs {what}", hint=f"{flag} {form}", exit=USAGE)
    value = Word("=".join(values)) if "pairs" in field.marks else values[0]
    _add(texts, field, field.flag, value)


def _check_bare(word: str, switch: str, fields: Fields) -> None:
    """Refuse a bare word that is probably a mistake. `switch` is the flag before it, if that took no value."""
    if switch and word in ("true", "false"):
        hint = f"leave it out; -- {word} if it is the value" if switch.startswith("--no-") else f"{switch}={word}"
        raise PflowError(f"cannot take the bare word '{word}'", hint=hint, exit=USAGE)
    if word in ("-", "="):
        from pflow.stage.wrong_words import check_sign

        check_sign(word, fields)


def _fill(texts: Texts, fields: Fields, bare: list[str]) -> None:
    """Give bare words to the reads that take them and got no flag."""
    mapped = [str(text).partition("=")[0] for text in texts.get("map_in", ())]
    free = [field for field in word_reads(fields) if field.name not in texts and field.name not in mapped]
    for at, word in enumerate(bare):
        if not free:
            from pflow.stage.wrong_words import one_too_many

            raise one_too_many(bare, at, texts, fields)
        texts.setdefault(free[0].name, []).append(Word(word))
        free = free if free[0].type.name == "list" else free[1:]
    is_command = any("verbatim" in field.marks and texts.get(field.name) == bare[:1] for field in word_reads(fields))
    if is_command and len(bare) > 1:
        from pflow.stage.wrong_words import check_arguments

        check_arguments(bare)
