"""Text that may not be UTF-8: CODEC[:HANDLER], as --encoding takes it, and the words for a byte that does not fit."""

from pflow.errors import BAD_DATA, USAGE, Attempt, PflowError

ELSE = "--encoding=latin-1 where it is read, or iconv"
"""The hint for data that is not UTF-8."""
_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_WIDE = (("utf-32le", 4), ("utf-32be", 4), ("utf-16le", 2), ("utf-16be", 2))
_GLANCE = 4096
_ASCII = bytes(range(128))
_HANDLERS = ("strict", "replace", "ignore", "backslashreplace")


def split_encoding(encoding: str) -> tuple[str, str]:
    """Return the codec and the handler of its errors. Raises PflowError (2) for unknown ones, with near names."""
    codec, _, handler = encoding.partition(":")
    try:
        b" ".decode(codec, "ignore")
    except (LookupError, ValueError) as error:
        from encodings.aliases import aliases

        from pflow.text.naming import guess

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
    hint = f"--encoding={codec}:replace takes it"
    with Attempt(f"cannot read '{name}' as {codec}", of=UnicodeError, hint=hint, exit=BAD_DATA):
        text = data.decode(codec, handler)
        text.encode()  # some codecs know lone surrogates
        return text if data.startswith(b"\xef\xbb\xbf") else text.removeprefix("\ufeff")  # utf-16le leaves it


def not_utf8(data: bytes) -> str:
    """Return why data cannot be read as UTF-8: what it is, or the first byte that does not fit; empty if it can."""
    if kind := _binary(data)[0]:
        return f"it is {kind}"
    codec = wide_codec(data)
    is_other = f"it is {codec.upper()}, not UTF-8" if codec else "it is not UTF-8"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"{is_other} (byte 0x{data[error.start]:02x} at {error.start})"
    return is_other if codec else ""


def text_in(data: bytes, act: str) -> str:
    """Return the text of a file in UTF-8. Raises PflowError (65), which begins with `act`, for other data."""
    if wrong := not_utf8(data):
        raise PflowError(f"{act}: {wrong}", hint=conversion(data), exit=BAD_DATA)
    return data.decode()


def _binary(data: bytes) -> tuple[str, str]:
    """Return what data is, if that is known, and what reads it; two empty texts for text, such as a PDF in ASCII."""
    if data.isascii() and b"\0" not in data:
        return "", ""
    from pflow.values.binary import LOW, recognize

    kind, hint = recognize(data)
    if kind or wide_codec(data) or min(data[:_GLANCE]) >= LOW:
        return kind, hint
    return "", "the program 'file' may know what it is"


def wide_codec(data: bytes) -> str:
    """Return UTF-16 or UTF-32 if data is that, by its mark or its zero bytes, as a codec; else an empty text."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return codec
    for codec, width in _WIDE if b"\0" in data[:_GLANCE] else ():
        begin = data[: min(len(data), _GLANCE) // width * width]
        text = begin.decode(codec, "replace")
        is_text = all(char.isprintable() or char.isspace() for char in text)
        if is_text and len(text) > 1 and sum(map(str.isascii, text)) * 2 > len(text):
            return codec
    return ""


def wide_bytes(value: object) -> bytes:
    """Return the bytes of a value that is UTF-16 or UTF-32, be it bytes or their beginning read as text; else none."""
    if isinstance(value, str):
        value = value[:_GLANCE].encode("utf-8", "replace") if "\0" in value else b""
    return value if isinstance(value, bytes) and wide_codec(value) else b""


def conversion(data: bytes) -> str:
    """Return what to type to make UTF-8 of data."""
    if hint := _binary(data)[1]:
        return hint
    return f"iconv -f {codec_of(data).upper() or 'ENCODING'} -t UTF-8"


def remedy(data: bytes) -> str:
    """Return the hint for data that is not UTF-8, which names the encoding that it seems to have."""
    if hint := _binary(data)[1]:
        return hint
    codec = codec_of(data)
    return f"--encoding={codec} where it is read, or {conversion(data)}" if codec else ELSE


def codec_of(data: bytes) -> str:
    """Return the encoding that data seems to have; empty if most of it is not ASCII, or nothing fits."""
    high = data.translate(None, _ASCII)
    if (codec := wide_codec(data)) or not high or len(high) * 2 > len(data):
        return codec
    # Latin-1 is part of it, and the next line may have its curly quotes
    return "cp1252" if high.decode("cp1252", "ignore").encode("cp1252") == high else ""
