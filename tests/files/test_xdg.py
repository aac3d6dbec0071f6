"""Where pflow's directories are: as the XDG specification has it."""

import pytest

from pflow.files.xdg import pflow_directory


@pytest.mark.parametrize(
    ("home", "variable", "found"),
    [
        ("/home/ada", "", "/home/ada/.local/share/pflow"),
        ("/home/ada", "/data", "/data/pflow"),
        ("/home/ada", "relative", "/home/ada/.local/share/pflow"),
        ("", "/data", "/data/pflow"),
        ("", "", None),
        ("", "relative", None),
        ("relative", "", None),
    ],
)
def test_a_variable_counts_where_it_is_absolute_else_the_home_does(home, variable, found, monkeypatch):
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("XDG_DATA_HOME", variable)
    assert pflow_directory("XDG_DATA_HOME", ".local/share") == found


def test_what_is_not_set_is_as_if_it_were_empty(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert pflow_directory("XDG_DATA_HOME", ".local/share") == "/home/ada/.local/share/pflow"
