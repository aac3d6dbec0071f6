"""analyze: each column by what is in it, right to the cell."""

import json
import shutil
import subprocess

import pytest

from pflow.nodes.analyze import Analyze
from pflow.nodes.clean_data import CleanData
from pflow.nodes.load_csv import LoadCsv
from pflow.nodes.save_csv import SaveCsv
from tests.bench.peers import CLEAN, write_sales
from tests.nodes.rows import EXAMPLES, run
from tests.tools import need


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1", "2", "10", ""], {"type": "int", "count": 3, "missing": 1, "distinct": 3, "min": 1, "max": 10}),
        ([4, 1, 3, 2], {"type": "int", "mean": 2.5, "q1": 1.75, "median": 2.5, "q3": 3.25}),
        ([1, 2, 2, 2, 9], {"q1": 2, "median": 2, "q3": 2, "top": [{"value": 2, "count": 3}]}),
        (["0.1"] * 10, {"type": "float", "mean": 0.1, "median": 0.1, "distinct": 1}),
        ([1.5, 1], {"type": "float", "min": 1, "max": 1.5}),
        (["1.5e308", "1.7e308"], {"mean": 1.6e308, "median": 1.6e308}),
        (["-1.5e308", "1.5e308"], {"mean": 0.0, "q1": -7.5e307}),
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


def miller(*words):
    return subprocess.run(["mlr", *words], capture_output=True, text=True, check=True).stdout


def test_3000_rows_are_right_to_the_cell_as_miller_has_them(tmp_path):
    need("mlr")
    path = tmp_path / "sales.csv"
    write_sales(path, 3000)
    loaded = run(LoadCsv, {"path": str(path)})
    assert loaded["rows"] == json.loads(miller("-S", "--icsv", "--ojson", "--jvquoteall", "cat", str(path)))
    cleaned = run(CleanData, loaded, unique=True)
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
