"""A flow as JSON: loaded again, it is the same flow."""

import json

import pytest

from pflow.export import exporter
from pflow.flow.load import load_text
from pflow.flow.wiring import wire
from tests.export.cases import CASES
from tests.export.running import export


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_flow_from_its_json_is_the_same(tmp_path, monkeypatch, case):
    text = export("json", case, tmp_path).read_text()
    assert json.loads(text)["pflow"] == 1
    monkeypatch.chdir(tmp_path)
    again = wire(load_text(text, "it").usable())
    assert exporter("json").export(again) == text
