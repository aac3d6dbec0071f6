"""Files that are not text: what they are, told by their first bytes, and the program that reads them."""

PACKED = {
    b"\x1f\x8b": ("gzip data", "zcat unpacks it"),
    b"BZh": ("bzip2 data", "bzcat unpacks it"),
    b"\xfd7zXZ\0": ("xz data", "xzcat unpacks it"),
    b"(\xb5/\xfd": ("Zstandard data", "zstdcat unpacks it"),
}
"""What the nodes for tables and maps unpack themselves."""
POINTER = b"version https://git-lfs.github.com/spec/"
WORKBOOK = "an Excel workbook"
UNIT = "\x1f"
"""The unit separator of ASCII, between the cells of a workbook: no flag changes how they are read."""
LOW = 7
"""The control characters below this stand in no text of one byte a character."""

_TABLE, _ATTACH = "soffice --headless --convert-to csv FILE", "pflow-llm --attachment=FILE"
ZIP, _OFFICE = ("a zip archive", "unzip -p FILE"), ("an old Office file", _TABLE)
_KINDS = {
    **{(0, magic): kind for magic, kind in PACKED.items() if magic != b"BZh"},
    **dict.fromkeys(((4, b"1AY&SY"), (4, b"\x17rE8P\x90")), PACKED[b"BZh"]),
    **dict.fromkeys([(0, bytes([each]) + b"*M\x18") for each in range(0x50, 0x60)], PACKED[b"(\xb5/\xfd"]),  # no data
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
"""What zip archives and old Office files are, by a name in them."""
_GLANCE = 4096


def recognize(data: bytes) -> tuple[str, str]:
    """Return what the data of a file is, and what reads it; two empty texts for text and for what is unknown."""
    head = data[:_GLANCE]
    for (offset, magic), kind in _KINDS.items():
        # A text may begin with a short mark, as the header PAR1;PAR2 does.
        if head.startswith(magic, offset) and (len(magic) > 4 or not magic.isascii() or min(head) < LOW):
            is_container = kind in (ZIP, _OFFICE)
            return next((each for mark, each in _INSIDE.items() if is_container and mark in data), kind)
    return "", ""
