"""Which nodes there are: one order for everybody, and why the rest are none."""

import os

import pytest

from pflow.catalog.kinds import fault_of, find_node, is_node_name, launcher, list_nodes


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Two directories of a user's own, and two on PATH."""
    for name in ("own", "own2", "bin", "bin2"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PFLOW_NODES", f"{tmp_path / 'own'}:{tmp_path / 'own2'}")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}::/nonexistent:{tmp_path / 'bin2'}")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def put(file, mode=0o755, text="#!/bin/sh\n"):
    file.write_text(text)
    file.chmod(mode)
    return str(file)


def listed(*, there=False):
    """What is no node of pflow's, as (name, file, why it is none)."""
    found = [(each.name, each.file, each.fault or each.behind) for each in list_nodes() if each.origin != "bundled"]
    return [each for each in found if not there or not each[2]]


@pytest.mark.parametrize(
    "files",
    [
        ["own/count-words.py", "own/count_words.py", "own/pflow-count-words", "own2/count_words.py"],
        ["own/count_words.py", "bin/pflow-count-words"],
        ["own2/pflow-count-words", "bin/pflow-count-words", "bin2/pflow-count-words"],
        ["bin/pflow-countwords", "bin/pflow-CountWords", "bin2/pflow-count-words"],
    ],
)
def test_the_first_of_a_name_is_meant_by_every_way_to_write_it(place, files):
    paths = [put(place / file) for file in files]
    first = min(paths[:2]) if files[0].startswith("bin/") else paths[0]
    for name in ("count-words", "count_words", "CountWords", "CountWordsNode", "countwords"):
        assert find_node(name).file == first
    assert [each[1] for each in listed(there=True)] == [first]
    assert sorted(each[1:] for each in listed() if each[2]) == sorted((path, first) for path in paths if path != first)


def test_the_launcher_of_a_node_of_pflows_is_no_other_node(place, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(place / "bin" / "pflow")])
    file = put(place / "bin" / "pflow-llm")
    (place / "bin2" / "pflow-llm").symlink_to(file)
    assert listed() == []
    assert launcher("pflow-llm") == file


def test_a_file_that_is_found_twice_is_there_once(place, monkeypatch):
    put(place / "bin" / "pflow-x")
    (place / "bin2" / "pflow-x").symlink_to(place / "bin" / "pflow-x")
    (place / "bin3").symlink_to("bin")
    monkeypatch.setenv("PATH", os.pathsep.join(str(place / name) for name in ("bin", "bin2", "bin3", "bin")))
    assert len(listed()) == 1


BAD_NAMES = [
    *("", "-", "-x", "_x", ".", "..", "x y", "x.sh", "x~", "x/y", "x\n", "x\ny", "x'", 'x"', "x$(y)", "x`y`", "x;y"),
    *("x\x1b[31m", "naïve", "\udc80", "x\ty", "flow:x", "*"),
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_anything_else_is_no_name_and_is_never_looked_for(place, name):
    assert not is_node_name(name)
    assert find_node(name) is None


@pytest.mark.parametrize("name", [name for name in BAD_NAMES if "/" not in name])
def test_a_file_with_such_a_name_is_no_node(place, name):
    for folder in ("own", "bin"):
        put(place / folder / f"pflow-{name}")
    assert listed(there=True) == []
    assert {each[2] for each in listed()} == {"a node's name has letters, digits, - and _ only"}
    assert {os.path.dirname(each[1]) for each in listed()} == {str(place / "own")}


@pytest.mark.parametrize(
    ("put_it", "why"),
    [
        (lambda file: os.symlink("no-such-file", file), "it is a link to nowhere"),
        (lambda file: os.symlink(file.name, file), "it cannot be looked at"),
        (lambda file: put(file, 0o644), "it is not executable (chmod +x)"),
    ],
)
def test_what_cannot_be_a_node_leaves_its_name_to_the_next_and_is_told(place, put_it, why):
    put_it(place / "own" / "pflow-x")
    assert find_node("x") is None
    assert why in fault_of("x")
    second = put(place / "bin2" / "pflow-x")
    assert find_node("x").file == second
    assert [each[1] for each in listed(there=True)] == [second]
    assert [why in each[2] for each in listed()] == [True, False]


@pytest.mark.parametrize(("variable", "folder"), [("PATH", "bin"), ("PFLOW_NODES", "own")])
def test_a_place_may_be_relative(place, monkeypatch, variable, folder):
    file = put(place / folder / "pflow-x")
    monkeypatch.chdir(place)
    monkeypatch.setenv(variable, folder)
    assert find_node("x").file == file
