"""Numbers at every door: written as they were read, and never rounded or summed unawares."""

import json

import pytest

from pflow.nodes.analyze import Analyze
from pflow.nodes.clean_data import CleanData
from pflow.nodes.custom_analysis import CustomAnalysis
from pflow.nodes.export_dashboard import ExportDashboard
from pflow.nodes.join_text import JoinText
from pflow.nodes.load_csv import LoadCsv
from pflow.nodes.save_csv import SaveCsv
from pflow.nodes.save_results import SaveResults
from tests.map.test_rows import Printed, done
from tests.nodes.rows import load, refused, run

NUMBERS = ["12345679001.55", "52.520006599", "0.30000000000000004", "-0.0", "18446744073709551615", "-5", "3.0"]


@pytest.mark.parametrize("text", [*NUMBERS, "1.10", "1E5", "1e400", "007", "6,718"])
def test_a_number_is_written_as_it_is_read(tmp_path, text):
    value = json.loads(text) if text in NUMBERS else text
    rows, path, cell = [{"a": value}], tmp_path / "out", f'"{text}"' if "," in text else text
    for form, wanted in (("md", f"| {text} |"), ("csv", cell)):
        run(SaveResults, {"results": rows, "path": str(path)}, format=form)
        assert wanted in path.read_text().splitlines()
    run(SaveResults, {"results": rows, "path": str(path)}, format="json")
    assert repr(json.loads(path.read_text())) == repr(rows)  # orjson, if it is loaded, spells 1e-7
    run(SaveCsv, {"rows": rows, "path": str(path)})
    assert path.read_text() == f"a\n{cell}\n"
    run(ExportDashboard, {"report": rows, "path": str(path)})
    assert f">{text}</td>" in path.read_text()
    assert run(JoinText, {"texts": [value]})["text"] == text
    table = Printed("csv")
    table.put(0, {"a": value}, done(b=value))
    assert table.text() == f"a,b,error\n{cell},{cell},\n"
    sums = run(Analyze, {"rows": [{"a": value, "city": "B"}]}, sql="SELECT a FROM rows WHERE city = 'B'")
    if text not in ("1.10", "1E5"):
        assert f"| {text} |" in sums["report"]
    assert load(f'a\n"{text}"\n', tmp_path) == [{"a": text}]


def test_a_sum_is_whole_in_the_report_and_in_the_bars_of_a_dashboard(tmp_path):
    rows = [{"city": "A", "price": each} for each in ("12345678901.55", "100")]
    store = run(Analyze, {"rows": rows}, sql="SELECT city, sum(price) AS total FROM rows GROUP BY city")
    assert "| A | 12345679001.55 |" in store["report"]
    run(ExportDashboard, {**store, "path": str(tmp_path / "a.html")})
    assert ">12,345,679,001.55</text>" in (tmp_path / "a.html").read_text()


NO_NUMBERS = [
    "6,718", "1.234.567", "12 kg", "$5", "1_000", "0x1F", "١٢", "1e5x", "n/a", "nan", "inf", "1e400", "−5", "(5)",
    "true", [1],
]  # fmt: skip
COMPUTED = [
    "sum(p)", "avg(DISTINCT p) + n", "total(p)", "sum(coalesce(p, 0))", "sum(CASE WHEN n > 0 THEN p END)", "((p)) + 1",
    "iif(n > 0, p, 0) * 2", "CASE WHEN n > 0 THEN p END * 2", "2 * rows.p", 'n*"p" AS x', "-[p]", "round(n + p)",
    "nullif(p, '') * 2", "CAST(p AS REAL)", "floor(p)", "max(p)", "max(p, 5)", "max(p) - min(p)", "p IS 5",
    "sum(p) OVER (ORDER BY n)", "sum(p) FILTER (WHERE n > 1)", "lag(p, 0) OVER () + 1", "trim(p) * 2", "(p || '') + 0",
    "printf('%d%% %.2f', n, p)", "CASE p WHEN 1 THEN 2 END", "(SELECT p FROM rows ORDER BY n DESC) * 2",
]  # fmt: skip
WHERE = [
    "p > 100", "1.5 <= P", "p BETWEEN 1 AND 9", "n BETWEEN p AND 9", "p IN (1, 100)", "p > n", "NOT p", "p AND n > 0",
    "p IN (SELECT n FROM rows)", "CASE WHEN n = 1 THEN 0 ELSE p END", "p COLLATE NOCASE > 5",
]  # fmt: skip
COMPUTING = [
    *(f"SELECT {each} FROM rows" for each in COMPUTED),
    *(f"SELECT n FROM rows WHERE {each}" for each in WHERE),
    *(f"SELECT {each} FROM (SELECT p x FROM rows)" for each in ("sum(x)", "x * 2")),
    "SELECT n * 2 FROM (SELECT p AS n FROM rows)",
    "WITH t(n, x) AS (SELECT n, p FROM rows) SELECT n - x FROM t",
    "WITH t(a, b) AS (SELECT * FROM rows) SELECT a + b FROM t",
]


@pytest.mark.parametrize(
    ("text", "sql"), [(text, COMPUTING[0]) for text in NO_NUMBERS] + [(NO_NUMBERS[0], sql) for sql in COMPUTING]
)
def test_no_query_computes_with_a_text_that_is_no_number(text, sql):
    rows = [{"p": "100", "n": "1"}, {"p": text, "n": "2"}]
    code, said = refused(Analyze, {"rows": rows}, sql=sql)
    assert (code, f"'{text}' in row 2 of column 'p' is not a number" in said) == (65, True), said


@pytest.mark.parametrize(
    ("sql", "result"),
    [
        ("SELECT sum(p) AS s, max(p * 1) FROM rows WHERE p <> 'n/a'", {"s": 110.5, "max(p * 1)": 100}),
        ("SELECT sum(nullif(p, 'n/a')) + 0 AS s FROM rows", {"s": 110.5}),
        ("SELECT length(city) * 2 + (city = 'Oslo') AS l, 1 - (p = 'n/a') AS m FROM rows", {"l": 9, "m": 1}),
        ("SELECT printf('%s: %d', p, n) AS t, format('%d', n) AS f FROM rows", {"t": "100: 1", "f": "1"}),
        ("SELECT n FROM rows WHERE n = '2' AND n IN ('2', 'x') AND n > '01.5'", {"n": 2}),
        ("SELECT CASE p WHEN '100' THEN 0 ELSE n END + 1 x FROM rows", {"x": 1}),
        ("SELECT p, 'p * 2 ' || p AS t FROM rows ORDER BY n DESC", {"p": "n/a", "t": "p * 2 n/a"}),
        ("SELECT /* of p */ p, -- p +\n city FROM rows", {"p": "100", "city": "Oslo"}),
        ("SELECT max(city) AS m, max(n), count(*) * 100 AS c FROM rows", {"m": "Rome", "max(n)": 3, "c": 300}),
        ("SELECT count(*) AS c FROM rows WHERE city > 'P' AND date >= '2026-01-02'", {"c": 1}),
        ("SELECT max(date) AS d, CAST(date AS TEXT) AS t FROM rows", {"d": "2026-03-01", "t": "2026-03-01"}),
        ("SELECT CAST(strftime('%m', date) AS INTEGER) + 1 AS m FROM rows WHERE strftime('%Y', date) > 2025", {"m": 2}),
        ("SELECT replace(city, 'Oslo', '1.5') * 2 AS a, (n || n) + 0 AS b FROM rows LIMIT 1", {"a": 3, "b": 11}),
        (
            "SELECT j ->> '$[0]' * 2 AS a, sum(json_extract(j, '$[0]')) AS b, printf('%s', p) AS c FROM rows",
            {"a": 10, "b": 15, "c": "100"},
        ),
        ("SELECT city, sum(n) OVER (ORDER BY n) AS s FROM rows LIMIT 1 OFFSET 2", {"city": "Rome", "s": 6}),
        ('SELECT 1 * p AS "sum(p)", \'sum(p)\' AS "x-p" FROM rows LIMIT 1', {"sum(p)": 100, "x-p": "sum(p)"}),
        ('SELECT 2 * rows."p", sum(DISTINCT p) FROM rows WHERE n < 3', {'2 * rows."p"': 200, "sum(DISTINCT p)": 110.5}),
        ("SELECT CASE WHEN n < 2 THEN[a.b]*2 END,[a.b] FROM rows", {"CASE WHEN n < 2 THEN[a.b]*2 END": 4, "a.b": "2"}),
        (
            "SELECT avg(n), total(n), sum(q) FROM rows WHERE city < 'A'",
            {"avg(n)": None, "total(n)": 0.0, "sum(q)": None},
        ),
    ],
)
def test_other_queries_over_texts_are_answered_as_ever(sql, result):
    more = {"q": "", "a.b": "2", "j": [5]}
    rows = [
        {"city": "Oslo", "p": "100", "n": "1", "date": "2026-01-01", **more},
        {"city": "Lyon", "p": "10.5", "n": "2", "date": "2026-01-01", **more},
        {"city": "Rome", "p": "n/a", "n": "3", "date": "2026-03-01", **more, "a.b": "x"},
    ]
    assert run(Analyze, {"rows": rows}, sql=sql)["result"][0] == result


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT CAST(p AS UNSIGNED BIG INT) FROM rows", "it is not clear with which values it computes"),
        ("SELECT sum(p FROM rows", "syntax error"),
        ("SELECT nope * 2 FROM rows", "no such column: nope"),
    ],
)
def test_a_query_that_cannot_be_guarded_is_refused_for_its_own_fault_if_it_has_one(sql, said):
    assert said in refused(Analyze, {"rows": [{"p": "n/a"}]}, sql=sql)[1]


LARGE = ["9223372036854775808", "1", "18446744073709551615"]
EXACT = [
    "sum(id)", "avg(id)", "id + 1", "id || ''", "CAST(id AS TEXT)", "printf('%d', id)", "id & 1", "max(id) - 1", "-id",
    "length(id)", "id LIKE '1%'",
]  # fmt: skip


@pytest.mark.parametrize("is_json", [False, True])
@pytest.mark.parametrize(
    ("sql", "result"),
    [
        ("SELECT max(id), min(id), count(DISTINCT id) AS n FROM rows", [2**64 - 1, 1, 3]),
        ("SELECT count(*) FROM rows WHERE id > 10000000000000000000", [1]),
        ("SELECT id FROM rows WHERE id = 18446744073709551615", [2**64 - 1]),
        ("SELECT id FROM rows WHERE(id < 5 OR id IN (9223372036854775808)) ORDER BY id DESC LIMIT 1", [2**63]),
        ("SELECT x FROM (SELECT id AS x FROM rows) GROUP BY x ORDER BY x DESC", [2**64 - 1]),
        ("SELECT a.id FROM rows a JOIN rows b ON a.id = b.id WHERE a.id > 1 ORDER BY 1 LIMIT 1", [2**63]),
        ("SELECT lag(id) OVER (ORDER BY id DESC) AS b FROM rows LIMIT 1 OFFSET 1", [2**64 - 1]),
        *((f"SELECT {each} FROM rows", None) for each in EXACT),
        ("SELECT x || '' FROM (SELECT id AS x FROM rows)", None),
        ("SELECT id FROM rows WHERE id = 18446744073709551614", None),
    ],
)
def test_integers_past_63_bits_compare_as_numbers_and_are_never_rounded(sql, result, is_json):
    rows = [{"id": int(text) if is_json else text} for text in LARGE]
    if result is None:
        code, said = refused(Analyze, {"rows": rows}, sql=sql)
        assert (code, "past the 63 bits" in said or "would round" in said) == (65, True), said
    else:
        assert [*run(Analyze, {"rows": rows}, sql=sql)["result"][0].values()] == result


@pytest.mark.parametrize(
    ("values", "largest"),
    [
        (["95", "100", "9007199254740993", "0.5"], 9007199254740993),
        (["5", "1" * 30, "9"], "1" * 30),
        (["1e300", "-1", "2.5"], 1e300),
        ([1, 18446744073709551614, 18446744073709551615], None),
    ],
)
def test_numbers_of_all_sizes_are_compared_exactly_or_refused(values, largest):
    rows = [{"a": value} for value in values]
    if largest is None:
        assert "are one number" in refused(Analyze, {"rows": rows}, sql="SELECT max(a) AS m FROM rows")[1]
    else:
        assert run(Analyze, {"rows": rows}, sql="SELECT max(a) AS m FROM rows")["result"] == [{"m": largest}]


@pytest.mark.parametrize(
    ("made", "params", "is_text"),
    [
        ({"decimal": ","}, None, True),
        ({"decimal": ","}, {"rename": ["units=u"]}, True),
        ({"decimal": ",", "infer": True}, {}, True),
        ({}, {"types": ["units=str"]}, True),
        ({}, {}, False),
    ],
)
def test_a_column_that_stays_text_is_text_in_every_analysis(tmp_path, made, params, is_text):
    store = run(LoadCsv, {"text": "product;units\nA;1.234\nB;2.345\n"}, **made)
    if params is not None:
        store = run(CleanData, store, **params)
    name = [*store["rows"][0]][1]
    about = run(Analyze, store)["stats"]["columns"][name]
    assert (about["type"], "mean" in about) == (("str", False) if is_text else ("float", True))
    run(ExportDashboard, {**store, "report": store["rows"], "path": str(tmp_path / "a.html")})
    assert ("<rect" in (tmp_path / "a.html").read_text()) == (not is_text)
    for kind, more in ((Analyze, {}), (CustomAnalysis, {"sql": f"SELECT sum({name}) AS s FROM rows"})):
        form = {} if more else {"sql": f"SELECT sum({name}) AS s FROM rows"}
        if is_text:
            assert f"'1.234' in row 1 of column '{name}' is not a number" in refused(kind, {**store, **more}, **form)[1]
        else:
            assert run(kind, {**store, **more}, **form)["result"] == [{"s": 3.579}]
