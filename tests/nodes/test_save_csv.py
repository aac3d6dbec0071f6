"""save-csv: rows as CSV that load-csv reads back, and no file where they cannot be saved."""

import json
import os
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.nodes.export_dashboard import ExportDashboard
from pflow.nodes.load_csv import LoadCsv
from pflow.nodes.save_csv import SaveCsv
from pflow.nodes.save_results import SaveResults
from pflow.nodes.write_file import WriteFile
from tests.nodes.rows import refused, run

NAMES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1)
VALUES = st.none() | st.text(st.characters(blacklist_categories=["Cs"])) | st.integers(-9, 9) | st.lists(st.booleans())
TABLES = st.lists(NAMES, min_size=1, max_size=4, unique=True).flatmap(
    lambda names: st.lists(st.fixed_dictionaries(dict.fromkeys(names, VALUES)), min_size=1, max_size=4)
)


def as_text(value):
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, separators=(",", ":"))


@settings(max_examples=60)
@given(rows=TABLES, delimiter=st.sampled_from([",", ";", "tab", ":"]))
def test_what_save_csv_writes_load_csv_reads(rows, delimiter):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.csv"
        run(SaveCsv, {"rows": rows, "path": path}, delimiter=delimiter)
        read = run(LoadCsv, {"path": path}, delimiter=delimiter)["rows"]
        assert read == [{name: as_text(value) for name, value in row.items()} for row in rows]
        for each in (f"{folder}/a.csv", f"{folder}/a.tsv") if delimiter == "," else ():
            run(SaveCsv, {"rows": rows, "path": each})
            assert run(LoadCsv, {"path": each})["rows"] == read


def test_columns_of_a_saved_file_are_those_of_all_rows_as_they_appear(tmp_path, capfd):
    path = tmp_path / "new" / "a.csv"
    rows = [{"b": 1.5}, {"a": True, "b": {"x": "é"}}, {}]
    run(SaveCsv, {"rows": rows, "path": str(path)})
    assert path.read_bytes() == "b,a,b.x\n1.5,,\n,true,é\n,,\n".encode()
    assert capfd.readouterr().err == ""
    run(SaveCsv, {"rows": {"items": []}, "path": str(path)})
    assert (path.read_bytes(), "has no header" in capfd.readouterr().err) == (b"", True)


@pytest.mark.parametrize(
    ("kind", "store", "exit", "words"),
    [
        (SaveCsv, {"rows": [{"a": 1}, [1]], "path": "out"}, 65, "row 2"),
        (SaveCsv, {"rows": "text", "path": "out"}, 65, "as rows"),
        (SaveCsv, {"rows": [{"a.b": 1, "a": {"b": 2}}], "path": "out"}, 65, "two columns would be called 'a.b'"),
        (WriteFile, {"content": ["a"], "path": "out.csv"}, 65, "row 1"),
        (SaveCsv, {"rows": [{"a": float("nan")}], "path": "out"}, 65, "nan is not JSON"),
        (SaveCsv, {"rows": [{"a": "\ud800"}], "path": "out"}, 65, "lone surrogate"),
        *((SaveCsv, {"rows": [], "path": f"a{each}"}, 2, "not CSV; a name in .csv") for each in (".xlsx", ".tsv.GZ")),
        (SaveCsv, {"rows": [], "path": "folder"}, 73, "it is a directory"),
        (SaveCsv, {"rows": [], "path": "new/"}, 73, "it names a directory"),
        (SaveCsv, {"rows": [], "path": ""}, 66, "the path is empty"),
        (SaveCsv, {"rows": [], "path": "n\0"}, 65, "NUL"),
        (SaveCsv, {"rows": [], "path": "file/below"}, 73, "cannot write 'file/below'"),
        (SaveResults, {"results": 1, "path": "out.txt"}, 2, "--format="),
        (SaveResults, {"results": b"\xff", "path": "out.json"}, 65, "write-file"),
        (SaveResults, {"results": "text", "path": "out.csv"}, 65, "it has no rows"),
        (SaveResults, {"results": 7, "path": "out.csv"}, 65, "as rows"),
        (SaveResults, {"results": [float("inf")], "path": "out.json"}, 65, "inf is not JSON"),
        (ExportDashboard, {"report": 7, "path": "out.html"}, 65, "as rows"),
    ],
)
def test_what_cannot_be_saved_leaves_no_file(tmp_path, monkeypatch, kind, store, exit, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    code, said = refused(kind, store)
    assert (code, words in said) == (exit, True), said
    assert sorted(os.listdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "mine"


def test_an_open_file_is_written_to():
    reader, writer = os.pipe()
    run(SaveCsv, {"rows": [{"a": 1}], "path": f"/dev/fd/{writer}"})
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "a\n1\n"
