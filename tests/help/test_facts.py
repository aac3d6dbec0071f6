"""What the pages about documents say is what the code has."""

import re
from pathlib import Path

from pflow.commands.help import usages
from pflow.errors import EXIT_CODES
from pflow.flow.rules import RULES
from pflow.flow.schema import SCHEMA
from pflow.help.man import ENVIRONMENT, files
from pflow.interface.grammar import _LINES, _MARKS, EFFECTS
from pflow.values.types import _PYTHON
from tests.help.rendering import rendered, sections, tagged
from tests.help.source import plain

ROOT = Path(__file__).parent.parent.parent

ELSEWHERE = {"HOME", "LC_CTYPE", "PFLOW_NODE", "PFLOW_FAILPOINT", "PFLOW_TESTING"}
"""Variables that stand in no table: of the home directory, of Python's own doing, of pflow-node(7), of tests."""


def page(name: str) -> str:
    return (ROOT / "man" / f"man{name[-1]}" / name).read_text()


def bold(source: str) -> set[str]:
    return {plain(word) for word in re.findall(r"\\fB(.*?)\\fP", source)} | {
        plain(word) for word in re.findall(r"^\.It Sy (.*)$", source, re.MULTILINE)
    }


def test_the_table_of_rules_has_every_rule_with_its_words():
    (rows,) = re.findall(r"\.It Sy .?.?PF00.*?\.El", page("pflow-flow.5"), re.DOTALL)
    shown = dict(re.findall(r"\.It Sy (PF\d\d)\n(.*?)\n(?=\.)", plain(rows), re.DOTALL))
    told = {rule.id: f"{rule.title} ({rule.otherwise})" for rule in RULES.values()}
    assert {id: " ".join(text.split()) for id, text in shown.items() if id != "PF00"} == told


def test_every_limit_of_a_plan_is_told():
    code = "".join(path.read_text() for path in (ROOT / "pflow" / "plan").rglob("*.py"))
    shown = tagged(sections(rendered(files(usages())["pflow-plan.1"], width=200))["LIMITS"])
    assert set(re.findall(r'"(PL\d\d)"', code)) == set(shown)


def test_every_member_of_a_flow_is_told():
    found = [SCHEMA]
    for schema in found:
        found += [each for each in schema.values() if isinstance(each, dict)]
    members = {member for schema in found if schema.get("type") == "object" for member in schema.get("properties", ())}
    assert members - bold(page("pflow-flow.5")) == set()


def test_every_exit_code_is_told():
    shown = tagged(sections(rendered(page("pflow-exit.7"), width=200))["DESCRIPTION"])
    assert {str(code) for code in EXIT_CODES} | {"128+n"} <= set(shown)


def test_every_mark_type_effect_and_line_of_an_interface_is_told():
    text = rendered(page("pflow-node.7"), width=500)
    marks = {mark.partition(" ")[0] for some in _MARKS.values() for mark in some}
    assert [mark for mark in marks if f"[{mark}" not in text] == []
    assert [each for each in [*_PYTHON, "any", *EFFECTS] if each not in text] == []
    assert [head for head in _LINES if f"- {head}:" not in text] == []


def test_every_variable_that_the_code_looks_at_stands_on_a_page():
    named = {name for names, *_ in ENVIRONMENT for name in names.split(", ")}
    code = "".join(path.read_text() for path in (ROOT / "pflow").rglob("*.py"))
    looked_at = set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', code))
    assert looked_at - named - ELSEWHERE == set()
