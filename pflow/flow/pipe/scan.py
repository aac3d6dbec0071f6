"""Scanning pipe syntax into words and separators, quoted as for a POSIX shell; and telling it from a sentence."""

from __future__ import annotations

import os
from itertools import pairwise

from pflow import Sequence
from pflow.catalog.find import find_type, list_types
from pflow.catalog.registry import is_flow_type, saved_flow
from pflow.errors import USAGE, Ignoring, PflowError, result_of
from pflow.flow.ir import id_after
from pflow.text.naming import nearest
from pflow.values.paths import is_step_name

Piece = tuple[str, int]
"""A piece of a word, and its kind of quotes."""

WORD, LINK, END, OPEN, CLOSE = "word", "link", "end", "open", "close"
SEPARATORS = ("=>", ">>", "|", "::")
ARROWS = ("->", "-->", "==>", "→", "⇒")
"""Words with which other languages join steps: they get an error instead of becoming data."""
_BEHIND = " \t\r\n;|"
"""The characters that end a word."""
_SPECIAL = _BEHIND + "'\"\\"
"""The characters that end the unquoted part of a word."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%")
_MASK = "\0"
UNQUOTED, _DOUBLE, _QUOTED = range(3)
_MOST_STEPS = 100
"""The most names to look up for one error, since a text that is no flow may have thousands of words."""


class Token:
    """A word, a separator (LINK), the end of a chain (END), `(` (OPEN) or `)` (CLOSE). `at` is its index in the text.

    `bare` is the text with \\0 for each quoted letter; `loose` keeps double-quoted text, where a shell expands a `$`. A
    step in parentheses becomes one word, whose `inside` has the tokens between the parentheses.
    """

    def __init__(self, kind: str, at: int, parts: list[Piece]) -> None:
        self.kind = kind
        self.at = at
        self.inside: list[Token] | None = None
        self.text = "".join([text for text, _ in parts])
        self.bare = "".join([text if how == UNQUOTED else _MASK * len(text) for text, how in parts])
        self.loose = "".join([text if how != _QUOTED else _MASK * len(text) for text, how in parts])

    @property
    def is_quoted(self) -> bool:
        """True if the whole word is in quotes."""
        return not self.bare.strip(_MASK)


def is_separator(text: str) -> bool:
    """Return True if an unquoted word is a separator: `=>`, `>>`, `|`, `::`, or `=failed=>` for an action."""
    return text in SEPARATORS or (text.startswith("=") and text.endswith("=>") and len(text) > 3)


def separates(word: str) -> bool:
    """Return True if a step begins after this word of a command line: a separator, a `;` between chains, or `(`."""
    return word in (";", "(") or is_separator(word)


def is_cut_separator(word: str) -> bool:
    """Return True for the rest of `=>` or `=failed=>` after a shell has taken the `>` for a redirection."""
    return word == "=" or (len(word) > 2 and word.startswith("=") and word.endswith("="))


def scan(text: str) -> list[Token]:
    """Return the tokens of a text. Raises PflowError (2) for a quote that is never closed."""
    tokens: list[Token] = []
    parts: list[Piece] = []
    start = at = 0
    while at < len(text):
        letter = text[at]
        if letter not in _BEHIND and (letter != "#" or parts):
            start = start if parts else at
            found, at = _piece(text, at)
            parts += found
            continue
        tokens += _word(start, parts)
        parts = []
        if letter in "\n;|":
            tokens.append(Token(LINK if letter == "|" else END, at, [(letter, UNQUOTED)]))
        comment = text.find("\n", at) if letter == "#" else at + 1
        at = comment if comment >= 0 else len(text)
    return tokens + _word(start, parts)


def _word(start: int, parts: list[Piece]) -> list[Token]:
    word = Token(WORD, start, parts)
    word.kind = _kind_of(word.bare)
    return [word] if parts else []


def _kind_of(bare: str) -> str:
    """Return the kind of an unquoted word. `):id` closes a step and names it."""
    if is_separator(bare):
        return LINK
    return OPEN if bare == "(" else CLOSE if closes(bare) else WORD


def closes(word: str) -> bool:
    """Return True for a word that closes a step in parentheses: `)` or `):id`."""
    return word == ")" or word.startswith("):")


def scan_words(words: Sequence[str]) -> tuple[str, list[Token]]:
    """Return a text for words that a shell has split, for errors to quote, and the tokens with their index in it."""
    tokens: list[Token] = []
    shown = ""
    for word in words:
        kind = END if word == ";" else _kind_of(word)
        tokens.append(Token(kind, len(shown), [(word, _QUOTED if kind == WORD else UNQUOTED)]))
        shown += (_shown(word) if kind == WORD else word) + " "
    return shown.rstrip(), tokens


def _shown(word: str) -> str:
    """Quote a word for a shell; if it is a flag, quote only its value."""
    flag, equals, value = word.partition("=")
    if not flag.startswith("--"):
        return quote(word)
    return flag + equals + quote(value) if value else word


def fault(text: str, at: int, why: str, hint: str = "") -> PflowError:
    """Return an error about the pipe syntax at an index of the text."""
    return PflowError(f"{cannot_read(text, at)}: {why}", hint=hint, exit=USAGE)


def cannot_read(text: str, at: int) -> str:
    """Return the first part of an error: it quotes the text around an index and masks the values of secret flags."""
    from pflow.values.secrets import MASK, find_secrets

    line = f", line {text.count(chr(10), 0, at) + 1}" if "\n" in text else ""
    # From the end, so that the indices of earlier secrets stay right.
    for begin, behind in reversed(find_secrets(text, secret_flags(text))):
        text = text[:begin] + MASK + text[behind:]
        at = at if at <= begin else max(begin, at + begin + len(MASK) - behind)
    start, end = max(0, at - 24), at + 36
    around = " ".join(text[start:end].split())
    around = ("…" if start else "") + around + ("…" if end < len(text) else "")
    return f"cannot read the flow at '{around}'{line}"


def secret_flags(text: str) -> set[str]:
    """Return the names of the secret flags of all nodes that a text seems to name, even if it cannot be parsed."""
    import re

    from pflow.catalog.find import find_type

    names: set[str] = set()
    steps = re.findall(r"(?:^|=>|>>|[|;\n(]|::)\s*(?:pflow[ -])?([\w-]+)", text)
    for name in list(dict.fromkeys(steps))[:_MOST_STEPS]:
        try:
            node_type = find_type(name)
            names |= node_type.interface.secret_flags if node_type else set()
        except PflowError:
            continue
    return names


def quote(text: str) -> str:
    """Quote a text as one word for a shell if necessary, in the quotes that need fewer escapes."""
    if text and set(text) <= _SAFE and text != "::":
        return text
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"


def _piece(text: str, at: int) -> tuple[list[Piece], int]:
    """Return the piece of a word that begins here, and its end. A backslash before a newline gives no piece."""
    letter = text[at]
    if letter == "\\":
        ending = next((each for each in ("\\\n", "\\\r\n") if text.startswith(each, at)), "")
        if ending or at + 1 == len(text):
            return [], at + (len(ending) or 1)
        return [(text[at + 1], _QUOTED)], at + 2
    if letter == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise _unclosed(text, at)
        return [(text[at + 1 : end], _QUOTED)], end + 1
    if letter == '"':
        return _double_quoted(text, at)
    end = at
    while end < len(text) and text[end] not in _SPECIAL:
        end += 1
    if text[end - 1] == "$" and text.startswith(("'", '"'), end):
        raise fault(text, end - 1, "$ before a quote works only in a shell", "write the text in '…'")
    return [(text[at:end], UNQUOTED)], end


def _double_quoted(text: str, start: int) -> tuple[list[Piece], int]:
    parts = [("", _DOUBLE)]
    at = start + 1
    while (end := text.find('"', at)) >= 0:
        slash = text.find("\\", at, end)
        if slash < 0:
            return [*parts, (text[at:end], _DOUBLE)], end + 1
        letter = text[slash + 1]
        kept = "" if letter == "\n" else letter if letter in '$`"\\' else "\\" + letter
        parts += [(text[at:slash], _DOUBLE), (kept, _QUOTED)]
        at = slash + 2
    raise _unclosed(text, start)


def _unclosed(text: str, at: int) -> PflowError:
    return fault(text, at, f"the {text[at]} here is never closed", "a quote inside a text: 'it'\\''s'")


def is_pipe(words: Sequence[str]) -> bool:
    """Return True if a command's words are pipe syntax: one is a separator, or the first one is a whole flow."""
    if any(is_separator(word) for word in words):
        return True
    return bool(words) and is_pipe_text(words[0])


def is_pipe_text(text: str) -> bool:
    """Return True if one argument is a flow, not a sentence: it has a separator beside a node's name, or is one step.

    One step is the name of a node or flow with a hyphen in it (`read-file`), or a name with a flag or only quoted words
    after it. A comment may follow: `git-status # clean?` is a step.
    A sentence may have a `|`, so that separates steps only beside names of nodes, `pflow` or `pflow-…`. `->` and `&&`
    between two nodes count too: they are mistakes, which reading the flow then explains.
    """
    words = _tokens(text)
    step = _without_driver(words)
    if not _has_words(text, step):
        return False
    links = [at for at, word in enumerate(step) if word.kind == LINK and word.text != "|"]
    if links:
        beside = [word.text for at in (-1, *links) for word in step[at + 1 : at + 2]]
        return any(map(names_node, beside)) or any(map(is_slip, beside))
    begins = names_node(step[0].text)
    if begins and (_is_typed(step[0].text) or _is_one_step(step[1:])):
        return True
    return _holds_pipe(words, begins=begins) or _holds_arrow(step)


def is_misspelt_step(text: str) -> bool:
    """Return True if a text is one step, but its node's name is misspelt."""
    step = _without_driver(_tokens(text))
    return _has_words(text, step) and (_is_typed(step[0].text) or _is_one_step(step[1:])) and is_slip(step[0].text)


def _has_words(text: str, step: list[Token]) -> bool:
    """Return True if a step has words after its name; or only a comment, and its name is not one of a sentence."""
    return len(step) > 1 or (len(step) == 1 and "#" in text and _is_typed(step[0].text))


def _tokens(text: str) -> list[Token]:
    """Return the words and separators of a text. If a quote is never closed, split it at blanks."""
    try:
        tokens = scan(text)
    except PflowError:
        tokens = [Token(LINK if is_separator(word) else WORD, 0, [(word, UNQUOTED)]) for word in text.split()]
    return [token for token in tokens if token.kind in (WORD, LINK)]


def _without_driver(words: list[Token]) -> list[Token]:
    """Return the words without `pflow` or `pflow run`, with which a pasted command begins."""
    first = [word.text for word in words[:2]]
    return words[2 if first == ["pflow", "run"] else first[:1] == ["pflow"] :]


def _is_typed(name: str) -> bool:
    """Return True if the first word has a character that marks a step's name. A sentence may begin with a file."""
    return not name.endswith(".json") and not set("-_:").isdisjoint(name.rstrip(":"))


def _is_one_step(words: list[Token]) -> bool:
    """Return True if the words after a name are those of a step: one is a flag, or all are quoted."""
    if words and not words[0].is_quoted and words[0].text.startswith(('"', "'")):
        return True  # the reader then reports that the quote is never closed
    return all(word.is_quoted for word in words) or any(is_flag_in_text(word.bare) for word in words)


def is_flag_in_text(word: str) -> bool:
    """Return True for a flag, but not for a dash in a sentence."""
    return word[:1] == "-" and word.lstrip("-")[:1].isalpha()


def _holds_pipe(words: list[Token], *, begins: bool) -> bool:
    behind = [word.text for before, word in pairwise(words) if before.kind == LINK]
    is_pasted = any(word == "pflow" or _is_program(word) for word in (words[0].text, *behind))
    return bool(behind) and (is_pasted or (begins and all(map(names_node, behind))))


def _holds_arrow(step: list[Token]) -> bool:
    """Return True if an arrow, && or > is between names of nodes, some of which may be misspelt."""
    sides = [step[0].text, *(word.text for before, word in pairwise(step) if before.bare in (*ARROWS, "&&", ">"))]
    known = [word for word in sides if names_node(word)]
    return len(sides) > 1 and len(known) > 0 and all(word in known or is_slip(word) for word in sides)


def _is_program(word: str) -> bool:
    return os.path.basename(word).startswith("pflow-")


def names_node(word: str) -> bool:
    """Return True if a word is the name of a node or a flow, as a step has it."""
    if _is_program(word) or word.startswith("flow:"):
        return True
    type, _ = split_name(word)
    if is_flow_type(type):
        return type.endswith(".json")
    return bool(type) and (find_type(type) is not None or saved_flow(type) is not None)


def is_slip(word: str) -> bool:
    """Return True if a word is nearly the name of a node."""
    return nearest(split_name(word)[0], [node_type.name for node_type in list_types()]) is not None


def taken_for_redirection(words: Sequence[str]) -> PflowError | None:
    """Return the error if a shell took the `>` of an unquoted `=>`: a `=` is left, or stdout is a file like a node."""
    rest = next((word for word in words if is_cut_separator(word)), None)
    file = _file_of_stdout()
    if rest is not None:
        return _redirected(f"'{rest}>'", rest, file)
    if file and _may_be_step(file):
        return _redirected("'>>' or '>'", file, file)
    return None


def _may_be_step(file: str) -> bool:
    """Return True if a step could have this file's name. A file that the shell has just made is empty: no flow."""
    if is_flow_type(file):
        return os.path.getsize(file) > 0
    name = split_name(file.removeprefix("pflow-"))[0]
    # Damaged packs are no reason to fail here.
    return result_of(find_type, name, of=PflowError, otherwise=None) is not None


def _redirected(operator: str, left: str, file: str) -> PflowError:
    into = f" into the file '{file}', which is now here" if file else ""
    hint = "quotes around the flow ('a => b'), or :: between its steps (a :: b)"
    return PflowError(f"cannot read '{left}': the shell took {operator} for a redirection{into}", hint=hint, exit=USAGE)


def _file_of_stdout() -> str:
    """Return the name of the file in this directory to which stdout goes; "" for any other stdout."""
    import stat

    with Ignoring(OSError):
        there = os.fstat(1)
        if stat.S_ISREG(there.st_mode):
            with os.scandir(".") as entries:
                # Compare inodes first, without a system call; then devices too, since another may have that inode.
                own = (each for each in entries if each.inode() == there.st_ino)
                return next((each.name for each in own if os.path.samestat(each.stat(), there)), "")
    return ""


def split_name(word: str) -> tuple[str, str | None]:
    """Split `llm`, `llm:draft`, `flow:NAME:id` or `./x.pflow.json:id` into type and id, or None."""
    scheme = "flow:" if word.startswith("flow:") else ""
    type, colon, id = word.removeprefix(scheme).rpartition(":")
    if not colon or (is_flow_type(word) and not scheme and not is_step_name(id)):
        return word, None
    return scheme + type, id


def full_type(type: str) -> str:
    """Return the type that a name in pipe syntax means: a node, or else a saved flow as `flow:NAME`."""
    if is_flow_type(type) or find_type(type) is not None:
        return type
    return f"flow:{type}" if saved_flow(type) else type


def free_id(type: str, taken: dict[str, int]) -> str:
    """Make an id for a step without one, as `id_after` does, but only of characters that pipe syntax allows."""
    base = id_after(type, {})
    if not is_step_name(base):
        base = "".join(each if each.isalnum() and each.isascii() else "-" for each in base).strip("-")
        base = base if is_step_name(base) else f"step-{base}".rstrip("-")
    return id_after(base, taken)
