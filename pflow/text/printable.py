"""Text that is safe to print: characters that would control the terminal, and lone surrogates, are escaped."""


def clean(text: str) -> str:
    """Put a text on one line and escape characters that would control the terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else " " if char.isspace() else char.encode("unicode_escape").decode()
        for char in text
    )


def clean_json(text: str) -> str:
    """Escape characters that would control the terminal in JSON text, as JSON escapes them."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _in_json(char) for char in text)


def _in_json(char: str) -> str:
    halves = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join([f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4)])


CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t\r"}
CONTROLS |= {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(128, 160)}
CONTROLS |= {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""The escape of each character that a terminal obeys, or that reverses the direction of text."""


def harmless(text: str, *, is_data: bool = False) -> str:
    """Escape characters that control the terminal or change another part of its screen; lines, tabs, colours stay.

    A line of progress may also return to its beginning and erase itself. Data may not: it would hide a part of itself.
    """
    kept = ("m",) if is_data else ("m", "K")
    text = text.replace("\r\n", "\n").replace("\r", "\\r") if is_data else text
    first, *rest = text.split("\x1b")
    shown = [first.translate(CONTROLS)]
    for part in rest:
        is_kept = part[:1] == "[" and part[1:].lstrip("0123456789;:")[:1] in kept
        shown.append(("\x1b" if is_kept else "\\x1b") + part.translate(CONTROLS))
    return "".join(shown)


def message_line(text: str) -> str:
    """Put a message on one line: white space between words becomes a blank, inside a quoted name it is escaped."""
    shown, is_quoted = "", False
    for number, part in enumerate(text.strip().split("'")):
        if number:
            is_quoted = part[:1].isalnum() if is_quoted else not shown[-1:].isalnum()
            shown += "'"
        shown += "".join(map(_escaped, part)) if is_quoted else " ".join(f"|{part}|".split())[1:-1]
    return clean(shown)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode() if char.isspace() and char != " " else char


def encodable(text: str) -> str:
    """Escape lone surrogates, which file names may contain."""
    return text.encode("utf-8", "backslashreplace").decode()


LONGEST = 300
"""The most characters of another program's words in a message."""


def foreign_line(text: str) -> str:
    """Put another program's words on one line of a message."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "…"


def clause(text: str) -> str:
    """Turn a sentence into a clause: lower-case first letter, no full stop."""
    return f"{text[:1].lower()}{text[1:].rstrip('.')}"


def from_one(place: object) -> str:
    """Return an item's index in its batches with numbers from 1: `4/1` for `3/0`."""
    return "/".join(str(int(part) + 1) if part.isdecimal() else part for part in str(place).split("/"))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 row`, `1,200 rows`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
