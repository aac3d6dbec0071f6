"""The words of a text that mean something, in lower case, without accents and endings."""

from __future__ import annotations

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SILENT_WORDS = """
a about above after again all also although always am an and any anybody anyone anything are as at be because been
before being between both but by can cannot could did do does doing done down during each either else ever every
everybody everyone everything few flow for from further get gets give given gives go goes going gonna got had has have
having he hello help her here hers hey hi him his how however i if in into is it its itself just kindly let lets like
ll make makes making many may maybe me might mine more most much must my myself need needs never no nobody none nor
not nothing now of off often ok okay on once one only onto or other others our ours out over own per perhaps please
put quite rather re really s said same say says she should so some somebody somehow someone something somewhere soon
still such t take than thank thanks that the their theirs them then there these they thing things this those though
through to together too under until up upon us use used using ve very via want wanted wants was way we well went were
what whatever when where whether which while who whom whose why will wish with within without would yes yet you your
yours der die das und ein eine den dem von zu mit für le la les un une des et de du pour el los las y en por para con
"""
_SILENT = frozenset(_SILENT_WORDS.split())
"""What says nothing, in a few languages."""

_DENIAL_WORDS = """
not never without except excluding skip skipping ignore ignoring avoid instead unlike cannot cant dont don doesn didn
isn aren shouldn mustn nicht kein keine ohne pas sans sin
"""
_DENIALS = frozenset(_DENIAL_WORDS.split())
"""What turns what is said of something into its opposite; `don't` is the words `don` and `t`."""

_IRREGULAR = {
    **dict.fromkeys(("bought", "buys", "buying"), "buy"),
    **dict.fromkeys(("written", "wrote", "writes", "writing"), "write"),
    **dict.fromkeys(("sent", "sends", "sending"), "send"),
    **dict.fromkeys(("found", "finds", "finding"), "find"),
    **dict.fromkeys(("broken", "broke", "breaks", "breaking"), "break"),
    **dict.fromkeys(("spent", "spends", "spending"), "spend"),
    **dict.fromkeys(("built", "builds", "building"), "build"),
    **dict.fromkeys(("told", "tells", "telling"), "tell"),
    **dict.fromkeys(("drawn", "drew", "draws", "drawing"), "draw"),
    **dict.fromkeys(("ran", "runs", "running"), "run"),
    **dict.fromkeys(("spoken", "spoke", "speaks", "speaking"), "speak"),
    **dict.fromkeys(("sold", "sells", "selling"), "sell"),
    **dict.fromkeys(("paid", "pays", "paying"), "pay"),
    **dict.fromkeys(("women", "woman"), "woman"),
    **dict.fromkeys(("people", "persons", "person"), "person"),
    **dict.fromkeys(("children", "child"), "child"),
    **dict.fromkeys(("analyses", "analysis", "analyze", "analyse", "analyzed", "analyzes"), "analys"),
    **dict.fromkeys(("indices", "indexes", "index"), "index"),
    **dict.fromkeys(("licence", "licences", "license", "licenses", "licensed", "licensing"), "license"),
    **dict.fromkeys(("colour", "colours", "color", "colors"), "color"),
    **dict.fromkeys(("city", "cities"), "city"),
    **dict.fromkeys(("plane", "planes"), "plane"),
    **dict.fromkeys(("edition", "editions"), "edition"),
    **dict.fromkeys(("projection", "projections"), "projection"),
    **{word: word for word in ("news", "production", "staging", "former", "unite", "late")},
}
"""Forms that no ending tells, and words that would be taken for another's: `news` is not `new`."""

_ENDINGS = (
    *(("ization", 3), ("isation", 3), ("izing", 3), ("ising", 3), ("ized", 3), ("ised", 3), ("izer", 3), ("iser", 3)),
    *(("ingly", 3), ("edly", 3), ("ings", 3), ("ions", 4), ("ing", 3), ("ied", 3), ("ies", 3), ("ers", 4), ("ion", 4)),
    *(("ed", 3), ("er", 4), ("es", 3), ("ly", 3), ("s", 3)),
)
"""The first that fits goes: an ending, and the letters that a word has before it at least."""

_LAST = (("ize", 4), ("ise", 4), ("ate", 4), ("at", 4), ("e", 3), ("y", 3))
"""What goes after that."""

_UNSPACED = (("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u2e80", "\U0010ffff"))
"""The scripts without spaces between words: Thai and Lao, Burmese, Khmer, the ideographs and what follows them."""


def words(text: str) -> list[str]:
    """The stems of a text's words, in its order; pairs of signs where a script has no spaces."""
    found = [stem for word in runs(text) if word not in _SILENT for stem in _stems(word)]
    return found or [stem for word in runs(text) for stem in _stems(word)]


def runs(text: str) -> list[str]:
    """The runs of letters and digits of a text, plain."""
    plain = _plain(text)
    if plain.isascii():
        return "".join([sign if sign.isalnum() else " " for sign in plain]).split()
    return "".join([sign if _is_letter(sign) else " " for sign in plain]).split()


def _is_letter(sign: str) -> bool:
    """A letter, a digit, or a vowel that is written as a mark, as in Hindi and Thai."""
    from unicodedata import category

    return sign.isalnum() or category(sign).startswith("M")


def is_silent(word: str) -> bool:
    """Whether a word, plain, says nothing."""
    return word in _SILENT


def denies(words: list[str]) -> bool:
    """Whether something is said not to be, or not to be done."""
    return not _DENIALS.isdisjoint(words)


def _plain(text: str) -> str:
    """In lower case, and without accents."""
    if text.isascii():
        return text.lower().replace("'s ", " ")
    import unicodedata

    apart = unicodedata.normalize("NFKD", text.replace("’s ", " ")).casefold()
    return unicodedata.normalize("NFC", "".join([sign for sign in apart if not unicodedata.combining(sign)]))


def _stems(word: str) -> Iterator[str]:
    if word.isascii() or not any(first <= sign <= last for sign in word for first, last in _UNSPACED):
        yield stem(word)
    elif len(word) == 1:
        yield word
    else:
        yield from (word[at : at + 2] for at in range(len(word) - 1))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without its ending, so that `summaries`, `summarizing` and `summarise` are one."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or word.isdecimal() or word.endswith("ss"):
        return word
    base, ending = _without(word, _ENDINGS)
    if ending in ("ied", "ies"):
        base += "y"
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeiouls":
        base = base[:-1]
    return _without(base, _LAST)[0]


def _without(word: str, endings: tuple[tuple[str, int], ...]) -> tuple[str, str]:
    for ending, least in endings:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word.removesuffix(ending), ending
    return word, ""


def trigrams(word: str) -> set[str]:
    framed = f" {word} "
    return {framed[at : at + 3] for at in range(len(framed) - 2)}
