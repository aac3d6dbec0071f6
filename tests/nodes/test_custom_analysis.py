"""custom-analysis: one query over the rows, which can only read, and ends."""

import os

import pytest

from pflow.nodes.analyze import Analyze
from pflow.nodes.custom_analysis import CustomAnalysis
from pflow.process.signals import Deadline, TimedOut, catch_signals
from tests.nodes.child import in_child
from tests.nodes.rows import refused, run

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
        ("SELECT e.value AS v FROM rows, json_each('[1, ' || n || ']') AS e WHERE city = 'Oslo'", [{"v": 1}, {"v": 9}]),
        ("SELECT fullkey AS k FROM json_tree('{\"a\": [7]}') WHERE atom = 7", [{"k": "$.a[0]"}]),
        ("SELECT name FROM pragma_table_info('rows') LIMIT 1", [{"name": "city"}]),
        ("SELECT * FROM json_each('[')", None),
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
        ([{"a": 1, "A": 2}], "duplicate column name: A; to SQL"),
        ([{"a\0b": 1}], "null character"),
        ([dict.fromkeys(map(str, range(3000)))], "too many columns"),
    ],
)
def test_rows_that_are_no_table_are_refused(rows, words):
    code, said = refused(CustomAnalysis, {"rows": rows, "sql": "SELECT 1"})
    assert (code, words in said) == (65, True), said


def test_what_sql_cannot_hold_is_given_back():
    rows = [{'odd "name"': 1 << 63, "n": [1]}, {'odd "name"': True, "n": None}]
    found = run(CustomAnalysis, {"rows": rows, "sql": 'SELECT "odd ""name""" AS a, n FROM rows'})["result"]
    assert found == [{"a": 9223372036854775808, "n": "[1]"}, {"a": 1, "n": None}]


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
