"""The executable of a saved flow: where it goes, whose it is, and that it is no node of its own."""

import os
import subprocess

import pytest

from pflow.catalog.find import find_node, list_nodes
from pflow.errors import PflowError
from pflow.flow.ir import load_document
from pflow.saved_flows.executables import (
    edited_executables_of,
    executable_file,
    executables_of,
    flow_script,
    make_executable,
    remove_executables,
)
from pflow.saved_flows.saved import remove_flow, save_flow

COUNT = {"nodes": [{"id": "shell", "inputs": {"command": "wc -w"}}]}


@pytest.fixture
def file(library):
    """The file of a saved flow."""
    return save_flow("count", load_document(COUNT, "it").usable()).file


@pytest.mark.parametrize(
    ("on_path", "folder"),
    [([], ".local/bin"), (["bin"], "bin"), ([".local/bin"], ".local/bin"), (["bin", ".local/bin"], ".local/bin")],
)
def test_it_goes_where_the_shell_looks(library, tmp_path, monkeypatch, on_path, folder):
    folders = [str(tmp_path / each) for each in on_path]
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", *folders]))
    assert executable_file("count") == str(tmp_path / folder / "pflow-count")


def test_it_is_made_and_taken_away(file, tmp_path):
    command = make_executable("count", flow_script(file))
    assert os.access(command, os.X_OK)
    assert executables_of("count", flow_script(file)) == [command] == [make_executable("count", flow_script(file))]
    assert remove_executables("count", flow_script(file)) == [command]
    assert not os.path.exists(command)


@pytest.mark.parametrize("kind", ["file", "link", "folder", "other flow"])
def test_what_is_not_ours_is_left(file, tmp_path, kind):
    command = tmp_path / ".local" / "bin" / "pflow-count"
    command.parent.mkdir()
    if kind == "other flow":
        make_executable("count", flow_script(file + ".other"))
    elif kind == "folder":
        command.mkdir()
    elif kind == "link":
        command.symlink_to("nowhere")
    else:
        command.write_text("#!/bin/sh\n")
    before = os.lstat(command)
    with pytest.raises(PflowError, match="cannot make the command") as caught:
        make_executable("count", flow_script(file))
    assert caught.value.exit == 73
    assert remove_executables("count", flow_script(file)) == []
    assert os.lstat(command).st_mtime_ns == before.st_mtime_ns


def test_one_that_was_changed_is_left_and_known(file):
    command = make_executable("count", flow_script(file))
    with open(command, "a") as opened:
        opened.write("# mine\n")
    assert remove_executables("count", flow_script(file)) == []
    assert edited_executables_of("count") == [command]


def test_it_finds_other_flows_in_the_library_of_its_own(library, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "it's data"))
    save_flow("count", load_document(COUNT, "it").usable())
    outer = save_flow("outer", load_document({"nodes": [{"type": "flow:count"}]}, "it").usable()).file
    command = make_executable("outer", flow_script(outer))
    monkeypatch.delenv("XDG_DATA_HOME")
    done = subprocess.run([command, "-r"], input="a b", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_beside_its_flow_it_is_no_node(file, tmp_path, monkeypatch):
    command = make_executable("count", flow_script(file))
    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(command), "/usr/bin"]))
    assert find_node("count") is None
    assert "count" not in [found.name for found in list_nodes()]
    remove_flow("count")
    assert find_node("count").file == command


def test_without_a_home_there_is_no_place(file, monkeypatch):
    monkeypatch.delenv("HOME")
    with pytest.raises(PflowError, match="HOME is not set") as caught:
        make_executable("count", flow_script(file))
    assert caught.value.exit == 78
    assert executables_of("count", flow_script(file)) == []
