"""The form of CSV, found in its first lines: by load-csv and by a map alike, with the cells of Python's reader."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.map.items import BadItem, Items
from pflow.nodes.load_csv import LoadCsv
from pflow.nodes.save_csv import SaveCsv
from pflow.nodes.save_results import SaveResults
from pflow.tables.csv_text import name_columns, read_csv, write_csv
from tests.map.test_rows import Printed, done
from tests.nodes.rows import run

LONG = [f"x, {number}" for number in range(9_000)]


@pytest.mark.parametrize(
    ("name", "data", "table", "said"),
    [
        # the delimiter stands outside quotes, and lines agree on it
        ("a.csv", 'id;"last, first"\n1;"Roe, Jane"\n', "id/last, first\n1/Roe, Jane", ""),
        ("a.csv", '\ufeff"a, b"|c\r\n1|"2, ""3"" | 4"\r\n', 'a, b/c\n1/2, "3" | 4', ""),
        ("a.csv", '"a\n, b"\tc\n"1, 2"\t3', "a\n, b/c\n1, 2/3", ""),
        ("a.csv", "x,y;z\n1,5;2,5\n", "x,y/z\n1,5/2,5", ""),
        ("a.csv", "t;x, °C;y, %\n1;1,5;80,2\n", "t/x, °C/y, %\n1/1,5/80,2", ""),
        ("a.csv", "n\tCity, State, X\n5\tAustin, Texas, USA\n", "n/City, State, X\n5/Austin, Texas, USA", ""),
        ("a.csv", "n\tshort, title\n1\tOn a, b and c\n2\tOn d\n", "n/short, title\n1/On a, b and c\n2/On d", ""),
        ("a.csv", "a|b|c,d\n1,2\n", "a|b|c/d\n1/2", ""),
        ("a.csv", "a,b\n1;2,3;4\n", "a/b\n1;2/3;4", ""),
        ("a.csv", ";".join(f'"{each}"' for each in LONG) + "\n" + ";" * 8_999, "/".join(LONG) + "\n" + "/" * 8_999, ""),
        ("a.csv", "a\nx;y\n\tz|\n", "a\nx;y\n\tz|", ""),
        ("a.csv", "a\n1,50\n2,30\n", "line 2, column 2: it has no name, since the header has 1 column", ""),
        ("a.csv", '"a", "b"\n"1, 0",  "2"\n', "a/b\n1, 0/2", ""),
        ("a.csv", '"a", "b"\n1, "2\n', "line 2, column 4: this quote is not closed", ""),
        ("a.csv", "a, b\n1, 2\n", "a/ b\n1/ 2", ""),
        ("a.csv", '\ra,b\r5" pipe,"x\ry"\r', 'a/b\n5" pipe/x\ry', ""),
        # a name or a first line tells it
        ("a.TSV", "a,x\tb\n1\t2\n", "a,x/b\n1/2", ""),
        ("a.tab.gz", "a,b\n1,2\n", "a,b\n1,2", ""),
        ("a.tab.csv", "a,b\n1,2\n", "a/b\n1/2", ""),
        ("a.csv", "sep=;\r\na;b\r\n1;2\r\n", "a/b\n1/2", ""),
        ("a.csv", '\ufeff"sep=|"\n\n"a"|b\n1|2', "a/b\n1/2", ""),
        ("a.tsv", "SEP=,\na,b\n1,2", "a/b\n1/2", ""),
        ("a.csv", "sep=\t\na\tb\n1\t2\t3\n", "line 3, column 3: it has no name, since the header has 2 columns", ""),
        ("a.csv", "sep=;;\na;b;c\n1;2;3\n", "a/b/c\n1/2/3", ""),
        ("a.csv", "sep=;", "it is empty", ""),
        ("a.csv", 'sep= \n"a b" "c"\n1 "2 3"\n', "a b/c\n1/2 3", ""),
        ("a.csv", "a,b\r\n1,2\x1a", "a/b\n1/2", ""),
        ("a.csv", "a,b\n1,2\n\x1a", "a/b\n1/2", ""),
        # what is certainly no CSV
        *(("a.csv", f"\ufeff \n{tag}", "it is HTML, not CSV", "") for tag in ("<!doctype html>", "<HTML>", "<table>")),
        ("a.csv", '<?xml version="1.0"?>\n<Workbook/>', "it is XML, not CSV", ""),
        *(
            ("a.csv", text, "it is JSON, not CSV", "")
            for text in ("[]", '{"a": 1, "b": 2}\r\n{"a": 3}\r\n', '[{"a": 1,\n', "[\n1\n]", '{\n"a": 1}')
        ),
        ("a.csv", "[a],{b}\n<p>,2\n", "[a]/{b}\n<p>/2", ""),
        ("a.csv", '{"a": 1}|b\n{}|2\n', '{"a": 1}/b\n{}/2', ""),
        # columns without a name
        ("a.csv", ",a,,b\n0,1,,2\n", "column_1/a/column_3/b\n0/1//2", "column 3 has no name and is called 'column_3'"),
        ("a.csv", "column_2,,column_2\n1,2,3\n", "column_2/column_2_2/column_2_3\n1/2/3", "called 'column_2_2'"),
        ("a.csv", ",,,,,,x\n" * 2, "/".join(f"column_{n}" for n in range(1, 7)) + "/x\n//////x", "1 more column"),
        ("a.csv", "a,b\n1,2,\n1\n", "line 3, column 2 ('b'): it is missing", "column 3 has no name"),
        ("a.csv", "a|b\n1|2||\n3|4||\n", "a/b/column_3/column_4\n1/2//\n3/4//", "column 3 has no name"),
        ("a.csv", "a;b;;\n1;2\n3;4\n", "a/b\n1/2\n3/4", ""),
        ("a.csv", "a,b\n0,1,2\n1,3,4\n", "column_1/a/b\n0/1/2\n1/3/4", "column 1 has no name"),
        ("a.csv", '"a","b"\n"1",1,2\n"2",3,4\n', "column_1/a/b\n1/1/2\n2/3/4", "column 1 has no name"),
        ("a.csv", "a,b\n1,50,x\n2,75,y\n", "line 2, column 3: it has no name, since the header has 2 columns", ""),
        ("a.csv", "a\tb\nx\t1\t2\ny\t3\t4\n", "column_1/a/b\nx/1/2\ny/3/4", "column 1 has no name"),
        ("a.csv", "a,b\nRoe,J,5\nDoe,B,6\n", "line 2, column 3: it has no name, since the header has 2 columns", ""),
        ("a.csv", "a,b\n1,2,3\n4,5\n", "line 2, column 3: it has no name, since the header has 2 columns", ""),
    ],
)  # fmt: skip
def test_a_form_is_found_by_load_csv_and_by_a_map(tmp_path, capfd, name, data, table, said):
    path = tmp_path / name
    path.write_text(data, newline="")
    for teller, read in (("load-csv", load), ("pflow map", items)):
        try:
            rows = read(str(path))
            found = "\n".join("/".join(row) for row in [rows[0], *map(dict.values, rows)])
        except PflowError as error:
            found = error.message.removeprefix(f"cannot read '{path}': ")
        told = capfd.readouterr().err
        assert (found, told.count(said) == 1 or not said, teller in told) == (table, True, bool(said))


def load(path):
    return run(LoadCsv, {"path": path})["rows"]


def items(path):
    source = Items([path], "csv")
    rows, again = [*source], [*source]
    assert len(rows) == len(again)
    for bad in filter(lambda row: isinstance(row, BadItem), rows):
        raise bad
    return rows


def test_many_equal_names_are_numbered_in_linear_time():
    assert name_columns(["a", "a_3", *["a"] * 30_000], "")[:5] == ["a", "a_3", "a_2", "a_4", "a_5"]


CELLS = st.text('a1 ,;\t|"\n', max_size=6)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=4), st.sampled_from(",;\t|"),
       st.sampled_from(["\n", "\r\n"]), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))  # fmt: skip
def test_cells_are_those_of_pythons_reader(rows, delimiter, end, quoting):
    sink = io.StringIO(newline="")
    csv.writer(sink, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows([["a", "b", "c"], *rows])
    records = [*csv.reader(io.StringIO(sink.getvalue(), newline=""), delimiter=delimiter)]
    assert [[*row.values()] for row in read_csv(sink.getvalue(), "x")[1]] == records[1:]


STARTS = "=+-@\t\r\n\0＝＋－＠"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((f"{start}1+1", f"'{start}1+1") for start in STARTS),
        *((f"a{end}=1", f"a{end}'=1") for end in ',;\t|"'),
        ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
        ("a;-2+cmd|'x", "a;'-2+cmd|'x"),
        ("\ufeff=1", "\ufeff'=1"),
        ("-", "'-"),
        *((each, each) for each in ("-5", "-1.234,50", "-.5", "-1E-3", "a=b", "a - b", "x\n- y", "'=1")),
        (-5, "-5"),
        ([-1, -2], "[-1,-2]"),
        (["=1"], '["\'=1"]'),
        (None, ""),
    ],
)
def test_only_what_begins_a_formula_is_escaped(value, text):
    for delimiter in (",", "\t", ":"):
        assert write_csv([{"a": value}], delimiter, escapes=True) == write_csv([{"a": text}], delimiter)
    if isinstance(value, str):
        assert write_csv([{value: "b:=1"}], ":", escapes=True) == write_csv([{text: "b:'=1"}], ":")


@pytest.mark.parametrize("escapes", [True, False])
def test_save_csv_save_results_and_map_escape_if_they_are_asked_to(tmp_path, escapes):
    path, mark = tmp_path / "a.csv", "'" * escapes
    rows = [{"@n": "=1", "x": -2}]
    for kind, store in ((SaveCsv, {"rows": rows}), (SaveResults, {"results": rows})):
        run(kind, {**store, "path": str(path)}, escape_formulas=escapes)
        assert path.read_text() == f"{mark}@n,x\n{mark}=1,-2\n"
    run(SaveResults, {"results": "text", "result": rows, "path": str(path)}, escape_formulas=escapes)
    assert path.read_text() == f"{mark}@n,x\n{mark}=1,-2\n"
    table = Printed("csv", escapes=escapes)
    table.put(0, rows[0], done(response="+1"))
    assert table.text() == f"{mark}@n,x,response,error\n{mark}=1,-2,{mark}+1,\n"
