"""A command's words, taken apart: which flag has which texts."""

from __future__ import annotations

from pflow.common import COMMON, LETTERS
from pflow.errors import USAGE, PflowError, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.interface import Item

    Items = dict[str, Item]
    """Every read and param by each name that its flag goes by."""

    Texts = dict[str, list[str | bool]]
    """What stood after each flag; a switch is True, and False with --no-."""


def take_words(words: list[str], items: Items, *, is_open: bool) -> Texts:
    """The texts of each flag. Raises PflowError (2) at the first word that is none of `items` or the common flags.

    With `is_open` any flag may pass.
    """
    texts: Texts = {}
    rest = words[::-1]
    before = ""
    while rest:
        word = rest.pop()
        if word.startswith("--") and len(word) > 2:
            _take_long(texts, items, word, rest, is_open=is_open)
        elif word.startswith("-") and word != "--" and len(word) > 1:
            _take_letters(texts, word)
        elif rest or word != "--":
            raise _bare_word(rest.pop() if word == "--" else word, before, items)
        before = word
    return texts


def _take_long(texts: Texts, items: Items, word: str, rest: list[str], *, is_open: bool) -> None:
    flag, equals, text = word.partition("=")
    name = flag[2:].replace("-", "_")
    item = items.get(name)
    switch = COMMON[name].type is None if name in COMMON else item is not None and item.type.name == "bool"
    off = items.get(name.removeprefix("no_")) if name not in COMMON and item is None else None
    if off is not None and off.type.name == "bool" and not equals:
        _add(texts, off.name, flag, False, repeats=False)
        return
    if name not in COMMON and item is None and not is_open:
        raise _unknown(flag, items)
    if item is not None and "secret" in item.marks:
        raise PflowError(f"cannot take {flag}: a secret is never a flag", hint=_secret_hint(item), exit=USAGE)
    if not equals and not switch and not rest:
        raise PflowError(f"cannot take {flag}: it needs a value", hint=f"{flag}=VALUE", exit=USAGE)
    value = text if equals else True if switch else rest.pop()
    repeats = COMMON[name].repeats if name in COMMON else item is not None and item.type.name == "list"
    _add(texts, item.name if item else name, flag, value, repeats=repeats)


def _secret_hint(item: Item) -> str:
    return f"set {item.env}" if item.env else "it comes from the store"


def _add(texts: Texts, name: str, flag: str, value: str | bool, *, repeats: bool) -> None:
    if name in texts and not repeats:
        raise PflowError(f"cannot take {flag} twice", exit=USAGE)
    texts.setdefault(name, []).append(value)


def _take_letters(texts: Texts, word: str) -> None:
    for letter in word[1:]:
        if letter not in LETTERS:
            raise PflowError(f"cannot take -{letter}: no such flag", hint="--help lists them", exit=USAGE)
        texts[LETTERS[letter]] = [True]


def _bare_word(word: str, before: str, items: Items) -> PflowError:
    reads = [item for item in items.values() if item.kind == "read" and "secret" not in item.marks]
    needed = [item for item in reads if item.required and "pipe" not in item.marks]
    wanted = next(iter(needed + reads), None)
    hint = f"{wanted.flag}='{shorten(word)}'" if wanted else "--help lists the flags"
    if word in ("true", "false") and before.startswith("--") and "=" not in before:
        hint = f"{before}={word}"
    return PflowError(f"cannot take the bare word '{shorten(word)}': a stage has only flags", hint=hint, exit=USAGE)


def _unknown(flag: str, items: Items) -> PflowError:
    import difflib

    known = [name for name, item in items.items() if item.kind != "refused"]
    names = [name.replace("_", "-") for name in [*known, *COMMON]]
    near = difflib.get_close_matches(flag[2:], names, 1)
    hint = f"did you mean --{near[0]}?" if near else "--help lists the flags"
    return PflowError(f"cannot take {shorten(flag)}: no such flag", hint=hint, exit=USAGE)
