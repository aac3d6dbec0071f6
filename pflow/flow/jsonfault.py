"""Where JSON text goes wrong: line, column, what stands there, and what should."""

from __future__ import annotations

from pflow.scanner import WHITESPACE, ScanError, scan, scanstring

_HINTS = {
    **dict.fromkeys(("True", "False", "None", "nil", "undefined"), "JSON writes true, false and null"),
    **dict.fromkeys("'‘’“”`", 'JSON writes texts in "…"'),
    **dict.fromkeys("/#", "JSON has no comments"),
    **dict.fromkeys("}]", "after the last one stands no comma"),
    '"': "a comma is missing, or this quote is one too many",
    "\ufeff": "save the file without a byte order mark",
}


class Fault(Exception):
    """What is wrong at a place of a text: `line 15, column 38: there is '"' where ',' or '}' should be`."""

    def __init__(self, text: str, at: int, message: str, hint: str = "") -> None:
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        self.hint = hint
        super().__init__(f"line {self.line}, column {self.column}: {message}")


def find_fault(text: str, levels: int) -> Fault | None:
    """The first fault of a text; None where it is one JSON value, no deeper than `levels`."""
    try:
        _Reader(text, levels).read()
    except Fault as fault:
        return fault
    return None


class _Reader:
    """Reads JSON without keeping it. Each method takes where something begins and gives where it ends."""

    def __init__(self, text: str, levels: int) -> None:
        self.text = text
        self.levels = levels

    def read(self) -> None:
        end = self.space(self.value(self.space(0), 0))
        if end < len(self.text):
            raise self.unexpected(end, "the end of the text")

    def space(self, at: int) -> int:
        while self.text[at : at + 1] and self.text[at] in WHITESPACE:
            at += 1
        return at

    def value(self, at: int, level: int) -> int:
        sign = self.text[at : at + 1]
        if sign == '"':
            return self.string(at)[1]
        if sign not in ("{", "["):
            return self.scalar(at)
        if level == self.levels:
            raise Fault(self.text, at, f"it is nested more than {self.levels} levels deep")
        return self.object(at, level + 1) if sign == "{" else self.list(at, level + 1)

    def object(self, at: int, level: int) -> int:
        lines: dict[str, int] = {}
        at = self.space(at + 1)
        if self.text.startswith("}", at):
            return at + 1
        while True:
            self.require('"', at, "a key in \"…\" or '}'" if not lines else 'a key in "…"')
            key, end = self.string(at)
            if key in lines:
                raise Fault(self.text, at, f"the key '{key}' stands twice, first on line {lines[key]}")
            lines[key] = self.text.count("\n", 0, at) + 1
            at = self.space(end)
            self.require(":", at, "':'")
            at = self.space(self.value(self.space(at + 1), level))
            if self.text.startswith("}", at):
                return at + 1
            self.require(",", at, "',' or '}'")
            at = self.space(at + 1)

    def list(self, at: int, level: int) -> int:
        at = self.space(at + 1)
        if self.text.startswith("]", at):
            return at + 1
        while True:
            at = self.space(self.value(at, level))
            if self.text.startswith("]", at):
                return at + 1
            self.require(",", at, "',' or ']'")
            at = self.space(at + 1)

    def require(self, sign: str, at: int, expected: str) -> None:
        if not self.text.startswith(sign, at):
            raise self.unexpected(at, expected)

    def scalar(self, at: int) -> int:
        word = self.word(at)
        try:
            _, end = scan(self.text, at)
        except ScanError:
            raise self.unexpected(at, "a value") from None
        except ValueError as error:
            raise Fault(self.text, at, str(error)) from None
        if end != at + len(word):
            hint = (
                "digits stand on both sides of a point, and no needless 0 in front" if word[0] in "-0123456789" else ""
            )
            raise Fault(self.text, at, f"'{word}' is no JSON value", hint)
        return end

    def word(self, at: int) -> str:
        end = at
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] in "+-._$"):
            end += 1
        return self.text[at : max(end, at + 1)]

    def unexpected(self, at: int, expected: str) -> Fault:
        word = self.word(at)
        hint = _HINTS.get(word[:1]) or _HINTS.get(word, "")
        if word in ("}", "]") and self.text[:at].rstrip(WHITESPACE)[-1:] != ",":
            hint = ""
        there = f"there is {_shown(word)}" if word else "the text ends"
        return Fault(self.text, at, f"{there} where {expected} should be", hint)

    def string(self, at: int) -> tuple[str, int]:
        """The text that begins at a quote, and where it ends."""
        try:
            value, end = scanstring(self.text, at + 1)
            value.encode()
        except ValueError:
            raise self.string_fault(at) from None
        return value, end

    def string_fault(self, start: int) -> Fault:
        at = start + 1
        while at < len(self.text) and self.text[at] != '"':
            fault = self.sign_fault(at)
            if fault is not None:
                return fault
            at += len(self.sign(at))
        return Fault(self.text, start, "the text that begins here does not end", 'it ends with a "')

    def sign(self, at: int) -> str:
        """One character of a text as it is written; a pair of surrogates is one."""
        if self.text[at] != "\\":
            return self.text[at]
        if self.text[at + 1 : at + 2] != "u":
            return self.text[at : at + 2]
        is_pair = _surrogate(self.text[at : at + 6]) == "high" and _surrogate(self.text[at + 6 : at + 12]) == "low"
        return self.text[at : at + (12 if is_pair else 6)]

    def sign_fault(self, at: int) -> Fault | None:
        sign = self.sign(at)
        if sign < " ":
            what = "a line break" if sign in "\r\n" else _shown(sign)
            return Fault(self.text, at, f"{what} stands in a text", 'write \\n for a line break; a text ends with a "')
        if len(sign) < 12 and _surrogate(sign):
            return Fault(self.text, at, f"{sign!a} in a text is half a character".replace("\\\\", "\\"))
        is_known = sign[1:] in tuple('"\\/bfnrt') or (len(sign) in (6, 12) and _is_hex(sign[2:6]))
        if sign[0] == "\\" and not is_known:
            return Fault(self.text, at, f"'{sign}' in a text is no escape", "a backslash is written \\\\")
        return None


def _is_hex(digits: str) -> bool:
    return len(digits) == 4 and digits.isascii() and all(digit in "0123456789abcdefABCDEF" for digit in digits)


def _surrogate(sign: str) -> str:
    r"""Which half of a pair a character or its escape, `\ud83d`, is; "" when none."""
    if len(sign) == 1:
        code = ord(sign)
    elif sign.startswith("\\u") and _is_hex(sign[2:]):
        code = int(sign[2:], 16)
    else:
        return ""
    return "high" if 0xD800 <= code < 0xDC00 else "low" if 0xDC00 <= code < 0xE000 else ""


def _shown(word: str) -> str:
    if word == "\ufeff":
        return "a byte order mark"
    return f"'{word[:24]}'" if word.isprintable() else f"the character U+{ord(word[0]):04X}"
