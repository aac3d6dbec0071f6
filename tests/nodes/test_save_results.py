"""save-results: a report and what is behind it, in the form that was asked for."""

import json
import os
from pathlib import Path

import pytest

from pflow.nodes.analyze import Analyze
from pflow.nodes.save_results import SaveResults
from tests.nodes.rows import refused, run


def test_the_default_file_stays_below_the_root_too(tmp_path, monkeypatch):
    (tmp_path / "root").mkdir()
    monkeypatch.chdir(tmp_path / "root")
    monkeypatch.setenv("PFLOW_ROOT", str(tmp_path / "root"))
    (tmp_path / "root" / "results.json").symlink_to(tmp_path / "outside.json")
    assert refused(SaveResults, {"results": 1})[0] == 77
    assert not (tmp_path / "outside.json").exists()
    run(SaveResults, {"results": 1}, format="md")


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
        ({"items": [{"a": "x"}]}, {"format": "md"}, "results.md", "| a |\n| --- |\n| x |\n"),
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
