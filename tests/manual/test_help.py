"""`--help` and the man page agree, for every executable and every command of the driver."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.commands._usages import usages
from pflow.help.man import files
from tests.manual.rendering import rendered, sections, tagged

PAGES = files(usages())
COMMANDS = [name.removesuffix(".1") for name in PAGES]
DRIVEN = [each.name.replace(" ", "-") for each in usages() if each.name.startswith("pflow ")]

WORDS = ("Commands", "Nodes", "Tools")
"""What the driver's help lists by name."""

TITLES = {
    "DATA": "Data (into the store)",
    "PARAMS": "Params (how it works)",
    "OPTIONS": "Options",
    "COMMON": "Common",
    "WRITES": "Writes",
}


def helped(command: str) -> str:
    """What the installed executable prints."""
    program = Path(sys.executable).parent
    words = [program / "pflow", command.removeprefix("pflow-")] if command in DRIVEN else [program / command]
    return subprocess.run([*words, "--help"], capture_output=True, text=True, check=True).stdout


def rows(group: str) -> dict[str, str]:
    """The rows of a group of the help: the names at the left, and what stands at their right or below."""
    made: dict[str, str] = {}
    tag = ""
    for line in filter(str.strip, group.split("\n")):
        if line[2:3] != " ":
            tag, _, text = line.strip().partition("  ")
            made[tag] = text.strip()
        else:
            made[tag] = f"{made[tag]} {line.strip()}".strip()
    return made


def blocks(text: str) -> dict[str, str]:
    """The indented blocks of the help, by the title before each."""
    found = re.finditer(r"^(?P<title>[A-Z][^\n]*):\n(?P<rows>(?:  .*\n)+)", text, re.MULTILINE)
    return {block["title"]: block["rows"] for block in found}


def one_line(text: str) -> str:
    return " ".join(text.split())


def joined(lines: str) -> list[str]:
    """The commands of a section of examples, each on one line again."""
    text = re.sub(r"(?m)^ {5}", "", lines)
    text = re.sub(r" \\\n +", " ", text)
    return re.sub(r"\|\n +", "| ", text).split("\n")


def listed(text: str) -> dict[str, str]:
    """The list in a section that may begin with a sentence."""
    sentence, _, rest = text.partition("\n\n")
    return tagged(rest if sentence.endswith(".") and "\n" not in sentence else text)


@pytest.fixture(scope="module", params=COMMANDS)
def both(request):
    """The help of a command, and the sections of its page."""
    return helped(request.param), sections(rendered(PAGES[f"{request.param}.1"], width=1000))


def test_the_synopsis_is_the_same(both):
    help, page = both
    usage = help.partition("\n\n")[0].removeprefix("Usage: ")
    shown = page["SYNOPSIS"].replace("...", "…")
    assert [line.strip() for line in shown.split("\n")] == [line.strip() for line in usage.split("\n")]


def test_the_description_is_the_same(both):
    help, page = both
    described = help.partition("\n\n")[2]
    end = re.search(r"^([A-Z][^\n]*:\n  |Effects: |Actions: |Exit codes: )", described, re.MULTILINE)
    assert one_line(page["DESCRIPTION"]) == one_line(described[: end.start()])


def test_the_same_flags_stand_in_the_same_groups_with_the_same_texts(both):
    help, page = both
    there = {title: rows(text) for title, text in blocks(help).items() if title in TITLES.values()}
    assert {TITLES[title]: listed(text) for title, text in page.items() if title in TITLES} == there


def test_the_other_lists_of_the_help_are_sections(both):
    help, page = both
    known = [*TITLES.values(), "Examples", *WORDS]
    others = {title: rows(text) for title, text in blocks(help).items() if title not in known}
    assert {title: tagged(page[title.upper()]) for title in others} == others


def test_the_exit_codes_are_the_same(both):
    help, page = both
    codes = one_line(help.partition("Exit codes: ")[2]).split(" · ")
    shown = tagged(page["EXIT STATUS"])
    assert sorted(f"{code} {words}" for code, words in shown.items()) == sorted(codes)


def test_the_examples_are_the_same(both):
    help, page = both
    there = [line.strip() for line in blocks(help).get("Examples", "").strip().split("\n")]
    assert joined(page.get("EXAMPLES", "")) == there


@pytest.mark.parametrize("title", ["Actions", "Effects"])
def test_actions_and_effects_are_the_same(both, title):
    help, page = both
    line = re.search(rf"^{title}: (.*)$", help, re.MULTILINE)
    assert one_line(page.get(title.upper(), "")) == (line[1] if line else "")


def test_the_driver_s_page_has_every_command_and_tool_of_its_help():
    help, page = helped("pflow"), sections(rendered(PAGES["pflow.1"], width=1000))
    lists = {title: text.split() for title, text in blocks(help).items() if title in WORDS}
    assert sorted(tagged(page["COMMANDS"])) == lists["Commands"]
    assert [name.removeprefix("pflow-") for name in tagged(page["TOOLS"])] == lists["Tools"]


def test_the_driver_s_page_names_no_node():
    assert "write-file" not in PAGES["pflow.1"].partition(".Sh EXAMPLES")[0].replace("\\", "")
