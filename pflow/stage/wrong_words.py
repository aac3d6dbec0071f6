"""Errors for words that no flag and no read takes: each says what was probably meant."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Mapping
from pflow.binding.flag_value import Word, converted
from pflow.errors import USAGE, PflowError, result_of, shorten
from pflow.interface.common import OF_FLOWS, RUN_FLAGS
from pflow.interface.interface import ARGUMENT, COMMON_FLAG, READ, REFUSED, Field, word_reads

if TYPE_CHECKING:
    Fields = Mapping[str, Field]
    """Every read, param and flag by each name of its flag, and the bare words of a command (`by_name`)."""

    Texts = dict[str, list[str | bool]]
    """The texts after each flag; a switch is True, or with --no- False."""


_IN_A_BATCH = "pflow run 'list-files \"*.txt\" => read-file --each'"
_IN_A_FLOW = {"repeats": "pflow run 'shell make --repeats => write-file log.txt'"}
_IN_A_FLOW["max_visits"] = "pflow run 'judge:j --max-visits=9 =failed=> llm => j'"
_NO_BLANKS = "no blanks around it: --KEY=VALUE"


def unknown_flag(word: str, flag: str, fields: Fields, hint: str) -> PflowError:
    """Return the error for a word that begins with an unknown flag; `hint` is for one that resembles no other."""
    from pflow.text.naming import did_you_mean, meant

    name, names = flag[2:].replace("_", "-"), _flag_names(fields)
    begun = [each for each in names if len(name) > 2 and each.startswith(name)]
    near = begun[0] if len(begun) == 1 else meant(name, names)
    hint = did_you_mean(f"--{near}") if near else _behind_dashes(flag) if " " in flag else hint
    hint = _in_place_of(flag, fields) or _tries_of(word, fields) or hint
    name = flag[2:].replace("-", "_").removeprefix("no_")
    is_command = _is_of_command(fields)
    if name in OF_FLOWS and not is_command:
        hint = f"a step of a flow takes it: {_IN_A_FLOW.get(name, _IN_A_BATCH)}"
    elif name in RUN_FLAGS and not is_command:
        whose = "a budget is a run's" if name.startswith("max_") else "a run takes it"
        hint = f"{whose}: pflow run {flag} FLOW"
    return PflowError(f"cannot take {shorten(flag if name else word)}: no such flag", hint=hint, exit=USAGE)


def doubts(flag: str, fields: Fields) -> list[str]:
    """Return a warning if an open node's unknown flag resembles a common flag.

    Raises PflowError (2) if it resembles one of the node's own.
    """
    from pflow.text.naming import did_you_mean, nearest

    near = nearest(flag[2:].replace("_", "-"), _flag_names(fields))
    if near and fields[near.replace("-", "_")].kind != COMMON_FLAG:
        raise unknown_flag(flag, flag, fields, "")
    hint = _tries_of(flag, fields) or (did_you_mean(f"--{near}") if near else "")
    return [f"{shorten(flag)} is a key of its own ({hint})"] if hint else []


def _tries_of(word: str, fields: Fields) -> str:
    from pflow.text.naming import tries_hint

    name, _, text = word[2:].rpartition(".")[2].partition("=")
    retries = fields.get("retries")
    return tries_hint(name, text, "a step's --retries" if retries.refused else "--retries") if retries else ""


def unknown_letter(word: str, letter: str, fields: Fields, bare: list[str]) -> PflowError:
    if word[1] == "j" and word[2:].isdecimal() and "jobs" in fields:
        return PflowError(f"cannot take {shorten(word)}: no such flag", hint=f"--jobs={word[2:]}", exit=USAGE)
    hint = _in_place_of(f"-{letter}", fields) or _behind_dashes(word)
    hint = hint or "--help lists the flags" + quotes(bare, word, fields)
    return PflowError(f"cannot take -{letter}: no such flag", hint=hint, exit=USAGE)


def check_sign(word: str, fields: Fields) -> None:
    """Refuse a bare `-` or `=`, except in a command's words."""
    if not _is_of_command(fields):
        hint = {"-": "leave the word out: the pipe already gives the value", "=": _NO_BLANKS}[word]
        hint += f"; -- {word} if it is the value" if word_reads(fields) else ""
        raise PflowError(f"cannot take '{word}'", hint=hint, exit=USAGE)


def one_too_many(bare: list[str], at: int, texts: Texts, fields: Fields) -> PflowError:
    """Return the error for one bare word too many: the hint names the flag that took a word, or could take this one."""
    word = bare[at]
    what = f"cannot take the bare word '{shorten(word)}'"
    filled = [field for field in word_reads(fields) if isinstance(texts.get(field.name, [""])[0], Word)]
    if at and filled and filled[-1].kind == ARGUMENT:
        there = f"{filled[-1].metavar.strip('[]…')} is '{shorten(str(texts[filled[-1].name][0]))}'"
        return PflowError(f"{what}: {there}", hint="leave one of them out", exit=USAGE)
    if at and filled:
        there = f"{filled[-1].flag} has '{shorten(str(texts[filled[-1].name][0]))}'"
        return PflowError(f"{what}: {there}", hint=_quoted(bare, filled[-1], fields), exit=USAGE)
    if word_reads(fields):
        hint = _NO_BLANKS if ["="] in texts.values() else "leave one of them out"
        return PflowError(f"{what}: {word_reads(fields)[-1].flag} is given", hint=hint, exit=USAGE)
    reads = [field for field in fields.values() if field.kind == READ and not field.is_secret]
    reads = [field for field in reads if field.name not in texts and not field.type.holds_rows]
    reads = [each for each in reads if result_of(converted, each.type, word, otherwise=None, of=ValueError) is not None]
    reads.sort(key=lambda each: "pipe" in each.marks or not (each.required or (each.is_declared and not each.default)))
    hint = next((f"{each.flag}='{shorten(word)}'" for each in reads), "--help lists the flags")
    return PflowError(f"{what}: it takes flags only", hint=hint, exit=USAGE)


def check_arguments(bare: list[str]) -> None:
    """Refuse words after a shell command that does not use its arguments."""
    from pflow.values.templates import uses_arguments

    if not uses_arguments(bare[0]):
        hint = f'{_together(bare)}; "$1" is a command\'s first argument'
        what = f"cannot take the bare word '{shorten(bare[1])}': '{shorten(bare[0])}' does not use its arguments"
        raise PflowError(what, hint=hint, exit=USAGE)


def quotes(bare: list[str], word: str, fields: Fields) -> str:
    """Return a hint to quote the unknown flag together with the text before it, if the node takes a text."""
    is_text = bare and not all(field.type.is_path or field.kind == ARGUMENT for field in word_reads(fields))
    return f"; quotes make it a part of the text: '{shorten(' '.join([*bare, word]))}'" if is_text else ""


def _quoted(bare: list[str], field: Field, fields: Fields) -> str:
    """Return what to quote: the words, or if all are files that a shell's pattern matched, that pattern."""
    from os.path import isfile, lexists, splitext

    if field.type.is_path and all("\0" not in word and lexists(word) for word in bare):
        return f"quotes keep a pattern from the shell: '*{splitext(bare[0])[1]}'"
    if "\0" in bare[-1] or not isfile(bare[-1]):
        return _together(bare)
    attached = f", and -a {bare[-1]} attaches it" if "attachment" in fields else ""
    return f"<{bare[-1]} reads that file{attached}; {_together(bare)}"


def _together(bare: list[str]) -> str:
    return f"quotes keep words together: '{shorten(' '.join(bare))}'"


def _behind_dashes(word: str) -> str:
    if word == "->":
        return "steps are joined by ::, or by => in quotes"
    return f"-- '{shorten(word)}' if it is not a flag" if " " in word else ""


def _is_of_command(fields: Fields) -> bool:
    """Return True for the fields of a command or store command. Those of a stage, step or run have --map-in."""
    return "map_in" not in fields


def _in_place_of(option: str, fields: Fields) -> str:
    """Say what replaces an option of llm's, as docs/llm.md does; "" for other options, and for other nodes than llm."""
    if "schema_multi" not in fields:
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


def _flag_names(fields: Fields) -> list[str]:
    known = [name for name, field in fields.items() if field.kind not in (REFUSED, ARGUMENT)]
    return [name.replace("_", "-") for name in sorted(known, key=lambda name: fields[name].kind == COMMON_FLAG)]
