"""--escape-formulas: what a spreadsheet may take for a formula has an apostrophe before it, and numbers have none."""

import pytest

from pflow.nodes.save_csv import SaveCsv
from pflow.nodes.save_results import SaveResults
from pflow.tables.csv_text import write_csv
from tests.map.test_rows import Printed, done
from tests.nodes.rows import run

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
