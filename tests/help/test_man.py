"""The man pages: what each has, that they say what the code has, and that mandoc finds nothing wrong with any."""

import re
from pathlib import Path

import pytest

from pflow.commands.help import usages
from pflow.errors import EXIT_CODES, PflowError
from pflow.flow.rules import RULES
from pflow.flow.schema import SCHEMA
from pflow.help.man import ENVIRONMENT, files
from pflow.help.usage import usage_of_node
from pflow.interface.grammar import EFFECTS, MARKS, parse_interface
from pflow.values.types import parse_type
from tests.help.rendering import TERMINAL, lint, rendered, sections, tagged
from tests.help.source import plain

ROOT = Path(__file__).parent.parent.parent
WRITTEN = {path.name: path.read_text() for path in sorted(ROOT.glob("man/man[57]/*"))}
USAGES = usages()
PAGES = {**files(USAGES), **WRITTEN}
EXECUTABLES = sorted(path.name for path in (ROOT / "bin").iterdir())
ALWAYS = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]


def test_every_executable_and_every_command_has_a_page():
    commands = [each.name.replace(" ", "-") for each in USAGES if each.name.startswith("pflow ")]
    assert sorted(files(USAGES)) == sorted(f"{name}.1" for name in [*EXECUTABLES, *commands])


@pytest.fixture(scope="module", params=PAGES)
def page(request):
    """A page's name, its source, and what a terminal shows of it."""
    return request.param, PAGES[request.param], rendered(PAGES[request.param])


def test_mandoc_has_nothing_to_say_and_the_page_fits_a_terminal_of_80_columns(page):
    _, source, shown = page
    assert lint(source) == ""
    assert [line for line in shown.split("\n") if len(line) > TERMINAL] == []


def test_an_example_needs_no_tab_because_a_page_shows_spaces(page):
    assert [line for line in page[1].split("\n") if line.startswith("\t") or "\\(aq\t" in line] == []


def test_a_page_has_what_every_page_has_under_headings_as_they_are_written(page):
    name, source, shown = page
    wanted = ALWAYS if name.endswith(".1") else ["NAME", "DESCRIPTION", "EXAMPLES", "SEE ALSO"]
    assert [title for title in wanted if title not in sections(shown)] == []
    titles = [plain(title) for title in re.findall(r"^\.S[hs] (.*)$", source, re.MULTILINE)]
    assert [title for title in titles if title not in map(str.strip, shown.split("\n"))] == []


def test_a_page_names_only_pages_that_there_are(page):
    named = re.findall(r"(pflow[a-z-]*)\(([157])\)", page[2].replace("‐\n", "").lower())
    assert [f"{page}.{section}" for page, section in named if f"{page}.{section}" not in PAGES] == []


@pytest.mark.parametrize("each", [each for each in USAGES if each.is_node], ids=lambda each: each.name)
def test_a_node_s_page_has_its_groups(each):
    there = sections(rendered(PAGES[f"{each.name}.1"]))
    has_params = "- Params:" in (ROOT / "nodes" / f"{each.name[6:].replace('-', '_')}.py").read_text()
    assert {"DATA", "COMMON", "ACTIONS", "EFFECTS", "ENVIRONMENT"} <= set(there)
    assert ("PARAMS" in there) == has_params


def test_a_variable_of_a_param_stands_in_environment():
    assert "PFLOW_MODEL" in sections(rendered(PAGES["pflow-llm.1"]))["ENVIRONMENT"]
    interface = parse_interface("Do it.\n\nInterface:\n- Params: key: str [env MY_KEY] [secret]  # what opens it\n")
    (page,) = files([usage_of_node("mine", interface)]).values()
    shown = sections(rendered(page, width=200))
    assert "MY_KEY" in shown["ENVIRONMENT"]
    assert "--key" not in shown["PARAMS"]


def test_a_list_that_is_written_is_nothing_that_may_be_repeated():
    interface = parse_interface(
        'Do it.\n\nInterface:\n- Reads: shared["given"]: list = []  # what comes\n'
        '- Writes: shared["made"]: list [pipe]  # what goes\n'
    )
    (page,) = files([usage_of_node("mine", interface)]).values()
    shown = sections(rendered(page, width=200))
    assert "what comes [may be repeated, or a JSON list]" in shown["DATA"]
    assert "what goes [to the pipe]" in shown["WRITES"]


@pytest.mark.parametrize("each", USAGES, ids=lambda each: each.name)
def test_no_page_names_itself_as_another(each):
    name = each.name.replace(" ", "-")
    assert f"{name}(1)" not in re.split(r",\s+", sections(rendered(PAGES[f"{name}.1"]))["SEE ALSO"].strip())


def test_a_new_node_changes_no_page_but_its_own():
    before = files(USAGES)
    new = usage_of_node("mine", parse_interface("Do it."))
    after = files([*USAGES, new])
    assert after.keys() - before.keys() == {"pflow-mine.1"}
    assert {name: after[name] for name in before} == before


ELSEWHERE = {
    "HOME", "LC_CTYPE", "GOMP_SPINCOUNT", "PFLOW_LINE", "PFLOW_NODE", "PFLOW_FAILPOINT", "PFLOW_TESTING",
    "GIT_ALLOW_PROTOCOL",
}  # fmt: skip
"""Variables that stand in no table: of the home, Python's own doing, OpenMP, the completions, pflow-node(7), tests,
pflow-pack(5)."""


def written(name: str) -> str:
    return (ROOT / "man" / f"man{name[-1]}" / name).read_text()


def bold(source: str) -> set[str]:
    return {plain(word) for word in re.findall(r"\\fB(.*?)\\fP", source)} | {
        plain(word) for word in re.findall(r"^\.It Sy (.*)$", source, re.MULTILINE)
    }


def test_the_table_of_rules_has_every_rule_with_its_words():
    (rows,) = re.findall(r"\.It Sy .?.?PF00.*?\.El", written("pflow-flow.5"), re.DOTALL)
    shown = dict(re.findall(r"\.It Sy (PF\d\d)\n(.*?)\n(?=\.)", plain(rows), re.DOTALL))
    told = {rule.id: f"{rule.title} ({rule.otherwise})" for rule in RULES.values()}
    assert {id: " ".join(text.split()) for id, text in shown.items() if id != "PF00"} == told


def test_every_limit_of_a_plan_is_told():
    code = "".join(path.read_text() for path in (ROOT / "pflow" / "plan").rglob("*.py"))
    shown = tagged(sections(rendered(files(USAGES)["pflow-plan.1"], width=200))["LIMITS"])
    assert set(re.findall(r'"(PL\d\d)"', code)) == set(shown)


def test_every_member_of_a_flow_is_told():
    found = [SCHEMA]
    for schema in found:
        found += [each for each in schema.values() if isinstance(each, dict)]
    members = {member for schema in found if schema.get("type") == "object" for member in schema.get("properties", ())}
    assert members - bold(written("pflow-flow.5")) == set()


def test_every_exit_code_is_told():
    shown = tagged(sections(rendered(written("pflow-exit.7"), width=200))["DESCRIPTION"])
    assert {str(code) for code in EXIT_CODES} | {"128+n"} <= set(shown)


def test_every_mark_type_effect_and_line_of_an_interface_is_told():
    text = rendered(written("pflow-node.7"), width=500)
    marks = {mark.partition(" ")[0] for some in MARKS.values() for mark in some}
    assert [mark for mark in marks if f"[{mark}" not in text] == []
    with pytest.raises(ValueError, match="types are ") as types:
        parse_type("nothing")
    told = re.findall(r"[a-z]{3,}", str(types.value).partition("types are ")[2])
    assert [each for each in [*told, *EFFECTS] if each not in text] == []
    with pytest.raises(PflowError, match="begins with one of ") as lines:
        parse_interface("Interface:\n- Nothing: x")
    heads = re.findall(r"[A-Z][a-z-]+", lines.value.message.partition("begins with one of ")[2])
    assert [head for head in heads if f"- {head}:" not in text] == []
    assert (len(told) > 8, len(heads) > 4) == (True, True)


def test_every_variable_that_the_code_looks_at_stands_on_a_page():
    named = {name for names, *_ in ENVIRONMENT for name in names.split(", ")}
    code = "".join(path.read_text() for path in (ROOT / "pflow").rglob("*.py"))
    looked_at = set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', code))
    assert looked_at - named - ELSEWHERE == set()


def test_no_line_of_a_page_ends_in_a_backslash_which_joins_two_words():
    pages = [page for page in (ROOT / "man").rglob("*.*") if re.search(r"(?m)(^|[^\\])\\$", page.read_text())]
    assert pages == []
