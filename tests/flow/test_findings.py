"""The place of a finding, for people and as a JSON pointer."""

import pytest

from pflow.flow.findings import Finding, pointer
from pflow.values.paths import write_path


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ((), "", ""),
        (("nodes", 12, "id"), "nodes[12].id", "/nodes/12/id"),
        (("nodes", 0, "params", "x.y/z"), 'nodes[0].params["x.y/z"]', "/nodes/0/params/x.y~1z"),
        (("nodes", 0, "params", "t~", 1), "nodes[0].params.t~[1]", "/nodes/0/params/t~0/1"),
    ],
)
def test_a_place_is_a_path_for_people_and_a_pointer_into_the_document(place, text, expected):
    assert write_path(place) == text
    assert pointer(place) == expected


def test_a_finding_is_one_line_of_what_a_terminal_can_show():
    finding = Finding("PF99", ("nodes", 0, "id\x1b"), "two\nlines", "mend it", is_warning=True)
    assert str(finding) == "nodes[0].id\\x1b: PF99: warning: two\\nlines; mend it"
    assert str(Finding("PF99", (), "wrong")) == "PF99: wrong"
