"""Numbers at every door: written as they were read, and never rounded or summed unawares."""

import json

import pytest

from pflow.nodes.analyze import Analyze
from pflow.nodes.export_dashboard import ExportDashboard
from pflow.nodes.join_text import JoinText
from pflow.nodes.save_csv import SaveCsv
from pflow.nodes.save_results import SaveResults
from tests.many.test_rows import Printed, done
from tests.nodes.rows import load, run

NUMBERS = [
    "12345679001.55",
    "52.520006599",
    "0.30000000000000004",
    "-0.0",
    "1e-07",
    "18446744073709551615",
    "-5",
    "3.0",
]


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
