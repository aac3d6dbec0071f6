"""The nodes for rows: what each makes of which rows, and what it refuses, with the place."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.nodes.analyze import Analyze
from pflow.nodes.clean_data import CleanData
from pflow.nodes.custom_analysis import CustomAnalysis
from pflow.nodes.export_dashboard import ExportDashboard
from pflow.nodes.load_csv import LoadCsv
from pflow.nodes.load_json import LoadJson
from pflow.nodes.load_jsonl import LoadJsonl
from pflow.nodes.save_csv import SaveCsv
from pflow.nodes.save_results import SaveResults
from pflow.process.signals import Deadline, TimedOut, catch_signals
from tests.bench.speed import CLEAN, write_sales
from tests.nodes.child import in_child
from tests.tools import need

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(kind, shared, **params):
    """What a node leaves in a store."""
    node = kind()
    node.set_params(params)
    node.run(shared)
    return shared


def refused(kind, shared, **params):
    with pytest.raises(PflowError) as caught:
        run(kind, shared, **params)
    return caught.value.exit, f"{caught.value.message}; {caught.value.hint}"


def load(data, tmp_path, **params):
    """The rows of a CSV file."""
    path = tmp_path / "a.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return run(LoadCsv, {"path": str(path)}, **params)["rows"]


@pytest.mark.parametrize(
    ("data", "params", "rows"),
    [
        ("a,b\n1,2\n", {}, [{"a": "1", "b": "2"}]),
        ("a;b,c;d\n1;2;3\n", {}, [{"a": "1", "b,c": "2", "d": "3"}]),
        ("a\tb\r\n1\t2\r\n", {}, [{"a": "1", "b": "2"}]),
        ("a|b\n1|2", {}, [{"a": "1", "b": "2"}]),
        ('"a;b;c",d\n1,2\n', {}, [{"a;b;c": "1", "d": "2"}]),
        ("a:b\n1:2\n", {"delimiter": ":"}, [{"a": "1", "b": "2"}]),
        ("a\tb;c;d\n1\t2\n", {"delimiter": "tab"}, [{"a": "1", "b;c;d": "2"}]),
        ('a,b\n"x\r\ny","say ""no"""\n', {}, [{"a": "x\r\ny", "b": 'say "no"'}]),
        ('a,b\n5" pipe,"\n', {"quotes": False}, [{"a": '5" pipe', "b": '"'}]),
        ("a\r1\r\r2\r", {}, [{"a": "1"}, {"a": "2"}]),
        ("a\u2028b,c\n\x0b,\x1c\n", {}, [{"a\u2028b": "\x0b", "c": "\x1c"}]),
        ("a\n\0\n", {}, [{"a": "\0"}]),
        ("\ufeffa,b\n1,2\n", {}, [{"a": "1", "b": "2"}]),
        ("ä\n€\n".encode("cp1252"), {"encoding": "cp1252"}, [{"ä": "€"}]),
        ("ä\n€\n".encode("utf-16"), {"encoding": "utf-16"}, [{"ä": "€"}]),
        ("a,b\n", {}, []),
        ("1,2\n3,4\n", {"header": False}, [{"c1": "1", "c2": "2"}, {"c1": "3", "c2": "4"}]),
        ("", {"header": False}, []),
        ("a\n" + "x" * 200_000, {}, [{"a": "x" * 200_000}]),
    ],
)
def test_csv_of_many_kinds_is_read(tmp_path, data, params, rows):
    assert load(data, tmp_path, **params) == rows


@pytest.mark.parametrize(
    ("data", "params", "exit", "words"),
    [
        ("a,b\n1,2\n3\n", {}, 65, "line 3, column 2 ('b'): nothing is there"),
        ('a,b\n"x\ny",2\n1,2,3\n', {}, 65, "line 4, column 3: it has no name"),
        ('a,b\n"x\ny",2\n3,"z\n', {}, 65, "line 4, column 3: this quote is not closed"),
        ('a,b\n1,"x"y\n', {}, 65, "line 2, column 6: something follows a closing quote"),
        ("a,b,a\n", {}, 65, "line 1: columns 1 and 3 are both called 'a'; --no-header"),
        ("a,,b\n", {}, 65, "line 1: column 2 has no name"),
        (b"a,b\n1,\xff\n", {}, 65, "line 2, byte 3: it is not UTF-8; --encoding="),
        ("ä\n".encode("utf-16"), {}, 65, "--encoding=utf-16"),
        ("a", {"encoding": "nonsense"}, 2, "no such encoding"),
        ("a", {"encoding": "hex"}, 2, "no such encoding"),
        ("a", {"delimiter": "::"}, 2, "--delimiter takes one character"),
        ("", {}, 66, "it is empty"),
        ("\ufeff\n\n", {}, 66, "it is empty"),
    ],
)
def test_what_is_wrong_in_csv_is_named_with_its_place(tmp_path, data, params, exit, words):
    path = tmp_path / "a.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    code, said = refused(LoadCsv, {"path": str(path)}, **params)
    assert (code, words in said) == (exit, True), said
    assert said.startswith("cannot ")


@pytest.mark.parametrize("kind", [LoadCsv, LoadJson, LoadJsonl])
def test_what_is_no_file_and_no_text_is_refused(kind, tmp_path):
    assert refused(kind, {})[0] == 66
    assert refused(kind, {"path": str(tmp_path / "none")})[0] == 66
    assert refused(kind, {"path": str(tmp_path)})[0] == 66
    assert refused(kind, {"path": "nul\0"})[0] == 65
    assert refused(kind, {"text": [1]})[0] == 65
    assert "--each --as=path" in refused(kind, {"text": ["a.csv", "b.csv"]})[1]
    (tmp_path / "a").write_text("a")
    assert "--as=path" in refused(kind, {"text": str(tmp_path / "a")})[1]


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2", ""], [1, -2, None]),
        (["18446744073709551615", "0"], [(1 << 64) - 1, 0]),
        (["18446744073709551616", "0"], ["18446744073709551616", "0"]),
        (["1" * 30, "2"], ["1" * 30, "2"]),
        (["007", "1"], ["007", "1"]),
        (["+1", "1"], ["+1", "1"]),
        (["1_0", "\u0661"], ["1_0", "\u0661"]),
        ([" 1", "2"], [" 1", "2"]),
        (["1", "2.50", "-1e3", ".5"], [1.0, 2.5, -1000.0, 0.5]),
        (["9007199254740993", "0.5"], ["9007199254740993", "0.5"]),
        (["1e999", "1"], ["1e999", "1"]),
        (["nan", "1.5"], ["nan", "1.5"]),
        (["true", "FALSE"], [True, False]),
        (["true", "1"], ["true", "1"]),
        (["", ""], [None, None]),
        (["x", ""], ["x", None]),
    ],
)
def test_a_column_gets_the_type_that_all_its_texts_have(tmp_path, texts, values):
    rows = load("a,b\n" + "".join(f"{text},x\n" for text in texts), tmp_path, infer=True)
    found = [row["a"] for row in rows]
    assert (found, [*map(type, found)]) == (values, [*map(type, values)])


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
        if delimiter == ",":
            assert run(LoadCsv, {"path": path})["rows"] == read


def test_columns_of_a_saved_file_are_those_of_all_rows_as_they_appear(tmp_path):
    path = tmp_path / "new" / "a.csv"
    rows = [{"b": 1.5}, {"a": True, "b": {"x": "é"}}, {}]
    run(SaveCsv, {"rows": rows, "path": str(path)})
    assert path.read_bytes() == 'b,a\n1.5,\n"{""x"":""é""}",true\n,\n'.encode()
    run(SaveCsv, {"rows": [], "path": str(path)})
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("kind", "store", "exit", "words"),
    [
        (SaveCsv, {"rows": [{"a": 1}, [1]], "path": "out"}, 65, "row 2"),
        (SaveCsv, {"rows": {"a": 1}, "path": "out"}, 65, "as rows"),
        (SaveCsv, {"rows": [{"a": float("nan")}], "path": "out"}, 65, "nan is not JSON"),
        (SaveCsv, {"rows": [{"a": "\ud800"}], "path": "out"}, 65, "lone surrogate"),
        (SaveCsv, {"rows": [], "path": "folder"}, 73, "it is a directory"),
        (SaveCsv, {"rows": [], "path": "new/"}, 73, "it names a directory"),
        (SaveCsv, {"rows": [], "path": ""}, 66, "the path is empty"),
        (SaveCsv, {"rows": [], "path": "n\0"}, 65, "NUL"),
        (SaveCsv, {"rows": [], "path": "file/below"}, 73, "cannot write 'file/below'"),
        (SaveResults, {"results": 1, "path": "out.txt"}, 2, "--format="),
        (SaveResults, {"results": b"\xff", "path": "out.json"}, 65, "write-file"),
        (SaveResults, {"results": "text", "path": "out.csv"}, 65, "it has no rows"),
        (SaveResults, {"results": 7, "path": "out.csv"}, 65, "it has no rows"),
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


def test_the_default_file_stays_below_the_root_too(tmp_path, monkeypatch):
    (tmp_path / "root").mkdir()
    monkeypatch.chdir(tmp_path / "root")
    monkeypatch.setenv("PFLOW_ROOT", str(tmp_path / "root"))
    (tmp_path / "root" / "results.json").symlink_to(tmp_path / "outside.json")
    assert refused(SaveResults, {"results": 1})[0] == 77
    assert not (tmp_path / "outside.json").exists()
    run(SaveResults, {"results": 1}, format="md")


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (LoadJson, '{"a": 1,\n "b": NaN}', "line 2, column 7: NaN is not JSON"),
        (LoadJson, '["18446744073709551616",\n18446744073709551616]', "line 2, column 1: the integer"),
        (LoadJson, '{"ä": 1,x}', "line 1, column 9: "),
        (LoadJson, "[1] 2", "line 1, column 4: something follows"),
        (LoadJson, "[1e999]", "line 1, column 2: "),
        (LoadJson, "[" * 100_000, "nested too deeply"),
        (LoadJsonl, '{"a": 1}\n\n{"a": }\n', "line 3, column 7: "),
        (LoadJsonl, '{"a":\n1}\n', "line 1, column 6: "),
        (LoadJsonl, "1\n[Infinity]\n", "line 2, column 2: Infinity is not JSON"),
    ],
)
def test_what_is_wrong_in_json_is_named_with_its_place(kind, text, words):
    code, said = refused(kind, {"text": text})
    assert (code, words in said) == (65, True), said


DIRTY = [{" a": " x ", "b": "1"}, {" a": "", "b": None}, {" a": "y", "b": "two"}, {" a": "x", "b": "1"}]


@pytest.mark.parametrize(
    ("params", "rows", "dropped"),
    [
        ({}, [{"a": "x", "b": "1"}, {"a": "y", "b": "two"}], (1, 1, 0)),
        ({"types": ["b=int"]}, [{"a": "x", "b": 1}, {"a": "y", "b": None}], (1, 1, 1)),
        ({"rename": [" a=c"], "unique": ["b"]}, [{"c": "x", "b": "1"}, {"c": "y", "b": "two"}], (1, 1, 0)),
        ({"strip": False, "dedupe": False, "drop_empty": False}, DIRTY, (0, 0, 0)),
        ({"strip": False}, [DIRTY[0], DIRTY[2], DIRTY[3]], (1, 0, 0)),
    ],
)
def test_what_clean_data_drops_is_counted(capfd, params, rows, dropped):
    before = json.dumps(DIRTY)
    found = run(CleanData, {"rows": DIRTY}, **params)
    assert found["rows"] == rows
    assert tuple(found["dropped"].values()) == dropped
    assert json.dumps(DIRTY) == before
    assert capfd.readouterr().err.startswith("clean-data: 4 rows, dropped: ") == any(dropped)


@pytest.mark.parametrize(
    ("rows", "params", "exit", "words"),
    [
        ([{"a": 1}, {"a": ""}], {"strict": True}, 65, "row 2: it is empty"),
        ([{"a": 1}, {"a": 2}, {"a": 1}], {"strict": True}, 65, "row 3: it is there before"),
        ([{"a": "1"}, {"a": "x"}], {"strict": True, "types": ["a=int"]}, 65, "row 2: column 'a': 'x' is not int"),
        ([{"a": 1}], {"types": ["b=int"]}, 65, "no column is called 'b'; --types takes one of a"),
        ([{"a": 1, "b": 2}], {"rename": ["a=b"]}, 65, "two columns would be called 'b'"),
        ([{"a": 1, " a": 2}], {}, 65, "two columns would be called 'a'"),
        ([{"a": 1}], {"unique": ["b"]}, 65, "no column is called 'b'"),
        ([{"a": 1}], {"types": ["a=date"]}, 2, "--types=NAME=int|float|bool|str"),
        ([{"a": 1}], {"rename": ["a"]}, 2, "--rename=OLD=NEW"),
        ([1], {}, 65, "row 1"),
    ],
)
def test_what_clean_data_refuses_is_named_with_row_and_column(rows, params, exit, words):
    code, said = refused(CleanData, {"rows": rows}, **params)
    assert (code, words in said) == (exit, True), said


def test_rows_that_only_look_alike_are_two():
    rows = [{"a": 1}, {"a": True}, {"a": "1"}, {"a": [1]}, {"a": None, "b": 1}, {"a": "[1]"}]
    assert run(CleanData, {"rows": rows})["rows"] == rows
    assert run(CleanData, {"rows": [{"a": [1], "b": 2}, {"b": 2, "a": [1]}]})["dropped"]["duplicates"] == 1


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1", "2", "10", ""], {"type": "int", "count": 3, "missing": 1, "distinct": 3, "min": 1, "max": 10}),
        ([4, 1, 3, 2], {"type": "int", "mean": 2.5, "q1": 1.75, "median": 2.5, "q3": 3.25}),
        ([1, 2, 2, 2, 9], {"q1": 2, "median": 2, "q3": 2, "top": [{"value": 2, "count": 3}]}),
        (["0.1"] * 10, {"type": "float", "mean": 0.1, "median": 0.1, "distinct": 1}),
        ([1.5, 1], {"type": "float", "min": 1, "max": 1.5}),
        (["b", "a", None], {"type": "str", "min": "a", "max": "b", "missing": 1}),
        ([True, False, True], {"type": "bool", "top": [{"value": True, "count": 2}]}),
        (["true", "false"], {"type": "bool", "distinct": 2}),
        ([[1], [1], [2]], {"type": "list", "distinct": 2, "top": [{"value": "[1]", "count": 2}]}),
        ([1, "x", True], {"type": "mixed", "count": 3, "distinct": 3}),
        ([None, ""], {"type": "empty", "count": 0, "missing": 2, "top": []}),
    ],
)
def test_a_column_is_described_by_what_is_in_it(values, wanted):
    about = run(Analyze, {"rows": [{"a": value} for value in values]})["stats"]["columns"]["a"]
    assert {key: about.get(key) for key in wanted} == wanted
    assert about["count"] + about["missing"] == len(values)


def test_a_report_is_a_table_whose_cells_no_value_breaks():
    rows = [{"a|b": "x|y\\\nz"}, {"a|b": "x|y\\\nz"}]
    found = run(Analyze, {"rows": rows}, method="detailed")
    assert found["report"].splitlines()[0] == "2 rows, 1 column"
    assert found["report"].splitlines()[-1].startswith("| a\\|b | str | 2 | 0 | 1 | x\\|y\\\\ z | x\\|y\\\\ z |")
    assert "| " + "x" * 59 + "… |" in run(Analyze, {"rows": [{"a": "x" * 99}]})["report"]
    assert run(Analyze, {"rows": []})["report"] == "0 rows, 0 columns\n"


TYPED = [
    {"city": "Oslo", "n": "9", "zip": "007"},
    {"city": "Lyon", "n": "10", "zip": "1"},
    {"city": "", "n": "", "zip": "2"},
]


@pytest.mark.parametrize(
    ("sql", "result"),
    [
        ("SELECT max(n) AS m, sum(n) AS s FROM rows", [{"m": 10, "s": 19}]),
        ("SELECT count(city) AS c FROM rows WHERE n IS NOT NULL", [{"c": 2}]),
        ("SELECT zip FROM rows ORDER BY n LIMIT 1 OFFSET 1", [{"zip": "007"}]),
        (
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<3) SELECT max(x) AS x FROM c",
            [{"x": 3}],
        ),
        ("SELECT city FROM rows WHERE 0", []),
        (";", None),
        ("SELECT 1; SELECT 2", None),
        ("SELECT nope FROM rows", None),
        ("SELECT city, city FROM rows", None),
        ("SELECT '\0'", None),
    ],
)
def test_one_query_runs_over_the_rows(sql, result):
    if result is None:
        assert refused(CustomAnalysis, {"rows": TYPED, "sql": sql})[0] == 65
    else:
        assert run(CustomAnalysis, {"rows": TYPED, "sql": sql})["result"] == result
        assert run(Analyze, {"rows": TYPED}, sql=sql)["result"] == result


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM rows",
        "INSERT INTO rows VALUES (1, 2, 3)",
        "CREATE TABLE t (a)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "ATTACH 'here.db' AS h",
        "VACUUM INTO 'here.db'",
        "PRAGMA writable_schema = 1",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')",
        "BEGIN",
    ],
)
def test_a_query_can_only_read(tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    code, said = refused(CustomAnalysis, {"rows": TYPED, "sql": sql})
    assert (code, said) == (77, "cannot query: it may only read the rows; SELECT … FROM rows")
    assert os.listdir() == []


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT {} FROM c"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "there are no rows"),
        ([{"a": 1, "A": 2}], "duplicate column name: A; SQL takes"),
        ([{"a\0b": 1}], "null character"),
        ([dict.fromkeys(map(str, range(3000)))], "too many columns"),
    ],
)
def test_rows_that_are_no_table_are_refused(rows, words):
    code, said = refused(CustomAnalysis, {"rows": rows, "sql": "SELECT 1"})
    assert (code, words in said) == (65, True), said


def test_what_sql_cannot_hold_as_a_number_is_text():
    rows = [{'odd "name"': 1 << 63, "n": [1]}, {'odd "name"': True, "n": None}]
    found = run(CustomAnalysis, {"rows": rows, "sql": 'SELECT "odd ""name""" AS a, n FROM rows'})["result"]
    assert found == [{"a": "9223372036854775808", "n": "[1]"}, {"a": 1, "n": None}]


def test_a_query_without_an_end_is_ended_by_its_time_limit():
    def query():
        catch_signals()
        try:
            with Deadline(0.05):
                run(CustomAnalysis, {"rows": TYPED, "sql": ENDLESS.format("count(*)")})
        except TimedOut as passed:
            raise passed.as_error() from None

    assert in_child(query) == 124


def test_a_query_takes_no_more_memory_than_it_may(monkeypatch):
    assert refused(CustomAnalysis, {"rows": TYPED, "sql": "SELECT zeroblob(300000000) AS a"})[0] == 65
    monkeypatch.setattr("pflow.tables.query._MOST_BYTES", -(1 << 40))
    assert refused(CustomAnalysis, {"rows": TYPED, "sql": ENDLESS.format("x")})[0] == 71


@pytest.mark.parametrize(
    ("results", "params", "name", "text"),
    [
        ([{"a": 1}, {"a": "ä"}], {}, "results.json", '[\n{"a":1},\n{"a":"ä"}\n]\n'),
        ([], {}, "results.json", "[]\n"),
        ({"a": [1]}, {}, "results.json", '{\n  "a": [\n    1\n  ]\n}\n'),
        ([{"a": 1}, 2], {"format": "jsonl"}, "results.jsonl", '{"a":1}\n2\n'),
        ([{"a": 1, "b": None}], {"format": "csv"}, "results.csv", "a,b\n1,\n"),
        ([{"a": 1}, {"a": 2.5}], {"format": "md"}, "results.md", "| a |\n| --: |\n| 1 |\n| 2.5 |\n"),
        ({"a": 1, "b": "x"}, {"format": "md"}, "results.md", "| name | value |\n| --- | --- |\n| a | 1 |\n| b | x |\n"),
        ("# Title", {"format": "md"}, "results.md", "# Title\n"),
        ("text", {}, "results.json", '"text"\n'),
        ('[{"a": 1}]\n', {"format": "csv"}, "results.csv", "a\n1\n"),
        ('{"a": 1}\n', {}, "results.json", '{\n  "a": 1\n}\n'),
        ('{"a": 1}\n', {"format": "md"}, "results.md", '{"a": 1}\n'),
    ],
)
def test_results_are_saved_as_asked(tmp_path, monkeypatch, results, params, name, text):
    monkeypatch.chdir(tmp_path)
    run(SaveResults, {"results": results}, **params)
    assert {each: Path(each).read_text() for each in os.listdir()} == {name: text}
    run(SaveResults, {"results": results, "path": f"other{Path(name).suffix}"})
    assert Path(f"other{Path(name).suffix}").read_text() == text


def test_a_report_is_saved_with_what_is_behind_it(tmp_path):
    store = run(Analyze, {"rows": [{"a": "1"}]})
    store["results"] = store["report"]
    for form in ("json", "jsonl", "csv", "md"):
        run(SaveResults, {**store, "path": str(tmp_path / form)}, format=form)
    assert json.loads((tmp_path / "json").read_text()) == {"results": store["report"]} | {
        name: store[name] for name in ("result", "stats")
    }
    assert [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()] == store["result"]
    assert (tmp_path / "csv").read_text().startswith("column,type,count,")
    assert (tmp_path / "md").read_text() == store["report"]


def test_nothing_in_data_is_markup_in_a_dashboard(tmp_path):
    path = tmp_path / "a.html"
    evil = "</title></td></text><script>alert(1)</script><img src=x onerror='x'>\"&"
    rows = [{evil: evil, "n": "-3"}, {evil: None, "n": 4}, {evil: evil, "n": ""}]
    for store in ({"report": rows}, {"report": evil, "result": rows}):
        run(ExportDashboard, {**store, "path": str(path)}, title=evil)
        page = path.read_text()
        assert "<script" not in page
        assert "<img" not in page
        assert page.count("</title>") == 1
        assert "default-src 'none'" in page


def test_a_dashboard_draws_a_bar_for_each_number():
    from pflow.tables.dashboard import dashboard

    page = dashboard("T", [{"n": "-1", "city": "Oslo"}, {"n": "3", "city": "Lyon"}, {"n": "", "city": "Köln"}], None)
    assert "<h2>n by city</h2>" in page
    assert page.count("<rect x=") == 3
    assert 'x="180.0" y="2" width="130.0"' in page
    assert 'x="310.0" y="24" width="390.0"' in page
    assert "<svg" not in dashboard("T", [{"a": "x"}], None)
    assert "The first 30 of 31." in dashboard("T", [{"n": 0}] * 31, None)


def miller(*words):
    return subprocess.run(["mlr", *words], capture_output=True, text=True, check=True).stdout


def test_3000_rows_are_right_to_the_cell_as_miller_has_them(tmp_path):
    need("mlr")
    path = tmp_path / "sales.csv"
    write_sales(path, 3000)
    loaded = run(LoadCsv, {"path": str(path)})
    assert loaded["rows"] == json.loads(miller("-S", "--icsv", "--ojson", "--jvquoteall", "cat", str(path)))
    cleaned = run(CleanData, loaded)
    clean = tmp_path / "clean.csv"
    clean.write_text(miller("-S", "--csv", *CLEAN, str(path)))
    assert cleaned["rows"] == json.loads(miller("-S", "--icsv", "--ojson", "--jvquoteall", "cat", str(clean)))
    run(SaveCsv, {**cleaned, "path": str(path)})
    assert path.read_text() == clean.read_text()
    columns = run(Analyze, cleaned)["stats"]["columns"]
    names = {"min": "min", "max": "max", "mean": "mean", "q1": "p25", "median": "p50", "q3": "p75"}
    wanted = json.loads(
        miller(
            "--icsv", "--ojson", "stats1", "-i", "-a", "min,max,mean,p25,p50,p75", "-f", "quantity,price", str(clean)
        )
    )
    for column in ("quantity", "price"):
        found = {name: columns[column][name] for name in names}
        assert found == pytest.approx(
            {name: wanted[0][f"{column}_{theirs}"] for name, theirs in names.items()}, rel=1e-12
        )
    for column in columns:
        counted = json.loads(
            miller("-S", "--icsv", "--ojson", "--jvquoteall", "count-distinct", "-f", column, str(clean))
        )
        counts = {each[column]: int(each["count"]) for each in counted}
        missing = counts.pop("", 0)
        assert (columns[column]["missing"], columns[column]["distinct"]) == (missing, len(counts))
        assert all(counts[top["value"]] == top["count"] for top in columns[column]["top"])


@pytest.mark.parametrize(
    "words",
    [
        ["load-csv --file data.csv => clean-data => analyze => save-results"],
        ["load-csv --file data.csv => clean-data --strict => analyze --method=detailed => save-results --format=json"],
        ["run", str(EXAMPLES / "sales.pflow.json"), "--file=data.csv"],
        ["run", "load-csv --file data.csv => custom-analysis => export-dashboard", "--sql=SELECT city FROM rows"],
    ],
)
def test_the_flows_of_the_papers_run_as_printed(tmp_path, words):
    shutil.copy(EXAMPLES / "sales.csv", tmp_path / "data.csv")
    ran = subprocess.run(["pflow", *words, "-q"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    if "--sql" in words[-1]:
        assert "<td>Bergen</td>" in (tmp_path / "dashboard.html").read_text()
        return
    saved = json.loads((tmp_path / "results.json").read_text())
    assert saved["results"].startswith("12 rows, 7 columns\n")
    assert saved["stats"]["columns"]["price"]["mean"] == 118.1875
    assert ("median" in saved["results"]) == (words[0] == "run" or "detailed" in words[0])
