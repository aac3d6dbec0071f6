"""clean-data: which rows it drops, counted, and what it refuses."""

import json

import pytest

from pflow.nodes.clean_data import CleanData
from tests.nodes.rows import refused, run

DIRTY = [{" a": " x ", "b": "1"}, {" a": "", "b": None}, {" a": "y", "b": "two"}, {" a": "x", "b": "1"}]


@pytest.mark.parametrize(
    ("params", "rows", "dropped"),
    [
        ({}, [{"a": "x", "b": "1"}, {"a": "y", "b": "two"}, {"a": "x", "b": "1"}], (1, 0, 0)),
        ({"unique": True}, [{"a": "x", "b": "1"}, {"a": "y", "b": "two"}], (1, 1, 0)),
        (
            {"types": ["b=int"], "misfits": "null"},
            [{"a": "x", "b": 1}, {"a": "y", "b": None}, {"a": "x", "b": 1}],
            (1, 0, 1),
        ),
        ({"types": ["b=int"], "misfits": "drop"}, [{"a": "x", "b": 1}, {"a": "x", "b": 1}], (1, 0, 1)),
        ({"rename": [" a=c"], "unique_by": ["b"]}, [{"c": "x", "b": "1"}, {"c": "y", "b": "two"}], (1, 1, 0)),
        ({"strip": False, "drop_empty": False}, DIRTY, (0, 0, 0)),
        ({"strip": False}, [DIRTY[0], DIRTY[2], DIRTY[3]], (1, 0, 0)),
    ],
)
def test_what_clean_data_drops_is_counted(capfd, params, rows, dropped):
    before = json.dumps(DIRTY)
    found = run(CleanData, {"rows": DIRTY}, **params)
    assert found["rows"] == rows
    assert tuple(found["dropped"].values()) == dropped
    assert json.dumps(DIRTY) == before
    said = capfd.readouterr().err
    assert ("clean-data: 4 rows, dropped: " in said) == any(dropped)
    assert ("clean-data: row 3: column 'b': 'two' is not int\n" in said) == bool(dropped[2])


@pytest.mark.parametrize(
    ("rows", "params", "exit", "words"),
    [
        ([{"a": 1}, {"a": ""}], {"strict": True}, 65, "row 2: it is empty"),
        ([{"a": 1}, {"a": 2}, {"a": 1}], {"strict": True, "unique": True}, 65, "row 3: it is a duplicate"),
        (
            [{"a": ""}, {"a": "1.5"}],
            {"types": ["a=int"]},
            65,
            "row 2: column 'a': '1.5' is not int; --misfits=null or drop allows it",
        ),
        ([{"a": 1}], {"types": ["b=int"]}, 65, "no column is called 'b'; --types takes one of a"),
        ([{"a": 1, "b": 2}], {"rename": ["a=b"]}, 65, "two columns would be called 'b'"),
        ([{"a": 1, " a": 2}], {}, 65, "two columns would be called 'a'"),
        ([{"a": 1}], {"unique_by": ["b"]}, 65, "no column is called 'b'"),
        ([{"a": 1}], {"types": ["a=date"]}, 2, "--types=NAME=int|float|bool|str"),
        ([{"a": 1}], {"rename": ["a"]}, 2, "--rename=OLD=NEW"),
        ([1], {}, 65, "row 1"),
    ],
)
def test_what_clean_data_refuses_is_named_with_row_and_column(rows, params, exit, words):
    code, said = refused(CleanData, {"rows": rows}, **params)
    assert (code, words in said) == (exit, True), said


def test_a_point_in_a_column_that_stays_text_may_separate_thousands():
    store = {"rows": [{"a": text, "b": "1.5"} for text in ("1.234", "2,5", "7")], "text_columns": ["a"]}
    assert (
        "row 1: column 'a': '1.234' is not float in a column of text;"
        in refused(CleanData, store, types=["a=float"])[1]
    )
    found = run(CleanData, store, types=["a=float", "b=float"], misfits="null")
    assert found["rows"] == [{"a": each, "b": 1.5} for each in (None, None, 7.0)]


def test_rows_that_only_look_alike_are_two():
    rows = [{"a": 1}, {"a": True}, {"a": "1"}, {"a": [1]}, {"a": None, "b": 1}, {"a": "[1]"}]
    assert run(CleanData, {"rows": rows}, unique=True)["rows"] == rows
    assert run(CleanData, {"rows": [{"a": [1], "b": 2}, {"b": 2, "a": [1]}]}, unique=True)["dropped"]["duplicates"] == 1


def test_a_misfit_that_becomes_null_keeps_its_row_and_a_whole_float_is_an_int():
    rows = [{"a": 1.5}, {"a": 3.0}, {"a": None}]
    kept = run(CleanData, {"rows": rows}, types=["a=int"], misfits="null")["rows"]
    assert (kept, type(kept[1]["a"])) == ([{"a": None}, {"a": 3}], int)
    assert run(CleanData, {"rows": [{"a": None, "b": 2}]}, types=["a=str"])["rows"] == [{"a": None, "b": 2}]
