"""Data that may not be UTF-8: decoding it with --encoding, finding the wrong byte, recognizing the kind of file."""

from pflow.errors import BAD_DATA, USAGE, Attempt, PflowError

ELSE = "--encoding=latin-1 where it is read, or iconv"
"""The hint for data that is not UTF-8."""
_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_WIDE = (("utf-32le", 4), ("utf-32be", 4), ("utf-16le", 2), ("utf-16be", 2))
_GLANCE = 4096
"""Bytes at the beginning of a file that tell what it is."""
_ASCII = bytes(range(128))
_HANDLERS = ("strict", "replace", "ignore", "backslashreplace")

PACKED = {
    b"\x1f\x8b": ("gzip data", "zcat unpacks it"),
    b"BZh": ("bzip2 data", "bzcat unpacks it"),
    b"\xfd7zXZ\0": ("xz data", "xzcat unpacks it"),
    b"(\xb5/\xfd": ("Zstandard data", "zstdcat unpacks it"),
}
"""The packed data that the nodes for tables and `pflow map` unpack themselves."""
POINTER = b"version https://git-lfs.github.com/spec/"
WORKBOOK = "an Excel workbook"
UNIT = "\x1f"
"""The unit separator of ASCII, between the cells of a workbook; the flags for CSV do not apply to it."""
LOW = 7
"""The lowest control character in text with one byte for each character; a lower one means binary data."""

_TABLE, _ATTACH = "soffice --headless --convert-to csv FILE", "pflow-llm --attachment=FILE"
ZIP, _OFFICE = ("a zip archive", "unzip -p FILE"), ("an old Office file", _TABLE)
_KINDS = {
    **{(0, magic): kind for magic, kind in PACKED.items() if magic != b"BZh"},
    **dict.fromkeys(((4, b"1AY&SY"), (4, b"\x17rE8P\x90")), PACKED[b"BZh"]),
    # Zstandard's skippable frames hold no data, but a file may begin with one.
    **dict.fromkeys([(0, bytes([each]) + b"*M\x18") for each in range(0x50, 0x60)], PACKED[b"(\xb5/\xfd"]),
    **dict.fromkeys(((0, b"PK\3\4"), (0, b"PK\5\6"), (0, b"PK\7\x08")), ZIP),
    **dict.fromkeys(((257, b"ustar\0"), (257, b"ustar  ")), ("a tar archive", "tar -xOf FILE NAME")),
    **dict.fromkeys(((0, b"ARROW1\0"), (0, b"FEA1")), ("an Arrow (Feather) file", "pyarrow")),
    (0, b"\x1f\x9d"): ("packed by compress (.Z)", "zcat FILE"),
    (0, b'\4"M\x18'): ("lz4 data", "lz4cat FILE"),
    **dict.fromkeys(((0, b"]\0\0"), (0, b"LZIP\1")), ("LZMA data", "7z x -so FILE")),
    (0, b"7z\xbc\xaf'\x1c"): ("a 7z archive", "7z x -so FILE"),
    (0, b"Rar!\x1a"): ("a RAR archive", "unrar p -inul FILE"),
    (0, b"PAR1"): ("a Parquet file", "duckdb -csv -c \"FROM 'FILE'\""),
    (0, b"SQLite format 3\0"): ("an SQLite database", "sqlite3 -csv -header FILE 'SELECT …'"),
    (0, b"%PDF-"): ("a PDF", "pdftotext FILE -"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"): _OFFICE,
    (0, POINTER): ("a Git LFS pointer, not the file itself", "git lfs pull"),
    (0, b"\x89PNG\r\n"): ("a PNG image", _ATTACH),
    (0, b"\xff\xd8\xff"): ("a JPEG image", _ATTACH),
}
_INSIDE = {
    b"xl/workbook.bin": ("an Excel workbook in the form .xlsb", _TABLE),
    b"xl/workbook": (WORKBOOK, "pflow-load-csv FILE"),
    b"word/document": ("a Word document", "pandoc -t plain FILE"),
    b"opendocument.spreadsheet": ("an OpenDocument spreadsheet", _TABLE),
    b"opendocument.text": ("an OpenDocument text", "pandoc -t plain FILE"),
    b"E\0n\0c\0r\0y\0p\0t\0e\0d\0": ("an encrypted Office file", "msoffcrypto-tool -p PASSWORD FILE FILE.xlsx"),
    b"B\0o\0o\0k\0": ("an old Excel workbook (.xls)", _TABLE),
    b"b\0o\0o\0k\0": ("an old Excel workbook (.xls)", _TABLE),
}
"""The kinds of zip archives and old Office files, by a name that is stored in them."""


def split_encoding(encoding: str) -> tuple[str, str]:
    """Return the codec and the handler of its errors. Raises PflowError (2) for unknown ones, with near names."""
    codec, _, handler = encoding.partition(":")
    try:
        b" ".decode(codec, "ignore")
    except (LookupError, ValueError) as error:
        from encodings.aliases import aliases

        from pflow.text.naming import guess

        is_for_bytes = "not a text encoding" in str(error)  # hex and base64 are codecs from bytes to bytes
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
        text.encode()  # utf-7 and others let lone surrogates through, which no store takes
        # utf-16le and its like keep the mark.
        return text if data.startswith(b"\xef\xbb\xbf") else text.removeprefix("\ufeff")


def not_utf8(data: bytes) -> str:
    """Return why data cannot be read as UTF-8: its kind, or the first byte that does not fit; empty if it can."""
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
    """Return the kind of binary data, and what reads it; two empty texts for text, and for a PDF in ASCII."""
    if data.isascii() and b"\0" not in data:
        return "", ""
    kind, hint = recognize(data)
    if kind or wide_codec(data) or min(data[:_GLANCE]) >= LOW:
        return kind, hint
    return "", "the program 'file' may know what it is"


def wide_codec(data: bytes) -> str:
    """Return the codec of data in UTF-16 or UTF-32, recognized by its mark or its zero bytes; else an empty text."""
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
    """Return the bytes of a value that is UTF-16 or UTF-32 (only the first ones, if it was read as text); else b""."""
    if isinstance(value, str):
        value = value[:_GLANCE].encode("utf-8", "replace") if "\0" in value else b""
    return value if isinstance(value, bytes) and wide_codec(value) else b""


def conversion(data: bytes) -> str:
    """Return the command that converts data to UTF-8, or that reads data of its kind."""
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
    # cp1252 contains Latin-1, and a later line may have the curly quotes that only cp1252 has.
    return "cp1252" if high.decode("cp1252", "ignore").encode("cp1252") == high else ""


def recognize(data: bytes) -> tuple[str, str]:
    """Return the kind of a file, from its data, and what reads it; two empty texts for text and for unknown kinds."""
    head = data[:_GLANCE]
    for (offset, magic), kind in _KINDS.items():
        # A text may begin with the letters of a short mark, as a CSV with the header PAR1;PAR2 does.
        if head.startswith(magic, offset) and (len(magic) > 4 or not magic.isascii() or min(head) < LOW):
            is_container = kind in (ZIP, _OFFICE)
            return next((each for mark, each in _INSIDE.items() if is_container and mark in data), kind)
    return "", ""
