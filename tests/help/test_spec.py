"""`--help` and the man page say the same, for every executable and every command of the driver: all of its spec."""

import re

import pytest

from pflow.catalog.registry import names_in
from pflow.commands import _dispatch
from pflow.commands.help import GROUPS, driver_help, specs
from pflow.help.man import files
from pflow.help.spec import TITLES, flag_row, help_text
from tests.help.rendering import rendered, sections, tagged

SPECS = specs()
PAGES = files(SPECS)


def squeezed(text: str) -> str:
    """A text without spaces, the ends of folded lines and the typography of a page."""
    return "".join(text.replace("…", "...").replace("\\", "").split())


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_all_of_a_spec_stands_in_the_help_and_on_the_page(spec):
    page = PAGES[f"{spec.name.replace(' ', '-')}.1"]
    flags = ["".join(flag_row(flag)) for flag in spec.flags]
    notes = [line for note in spec.notes if spec.name != "pflow" for line in note.split("\n")[1:]]
    said = [spec.summary, *spec.description.split("\n\n"), *spec.synopsis, *spec.examples, *flags, *notes]
    said += [key + text for key, text in spec.writes] + [spec.actions, ", ".join(spec.effects or ())]
    for text in (help_text(spec), rendered(page, width=1000)):
        assert [each for each in said if squeezed(each) not in squeezed(text)] == []


def test_flags_stand_under_the_titles_of_their_groups():
    spec = next(each for each in SPECS if each.name == "pflow-llm")
    page = sections(rendered(PAGES["pflow-llm.1"], width=1000))
    for group, flags in spec.groups():
        block = help_text(spec).partition(f"\n{TITLES[group]}:\n")[2].partition("\n\n")[0]
        names = [flag.names[0] for flag in flags]
        assert [re.split(r"[ ,[]", line.strip())[0] for line in block.split("\n") if line[2:3] != " "] == names
        assert [re.split(r"[ ,[]", tag)[0] for tag in tagged(page[group.upper()])][-len(names) :] == names


def test_the_driver_s_page_has_every_command_and_tool_and_no_node():
    page = sections(rendered(PAGES["pflow.1"], width=1000))
    assert sorted(tagged(page["COMMANDS"])) == names_in("commands")
    assert [name.removeprefix("pflow-") for name in tagged(page["TOOLS"])] == names_in("store_commands")
    assert "write-file" not in PAGES["pflow.1"].partition(".Sh EXAMPLES")[0].replace("\\", "")


def test_the_driver_s_help_has_every_command_in_one_group_with_half_a_line():
    assert sorted(name for names in GROUPS.values() for name in names) == names_in("commands")
    blocks = driver_help().partition("\nRun:\n")[2].partition("\nExamples:\n")[0].split("\n")
    rows = [line.split(maxsplit=1) for line in blocks if line.startswith("  ")]
    assert {name for name, _ in rows} >= {*names_in("commands"), *names_in("store_commands")}
    assert [row for row in rows if len(row) != 2 or not 5 < len(row[1]) <= 64] == []


@pytest.mark.parametrize("name", sorted({*names_in("commands")} - {"help"}))  # `pflow help --help` is pflow's
def test_each_command_prints_its_help(name, capfd):
    (spec,) = (each for each in SPECS if each.name == f"pflow {name}")
    assert _dispatch.run([name, "--help"]) == 0
    assert capfd.readouterr().out.startswith(f"Usage: {spec.synopsis[0]}\n")
