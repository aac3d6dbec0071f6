"""The man pages: what each has, and that mandoc finds nothing wrong with any."""

import re
from pathlib import Path

import pytest

from pflow.commands._usages import usages
from pflow.help.man import files
from pflow.help.usage import usage_of_node
from pflow.interface.grammar import parse_interface
from tests.manual.rendering import TERMINAL, lint, rendered, sections
from tests.manual.source import plain

ROOT = Path(__file__).parent.parent.parent
WRITTEN = {path.name: path.read_text() for path in sorted(ROOT.glob("man/man[57]/*"))}
PAGES = {**files(usages()), **WRITTEN}
EXECUTABLES = sorted(path.name for path in (ROOT / "bin").iterdir())

ALWAYS = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]


def test_every_executable_and_every_command_has_a_page():
    commands = [each.name.replace(" ", "-") for each in usages() if each.name.startswith("pflow ")]
    assert sorted(files(usages())) == sorted(f"{name}.1" for name in [*EXECUTABLES, *commands])


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


@pytest.mark.parametrize("each", [each for each in usages() if each.is_node], ids=lambda each: each.name)
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


@pytest.mark.parametrize("each", usages(), ids=lambda each: each.name)
def test_no_page_names_itself_as_another(each):
    name = each.name.replace(" ", "-")
    assert f"{name}(1)" not in re.split(r",\s+", sections(rendered(PAGES[f"{name}.1"]))["SEE ALSO"].strip())


def test_a_new_node_changes_no_page_but_its_own():
    before = files(usages())
    new = usage_of_node("mine", parse_interface("Do it."))
    after = files([*usages(), new])
    assert after.keys() - before.keys() == {"pflow-mine.1"}
    assert {name: after[name] for name in before} == before
