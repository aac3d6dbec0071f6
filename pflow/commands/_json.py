"""What a command prints with --json: one document, in one line that a terminal only shows."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.jsontext import encode
from pflow.process.stdout import write_pieces
from pflow.terminal.columns import encodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def print_json(value: Any) -> None:
    write_pieces(1, [json_line(value)])


def json_line(value: Any) -> bytes:
    """The document and a newline. A byte that is no UTF-8, as file names may have, is written as \\\\udcff."""
    try:
        text = str(encode(value, escape=False), "utf-8")
    except PflowError:
        text = str(encode(_sayable(value), escape=False), "utf-8")
    return shown(text).encode() + b"\n"


def shown(text: str) -> str:
    """JSON text with the escape of each sign that a terminal would obey instead of show."""
    if text.isprintable():
        return text
    import json

    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def _sayable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): _sayable(member) for key, member in value.items()}
    return [_sayable(item) for item in value] if isinstance(value, list | tuple) else value
