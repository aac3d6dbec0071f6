"""pflow find: the saved flows that are nearest to some words."""

from __future__ import annotations

from pflow.errors import BAD_CONFIG, FAILED, PflowError
from pflow.errors import USAGE as WRONG_FLAGS
from pflow.help.usage import Argument, Flag, Usage
from pflow.terminal.colour import AUTO, WHEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.library.library import Saved
    from pflow.library.nearest import Match

_BY_MEANING, _BY_WORDS = "meaning", "words"
_WAYS = (_BY_MEANING, _BY_WORDS)
_MOST = 5

USAGE = Usage(
    "pflow find",
    "Find the saved flows that are nearest to what the words say, best first.",
    ("pflow find [-n N] [--by WAY] [--json] [--color WHEN] WORD…",),
)
USAGE.description = """\
The words are held against each saved flow's name and description, its inputs and its steps: words with other endings,
words that mean nearly the same, and misspelt ones count too; paths, URLs and numbers do not. Where an embedding model
is configured, what is said counts by its meaning as well: `llm embed-models default NAME` or PFLOW_EMBEDDING_MODEL
names one. It is sent each name and description once, and the words each time; what it answers is kept. Where it fails,
that is said, and the words alone count.

How near a flow is stands behind its name, from 0 to 100. The exit code is 1 where nothing is near."""
USAGE.flags = [
    Flag(("-n", "--most"), "how many are shown at most", metavar="N", notes=(f"default {_MOST}",)),
    Flag(
        ("--by",),
        "words asks no model; meaning fails where the embedding model does",
        metavar="|".join(_WAYS),
        choices=_WAYS,
    ),
    Flag(("--json",), "print them as a JSON list"),
    Flag(
        ("--color",),
        "print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set",
        metavar="|".join(WHEN),
        choices=WHEN,
    ),
    Flag(("-h", "--help"), "print this help"),
]
USAGE.arguments = [Argument("WORD", repeats=True)]
USAGE.examples = (
    "pflow save sum-up 'read-file --path=examples/notes.txt => llm --prompt=Summarize' --description='Summarize notes'",
    "pflow find a short version of my notes",
    "pflow find summary --json | jq -r '.[0].name'",
)


def main(words: list[str]) -> int:
    """Raises PflowError: 2 for wrong flags, 1 where nothing is near, what the model raises with --by=meaning."""
    flags, asked = _split(words)
    if "--help" in flags:
        from pflow.help.text import help_text

        return _print(help_text(USAGE))
    when = _choice(flags, "--color", WHEN) or AUTO
    by = _choice(flags, "--by", _WAYS)
    most = _number(flags.get("--most", [str(_MOST)])[-1])
    text = " ".join(asked)
    if not text.strip():
        raise PflowError("cannot find a flow: there are no words", hint="pflow list shows all", exit=WRONG_FLAGS)
    return _find(text, by, most, when, as_json="--json" in flags)


def _find(text: str, by: str | None, most: int, when: str, *, as_json: bool) -> int:
    from pflow.library.library import list_saved

    saved = {each.name: each for each in list_saved() if not each.fault}
    matches = _nearest(text, list(saved.values()), by)[:most]
    if not matches:
        hint = "pflow list shows all" if saved else "pflow save keeps a flow"
        shown = text if len(text) <= 60 else text[:59] + "…"
        raise PflowError(f"cannot find a saved flow about '{shown}'", hint=hint, exit=FAILED)
    found = [(saved[match.about.name], match) for match in matches]
    return _print(_json(found), as_json=True) if as_json else _print(_table(found, when))


def _nearest(text: str, saved: list[Saved], by: str | None) -> list[Match]:
    from pflow.library.nearest import about_flow, nearest, nearest_by_meaning

    abouts = list(map(about_flow, saved))
    if by != _BY_MEANING:
        return nearest(text, abouts, by_meaning=by is None)
    from pflow.models.embed import configured

    model = configured()
    if model is None:
        hint = "`llm embed-models default NAME` configures one, `llm embed-models` lists them"
        raise PflowError("cannot find by meaning: no embedding model is configured", hint=hint, exit=BAD_CONFIG)
    return nearest_by_meaning(text, abouts, model)


def _split(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    from pflow.help.usage import split_flags

    try:
        return split_flags(words, USAGE.flags)
    except PflowError as error:
        raise PflowError(error.message, hint="pflow find --help", exit=error.exit) from None


def _choice(flags: dict[str, list[str]], name: str, choices: tuple[str, ...]) -> str | None:
    value = flags.get(name, [None])[-1]
    if value is None or value in choices:
        return value
    wanted = f"{', '.join(choices[:-1])} or {choices[-1]}"
    raise PflowError(f"cannot take '{name}={value}': it is {wanted}", hint="pflow find --help", exit=WRONG_FLAGS)


def _number(text: str) -> int:
    if text.isascii() and text.isdecimal() and 0 < len(text.lstrip("0")) < 10:
        return int(text)
    what = f"cannot take '-n {text}': it takes a number from 1 on"
    raise PflowError(what, hint="pflow find --help", exit=WRONG_FLAGS)


def _percent(match: Match) -> int:
    return round(100 * match.score)


def _json(found: list[tuple[Saved, Match]]) -> str:
    from pflow.commands._json import json_line

    entries = [
        {"name": saved.name, "description": saved.description, "near": _percent(match), "meant": match.is_meant}
        | {"file": saved.file}
        for saved, match in found
    ]
    return json_line(entries).decode()


def _table(found: list[tuple[Saved, Match]], when: str) -> str:
    from pflow.terminal.colour import colour_of
    from pflow.terminal.columns import clean, table, terminal_width

    rows = [(clean(saved.name), f"{_percent(match):3}", clean(saved.description)) for saved, match in found]
    lines = table(rows, terminal_width(otherwise=1 << 30), indent=0, first=colour_of(1, when).name)
    return "".join(f"{line}\n" for line in lines)


def _print(text: str, *, as_json: bool = False) -> int:
    import os

    from pflow.process.stdout import write_pieces
    from pflow.terminal.columns import in_ascii, is_utf8

    write_pieces(1, [(text if as_json or is_utf8(os.environ) else in_ascii(text)).encode("utf-8", "replace")])
    return 0
