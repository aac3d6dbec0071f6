"""Packed files and workbooks are read as plain ones are, at every door; what is not read is named."""

import bz2
import gzip
import importlib
import io
import lzma
import sys
import tracemalloc
import zipfile
from datetime import date, datetime, time

import openpyxl
import pytest

from pflow.errors import PflowError
from pflow.files import reading
from pflow.map.items import Items
from pflow.nodes.load_csv import LoadCsv
from pflow.nodes.load_json import LoadJson
from pflow.nodes.load_jsonl import LoadJsonl
from pflow.nodes.read_file import ReadFile
from pflow.tables.source import _NO_RESULT, _ZSTD, unpack
from pflow.values.encoding import not_utf8, recognize, remedy
from tests.nodes.rows import refused, run

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
PACK[".zst"] = importlib.import_module(_ZSTD).compress
OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"
CSV, ROWS = "a,b\n1,é\n".encode(), [{"a": "1", "b": "é"}]
kinds = pytest.mark.parametrize("pack", PACK.values(), ids=PACK)


def unpacked(data, size=1 << 20):
    parts = (data[at : at + size] for at in range(0, len(data), size))
    return [*unpack(parts, "cannot read 'a'", is_table=True)[1]]


@kinds
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_members_and_padding_in_parts_of_any_size_are_unpacked(pack, size, capfd):
    texts = [b"", CSV * 9_999, b"x"]
    data = (b"\0" * 512).join([*map(pack, texts), b""])
    for end in (b"", b"\0", b"garbage"):
        parts = unpacked(data + end, size)
        assert (b"" in parts, b"".join(parts)) == (False, b"".join(texts))
    assert capfd.readouterr().err.count(": it is not ") <= 1


@kinds
def test_what_is_cut_short_or_damaged_is_refused(pack):
    data = pack(CSV * 50)
    for end in range(10, len(data)):
        with pytest.raises(PflowError, match=r"cannot read 'a': its .* data is cut short"):
            unpacked(data[:end])
    with pytest.raises(PflowError, match=r"data is (damaged: |cut short)"):
        unpacked(data[:-12] + bytes(each ^ 0x5A for each in data[-12:]))


@kinds
def test_every_door_reads_them_by_content(pack, tmp_path):
    suffix = next(each for each in PACK if PACK[each] is pack)
    line = '{"a": "1", "b": "é"}'.encode()
    for form, text in ((".csv", CSV), (".TSV", CSV.replace(b",", b"\t")), (".jsonl", line), (".json", b"[%s]" % line)):
        (path := tmp_path / f"a{form}{suffix}").write_bytes(pack(text))
        assert list(Items([str(path)])) == ROWS
        kind, key = {".jsonl": (LoadJsonl, "rows"), ".json": (LoadJson, "data")}.get(form, (LoadCsv, "rows"))
        assert run(kind, {"path": str(path)})[key] == run(kind, {"text": pack(text)})[key] == ROWS
    path.write_bytes(pack("a,b\n1,é\n".encode("latin-1")))
    assert run(LoadCsv, {"path": str(path)}, encoding="latin-1")["rows"] == ROWS
    assert list(Items([str(path)], "csv", "latin-1")) == ROWS
    assert run(ReadFile, {"path": str(path)})["content"] == path.read_bytes()


@kinds
def test_a_bomb_fills_no_memory(pack, tmp_path, monkeypatch):
    (path := tmp_path / "a.jsonl").write_bytes(pack(bytes(30_000_000)))
    monkeypatch.setattr(reading, "_PLAIN", 500_000)
    for read in (lambda: refused(LoadJsonl, {"path": str(path)}), lambda: refused_items(path)):
        tracemalloc.start()
        exit, words = read()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (exit, "it unpacks to more than 100 times its size" in words, peak < 16_000_000) == (65, True, True)
    monkeypatch.setattr(reading, "_most", 1_000)
    assert "it has more than 1,000 bytes; --max-input" in refused(LoadCsv, {"text": pack(bytes(1_001))})[1]
    monkeypatch.setattr(reading, "_most", 2_000_000)
    assert run(LoadJsonl, {"text": pack(b"\n" * 1_000_000)})["rows"] == []


def refused_items(path):
    with pytest.raises(PflowError) as caught:
        list(Items([str(path)]))
    return caught.value.exit, f"{caught.value.message}; {caught.value.hint}"


def zipped(name, content=b"x"):
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        archive.writestr(name, content)
    return made.getvalue()


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (gzip.compress(gzip.compress(CSV)), "gzip data; zcat"),
        (gzip.compress(b"a".ljust(257, b"\0") + b"ustar\x0000"), "a tar archive; tar -xOf"),
        (zipped("a.csv"), "a zip archive; unzip -p FILE"),
        (zipped("word/document.xml"), "a Word document; pandoc"),
        (zipped("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"), "an OpenDocument spreadsheet; soffice"),
        (OFFICE + "Workbook".encode("utf-16le"), "an old Excel workbook (.xls); soffice"),
        (OFFICE + "EncryptedPackage".encode("utf-16le"), "an encrypted Office file"),
        (b"\xc3\xa9".ljust(257, b"\0") + b"ustar  \0", "a tar archive; tar"),
        (b"PAR1\x15\4", "a Parquet file; duckdb"),
        (b"ARROW1\0\0", "an Arrow (Feather) file"),
        (b"SQLite format 3\0\x10", "an SQLite database; sqlite3"),
        (b"%PDF-1.4\n1 0 obj\n", "a PDF; pdftotext"),
        (b"\x89PNG\r\n\x1a\n\0", "a PNG image; pflow-llm"),
        (b"7z\xbc\xaf'\x1c\0\4", "a 7z archive; 7z"),
        (b'\4"M\x18d@', "lz4 data; lz4cat"),
        (lzma.compress(CSV, lzma.FORMAT_ALONE), "LZMA data; 7z"),
        (b"\x1f\x9d\x90a", "packed by compress (.Z); zcat"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer, not the file itself; git"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # packed data holds the time
)  # fmt: skip
def test_what_is_not_read_is_named(data, named, tmp_path):
    (path := tmp_path / "a.csv").write_bytes(data)
    text = data if "\ufffd" in data.decode(errors="replace") else data.decode()
    for source in ({"path": str(path)}, {"text": text}):
        for kind, form in ((LoadCsv, {}), (LoadJson, {}), (LoadJsonl, {"encoding": "latin-1"})):
            exit, words = refused(kind, source, **form)
            assert (exit, f"it is {named}" in words) == (65, True)
    assert f"it is {named}" in "; ".join(refused_items(path)[1:])
    if not data.isascii():
        assert not_utf8(data) == f"it is {recognize(data)[0]}"
        assert "--encoding" not in remedy(data)


def test_a_text_that_begins_as_a_mark_stays_a_text():
    assert run(LoadCsv, {"text": "PAR1;é\n1;2\n"})["rows"] == [{"PAR1": "1", "é": "2"}]
    assert remedy(b"\x80\4\x95\n\0\0") == "the program 'file' may know what it is"


def workbook(*rows):
    book = openpyxl.Workbook()
    sheet = book.create_sheet("cells")
    for row in rows:
        sheet.append(row)
    book.create_sheet("last")["A1"] = "other"
    book.save(made := io.BytesIO())
    return made.getvalue()


def test_a_workbook_is_read_as_its_csv(tmp_path, capfd):
    cells = ["a", "b;c", 7], [1, 0.5, True], [date(2026, 11, 28), datetime(2026, 11, 28, 9, 5), time(9, 5)]
    others = [None], ['x "y"\nz', "#DIV/0!", None, ""]
    texts = [
        ["1", "0.5", "TRUE"],
        ["2026-11-28", "2026-11-28 09:05:00", "09:05:00"],
        ['x "y"\nz', "#DIV/0!", ""],
    ]
    (path := tmp_path / "a.xlsx").write_bytes(workbook([None], *cells, *others))
    rows = [dict(zip(("a", "b;c", "7"), row, strict=True)) for row in texts]
    assert run(LoadCsv, {"path": str(path)})["rows"] == rows
    assert "its sheet 'cells', not 'Sheet', 'last'" in capfd.readouterr().err
    assert list(Items([str(path)])) == run(LoadCsv, {"text": gzip.compress(path.read_bytes())})["rows"] == rows
    assert run(LoadCsv, {"text": workbook(["a", "b"], [1, True])}, infer=True)["rows"] == [{"a": 1, "b": True}]
    for form in ({"delimiter": ";"}, {"quotes": False}, {"decimal": ","}):
        assert run(LoadCsv, {"path": str(path)}, **form)["rows"] == rows
    assert refused(LoadJson, {"path": str(path)}) == (
        65, f"cannot read '{path}': it is an Excel workbook; pflow-load-csv FILE")  # fmt: skip


def test_a_workbook_is_no_bomb(tmp_path, monkeypatch):
    sparse, data = openpyxl.Workbook(), workbook(["a"])
    for row in range(1, 999):
        sparse.active.cell(row, row * 16).value = 1
    sparse.save(far := io.BytesIO())
    with zipfile.ZipFile(bomb := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for each in (source := zipfile.ZipFile(io.BytesIO(data))).namelist():
            archive.writestr(each, source.read(each).replace(b"<sheetData", b" " * 4_000_000 + b"<sheetData"))
    monkeypatch.setattr(reading, "_PLAIN", 1_000_000)
    for data in (far.getvalue(), bomb.getvalue()):
        (path := tmp_path / "a.xlsx").write_bytes(data)
        assert "it unpacks to more than 100 times" in refused(LoadCsv, {"path": str(path)})[1]
        assert refused_items(path)[0] == 65
    assert "a damaged Excel workbook" in refused(LoadCsv, {"text": data[:-99]})[1]
    path.write_bytes(data[:99])
    assert "a damaged Excel workbook" in refused(LoadCsv, {"path": str(path)})[1]


def test_empty_rows_and_columns_of_a_sheet_are_left_out_and_formulas_without_results_told(capfd):
    book = openpyxl.Workbook()
    for place, value in {"C5": "a", "D5": "b", "C7": 1, "D7": "=C7*2", "D1048576": 3, "XFD7": 4}.items():
        book.active[place] = value
    book.save(made := io.BytesIO())
    rows = [{"a": "1", "b": "", "column_3": "4"}, {"a": "", "b": "3", "column_3": ""}]
    assert run(LoadCsv, {"text": made.getvalue()})["rows"] == rows
    assert "the formula in D7 has no result, and so the cell is empty" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("cell", "has_none"),
    [
        ('<c r="B2"><f>A1</f><v></v></c>', True),
        ('<x:c s="1" r="B2"><x:f t="shared" si="0" /><x:v/></x:c>', True),
        ('<c r="B2" s="3"><f>A1</f></c>', True),
        ('<c r="B2" t="str"><f>A1</f><v></v></c>', False),
        ('<c r="B2"><f>A1</f><v>0</v></c><c r="B3"/>', False),
    ],
)
def test_a_formula_without_a_result_is_found(cell, has_none):
    assert [each[0] for each in _NO_RESULT.findall(cell.encode())] == [b"B2"] * has_none


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    for library, data, extra in (("openpyxl", workbook(["a"]), "xlsx"), (_ZSTD, PACK[".zst"](CSV), "zstd")):
        monkeypatch.setitem(sys.modules, library, None)
        exit, words = refused(LoadCsv, {"text": data})
        assert (exit, f"{library} is not installed" in words, f"[{extra}]" in words) == (78, True, True)
