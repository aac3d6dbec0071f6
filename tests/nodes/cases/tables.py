"""The cases of the nodes for rows: load, clean, analyze, save."""

from __future__ import annotations

from tests.nodes.cases.case import ANY, Case

SALES = "city,price\nOslo,3\nLyon,4\nOslo,5\n"
ROWS = [{"city": "Oslo", "price": "3"}, {"city": "Lyon", "price": "4"}, {"city": "Oslo", "price": "5"}]
TOTALS = [{"city": "Lyon", "total": 4}, {"city": "Oslo", "total": 8}]
SQL = "SELECT city, sum(price) AS total FROM rows GROUP BY city ORDER BY city"
COLUMNS = ["city", "price"]
NO_TEXTS = {"text_columns": []}
NO_DROPS = {"empty": 0, "duplicates": 0, "values": 0}

CASES = [
    Case("load-csv", ["{here}/a.csv"], files={"a.csv": SALES}, writes={"rows": ROWS, "columns": COLUMNS, **NO_TEXTS}),
    Case(
        "load-csv",
        ["--infer"],
        pipe="a;b\n1;\n007;true\n",
        writes={"rows": [{"a": "1", "b": None}, {"a": "007", "b": True}], "columns": ["a", "b"], **NO_TEXTS},
    ),
    Case("load-csv", ["--file=a.csv"], files={"a.csv": "a,b\n1\n"}, exit=65),
    Case("load-json", ["{here}/a.json"], files={"a.json": '{"a": [1, null]}'}, writes={"data": {"a": [1, None]}}),
    Case("load-json", ["--file=a.json"], files={"a.json": "{"}, exit=65),
    Case("load-jsonl", ["{here}/a.jsonl"], files={"a.jsonl": '{"a": 1}\n\n2\n'}, writes={"rows": [{"a": 1}, 2]}),
    Case("load-jsonl", pipe='{"a": 1}\nNaN\n', exit=65),
    Case("save-csv", ["--path=out.csv"], pipe=ROWS, left={"out.csv": SALES}, words=['--rows:=[{"a": 1}]']),
    Case("save-csv", ["--path=out.csv"], pipe=[1], exit=65),
    Case(
        "clean-data",
        pipe=[{"a ": " x "}, {"a ": ""}, {"a ": "x"}],
        writes={"rows": [{"a": "x"}, {"a": "x"}], "columns": ["a"], **NO_TEXTS, "dropped": {**NO_DROPS, "empty": 1}},
        words=["--no-drop-empty"],
    ),
    Case(
        "clean-data",
        ["--types=price=int", "--rename=city=town", "--unique-by=town"],
        pipe=ROWS,
        writes={
            "rows": [{"town": "Oslo", "price": 3}, {"town": "Lyon", "price": 4}],
            "columns": ["town", "price"],
            **NO_TEXTS,
            "dropped": {**NO_DROPS, "duplicates": 1},
        },
    ),
    Case(
        "clean-data",
        ["--unique-by=a", "--unique-by=b"],
        pipe=[{"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": ""}, {"a": 1, "b": None}, {"a": 1, "b": 1}, None],
        writes={
            "rows": [{"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": ""}, {"a": 1, "b": None}],
            "columns": ["a", "b"],
            **NO_TEXTS,
            "dropped": {**NO_DROPS, "duplicates": 1},
        },
    ),
    Case("clean-data", ["--strict", "--unique"], pipe=[*ROWS, ROWS[0]], exit=65),
    Case("analyze", pipe=ROWS, writes={"report": ANY, "result": ANY, "stats": ANY}),
    Case("analyze", [f"--sql={SQL}"], pipe=ROWS, writes={"report": ANY, "result": TOTALS, "stats": ANY}),
    Case("analyze", ["--sql=SELECT nothing FROM rows"], pipe=ROWS, exit=65),
    Case(
        "custom-analysis",
        [SQL],
        pipe=ROWS,
        writes={"report": ANY, "result": TOTALS, "stats": ANY},
        words=["--sql=SELECT * FROM rows"],
    ),
    Case("custom-analysis", ["SELECT nothing"], pipe=ROWS, exit=65),
    Case("save-results", ["--file=out.md"], pipe="# Sales", left={"out.md": "# Sales\n"}),
    Case("save-results", ["--format=csv"], pipe=ROWS, left={"results.csv": SALES}),
    Case("save-results", ["--file=out.txt"], pipe=ROWS, exit=2),
    Case("export-dashboard", ["--title=Sales"], pipe=ROWS, left={"dashboard.html": ANY}),
    Case("export-dashboard", pipe=7, exit=65),
]
