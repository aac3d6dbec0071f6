"""Text that may not be UTF-8: CODEC[:HANDLER], as --encoding takes it, and the words for a byte that does not fit."""

from __future__ import annotations

from pflow.errors import BAD_DATA, USAGE, PflowError

BYTES = "bytes"
"""The word for data that is not to be decoded."""
ELSE = "--encoding=latin-1 where it is read, or iconv"
"""The hint for data that is not UTF-8."""
_HANDLERS = ("strict", "replace", "ignore", "backslashreplace")


def split_encoding(encoding: str) -> tuple[str, str]:
    """Return the codec and the handler of its errors. Raises PflowError (2) for unknown ones, with near names."""
    codec, _, handler = encoding.partition(":")
    try:
        b" ".decode(codec, "ignore")
    except (LookupError, ValueError) as error:
        from encodings.aliases import aliases

        from pflow.words.naming import guess

        is_for_bytes = "not a text encoding" in str(error)  # as hex is
        near = [] if is_for_bytes else [name.replace("_", "-") for name in aliases]
        why = "it is not a text encoding" if is_for_bytes else "no such encoding"
        hint = guess(codec, near, "utf-8, latin-1, utf-16, cp1252, …")
        raise PflowError(f"cannot read as '{codec}': {why}", hint=hint, exit=USAGE) from None
    if handler and handler not in _HANDLERS:
        what = f"cannot read as '{encoding}': no such error handler"
        raise PflowError(what, hint=f"{codec}:{', '.join(_HANDLERS[1:])}", exit=USAGE)
    return codec, handler or _HANDLERS[0]


def decode_as(encoding: str, data: bytes, name: str) -> str:
    """Decode data; `name` is a file's, or stdin. Raises PflowError: 2 for an unknown encoding, 65 for a wrong byte."""
    codec, handler = split_encoding(encoding)
    try:
        text = data.decode(codec, handler)
        text.encode()  # some codecs know lone surrogates
        return text
    except UnicodeError as error:
        what = f"cannot read '{name}' as {codec}: {error}"
        raise PflowError(what, hint=f"--encoding={codec}:replace takes it", exit=BAD_DATA) from None


def not_utf8(data: bytes) -> str:
    """Return why data is not UTF-8, with the first byte that does not fit; empty if it is UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 (byte 0x{data[error.start]:02x} at {error.start})"
    return ""
