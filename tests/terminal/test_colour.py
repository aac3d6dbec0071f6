"""Colour: which streams get it, and that nothing but colour changes."""

import re

import pytest

from pflow.terminal import columns, messages
from pflow.terminal.columns import Colour, colour_of, is_wanted, table

XTERM = {"TERM": "xterm-256color"}
FORCED = {"CLICOLOR_FORCE": "1"}
NO = {"NO_COLOR": "1"}


@pytest.fixture
def environment(monkeypatch):
    """Sets exactly these variables, and whether every stream is a terminal."""

    def put(variables, *, is_terminal):
        for name in ("TERM", "NO_COLOR", "CLICOLOR_FORCE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(columns.os, "isatty", lambda fd: is_terminal)

    return put


@pytest.mark.parametrize(
    ("when", "variables", "is_terminal", "wanted"),
    [
        ("auto", XTERM, True, True),
        ("auto", XTERM, False, False),
        ("auto", {}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", XTERM | NO, True, False),
        ("auto", XTERM | {"NO_COLOR": ""}, True, True),
        ("auto", FORCED, False, True),
        ("auto", FORCED | {"TERM": "dumb"}, True, True),
        ("auto", XTERM | NO | FORCED, True, False),
        ("always", NO, False, True),
        ("always", {"TERM": "dumb"}, False, True),
        ("never", XTERM | FORCED, True, False),
    ],
)
def test_the_flag_is_over_no_color_over_clicolor_force_over_the_terminal(
    environment, when, variables, is_terminal, wanted
):
    environment(variables, is_terminal=is_terminal)
    assert is_wanted(1, when) is wanted
    assert colour_of(1, when).is_on is wanted


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_the_columns_of_a_painted_table_stand_where_they_did():
    rows = [("name", "a long text that has to be wrapped within its column"), ("b", "short"), ("", "c")]
    painted = table(rows, 40, first=Colour(is_on=True).name)
    assert [plain(line) for line in painted] == table(rows, 40)
    assert painted[0].startswith("  \x1b[36mname\x1b[0m  a long")
    assert painted[-1] == table(rows, 40)[-1]


@pytest.mark.parametrize(
    ("variables", "is_terminal", "said"),
    [
        (XTERM, True, "\x1b[1mpflow-llm:\x1b[0m words\n"),
        (XTERM, False, "pflow-llm: words\n"),
        (XTERM | NO, True, "pflow-llm: words\n"),
        (FORCED, False, "\x1b[1mpflow-llm:\x1b[0m words\n"),
    ],
)
def test_who_says_a_line_on_stderr_is_painted_by_the_same_rules(environment, monkeypatch, variables, is_terminal, said):
    environment(variables, is_terminal=is_terminal)
    lines = []
    monkeypatch.setattr(messages, "write_stderr", lines.append)
    messages.say("pflow-llm", "words")
    assert lines == [said]
