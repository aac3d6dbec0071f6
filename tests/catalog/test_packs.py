"""Installed packs among a user's nodes and flows: which of them wins, and what happens when a file has changed."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from pflow.catalog.find import find_type, forget_types, list_nodes
from pflow.catalog.lines import node_lines
from pflow.catalog.registry import saved_flow, saved_flows
from pflow.errors import PflowError
from pflow.files.installation import read_installation
from pflow.flow.subflow import FlowCatalog
from pflow.setup.doctor import BROKEN, CHECKS, WELL, examine
from tests.tools import need, node_source, put_pack

PYTHON = node_source("Words", "return len(text.split())").replace("Do it", "Count words")
SHELL = """#!/bin/sh
# Shout.
#
# Interface:
# - Reads: shared["text"]: str [pipe]
# - Writes: shared["loud"]: str [pipe]
# - Effects: runs commands

exec sed 's/"text"/"loud"/'
"""
FLOW = json.dumps({"description": "theirs", "nodes": [{"id": "words", "type": "words"}]})


@pytest.fixture
def data(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PFLOW_NODES", raising=False)
    folder = tmp_path / "xdg_data_home" / "pflow"
    folder.mkdir(parents=True)
    forget_types()
    yield folder
    forget_types()


@pytest.fixture
def pack(data):
    files = {"nodes/words.py": PYTHON, "nodes/pflow-shout": SHELL, "flows/count.pflow.json": FLOW, "README.md": "Hi"}
    return put_pack(data, "text-tools", files)


def pflow(*words, stdin="", program="pflow"):
    file = os.path.join(os.path.dirname(sys.executable), program)
    return subprocess.run([file, *words], input=stdin, capture_output=True, text=True, check=False)


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def test_the_nodes_of_a_pack_come_after_a_users_own_and_before_path(data, pack, tmp_path, monkeypatch):
    write(tmp_path / "bin" / "pflow-words", SHELL, 0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    forget_types()
    kind = find_type("words")
    assert (kind.file, kind.pack.name, kind.pack.version) == (f"{pack}/nodes/words.py", "text-tools", "v1")
    write(data / "nodes" / "words.py", PYTHON)
    forget_types()
    assert (find_type("words").file, find_type("words").pack) == (f"{data}/nodes/words.py", None)
    shadowed = [kind.file for kind in list_nodes() if kind.name == "words" and kind.behind]
    assert shadowed == [f"{pack}/nodes/words.py", f"{tmp_path}/bin/pflow-words"]
    assert find_type("read-file").pack is None


def test_only_files_that_the_lock_names_are_nodes_and_flows(pack):
    write(pack / "nodes" / "sneaky.py", PYTHON.replace("Words", "Sneaky"))
    write(pack / "flows" / "sneaky.pflow.json", FLOW)
    assert find_type("sneaky") is None
    assert (saved_flow("sneaky"), saved_flows()) == (None, ["count"])
    write(pack / "nodes" / "pflow-shout.interface", SHELL.replace("runs commands", "anything"))
    assert [pflow(*words, stdin="a").returncode for words in (["shout"], ["run", "shout"])] == [78, 78]


def test_a_flow_of_a_pack_names_no_file_outside_of_the_pack(data, tmp_path):
    types = {
        "in": "words",
        "near": "./in.pflow.json",
        "far": f"{tmp_path}/f.pflow.json",
        "run": f"{tmp_path}/pflow-run",
    }
    flows = {f"flows/{name}.pflow.json": json.dumps({"nodes": [{"type": type}]}) for name, type in types.items()}
    put_pack(data, "pack", {"nodes/words.py": PYTHON, **flows})
    write(tmp_path / "f.pflow.json", flows["flows/in.pflow.json"])
    write(tmp_path / "pflow-run", SHELL, 0o755)
    assert [pflow("run", f"flow:{name}", stdin="a b").returncode for name in types] == [0, 0, 65, 65]


@pytest.mark.parametrize("act", [lambda file: file.write_text(file.read_text() + "\n# more"), os.unlink])
@pytest.mark.parametrize("path", ["nodes/words.py", "nodes/pflow-shout", "flows/count.pflow.json"])
def test_a_file_that_changed_is_78_when_it_is_used_and_listed_as_broken(pack, path, act):
    act(pack / path)
    type = {"words.py": "words", "pflow-shout": "shout"}.get(os.path.basename(path), "flow:count")
    with pytest.raises(PflowError, match=r"as it was installed|changed since") as caught:
        assert FlowCatalog().find(type).interface
    assert caught.value.exit == 78
    assert [
        pflow(*words, stdin="a b").returncode for words in (["run", type], ["help", type.removeprefix("flow:")])
    ] == [78, 78]
    faults = {line.name: line.fault for line in node_lines() if "text-tools" in line.fault}
    assert [*faults] == ([] if type.startswith("flow:") else [type])


def test_a_users_own_flow_comes_before_a_packs_and_only_it_is_saved_or_removed(data, pack):
    assert pflow("count", "-r", stdin="a b c").stdout == "3\n"
    refused = pflow("remove", "count")
    assert (refused.returncode, "pflow uninstall text-tools" in refused.stderr) == (77, True)
    assert pflow("lock", "count").returncode == 77
    saved = pflow("save", "Count", "words => words", "--description=own")
    assert saved.stdout.strip() == f"{data}/flows/Count.pflow.json"
    assert saved_flows() == ["Count"]
    assert pflow("remove", "count").returncode == 0
    assert saved_flow("count") == f"{pack}/flows/count.pflow.json"
    assert sorted(os.listdir(pack / "flows")) == ["count.pflow.json"]


def test_damaged_packs_break_nothing_but_names_that_only_they_could_have(data, pack):
    (data / "packs.lock.json").write_text('{"pflow_packs": 1, "packs": {"a": 5}}')
    forget_types()
    for words in ("parse-json", "run parse-json", "help read-file", "nodes", "list", "save mine parse-json"):
        assert pflow(*words.split(), stdin="{}").returncode == 0, words
    for words in (["words"], ["run", "words => shout"], ["run", "flow:count"], ["count"]):
        result = pflow(*words, stdin="a b")
        assert (result.returncode, "packs.lock.json" in result.stderr) == (78, True), words


@pytest.fixture
def site(data, tmp_path, monkeypatch):
    """A directory on sys.path with a distribution as pip leaves it; importing its package fails."""
    place = tmp_path / "site"
    entries = "[console_scripts]\nx = y:z\n\n[pflow.nodes]\nall = tools.nodes\ncount-words = tools.one:CountWords\n\n"
    write(
        place / "Text_Tools-1.2.dist-info" / "entry_points.txt", f"{entries}[pflow.flows]\nall = tools.flows [extra]\n"
    )
    write(place / "tools" / "__init__.py", "raise SystemExit('imported')")
    write(place / "tools" / "nodes" / "words.py", PYTHON)
    write(place / "tools" / "nodes" / "pflow-shout", SHELL, 0o755)
    write(place / "tools" / "one.py", PYTHON.replace("Words", "CountWords"))
    write(place / "tools" / "flows" / "count.pflow.json", FLOW)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("PYTHONPATH", str(place))
    forget_types()
    return place


def test_entry_points_of_a_distribution_bring_nodes_and_flows_without_an_import(site):
    assert {kind.name: kind.file for kind in list_nodes() if kind.pack} == {
        "words": f"{site}/tools/nodes/words.py",
        "shout": f"{site}/tools/nodes/pflow-shout",
        "count-words": f"{site}/tools/one.py",
    }
    assert (find_type("words").pack.name, find_type("words").pack.version) == ("Text-Tools", "1.2")
    assert pflow("count", "-r", stdin="a b c").stdout == "3\n"
    need("sed")
    assert pflow("run", "shout => count-words", "-r", stdin="a b").stdout == "2\n"
    assert "Python package" in pflow("remove", "count").stderr
    assert "it is a Python package; pip uninstall Text-Tools" in pflow("uninstall", "Text-Tools").stderr


def test_a_pack_comes_before_a_distribution_which_is_gone_with_its_metadata(site, data):
    put_pack(data, "other", {"nodes/words.py": PYTHON})
    assert find_type("words").pack.name == "other"
    assert pflow("count-words", "-r", stdin="a b").stdout == "2\n"
    shutil.rmtree(site / "Text_Tools-1.2.dist-info")
    assert pflow("count-words", stdin="a b").returncode == 127


def test_an_update_of_a_pack_is_told_by_list_trace_why_lock_and_resume(data, pack, tmp_path):
    listed = {entry["name"]: entry.get("pack") for entry in json.loads(pflow("nodes", "--json").stdout)}
    about = {"name": "text-tools", "version": "v1", "address": "/srv/text-tools"}
    assert listed["words"] == listed["shout"] == listed["flow:count"] == about
    assert listed["read-file"] is None
    assert json.loads(pflow("words", "--describe").stdout)["pack"] == about
    assert "From text-tools v1\n  words" in pflow("nodes").stdout
    assert "Pack     text-tools v1 /srv/text-tools" in pflow("nodes", "words").stdout
    write(tmp_path / "f.pflow.json", FLOW)
    run = ["run", f"{tmp_path}/f.pflow.json", "--cache"]
    assert pflow("lock", f"{tmp_path}/f.pflow.json").returncode == 0
    assert pflow(*run, "-q", "--locked", stdin="a b").returncode == 0
    first = json.loads(pflow("trace", "last", "--json").stdout)
    assert [visit["pack"] for visit in first["execution_trace"]] == ["text-tools v1"]
    assert pflow("run", "words => shell 'exit 3'", "-q", stdin="a b").returncode == 3
    put_pack(data, "text-tools", {"nodes/words.py": PYTHON, "README.md": "New"}, asked="v2")
    resumed = pflow("resume", "last", "-q")
    assert (resumed.returncode, "'words': pack text-tools is" in resumed.stderr) == (78, True)
    locked = pflow(*run, "-q", "--locked", stdin="a b")
    assert (locked.returncode, locked.stderr.count("PF17")) == (65, 2)
    assert 'pack version of \'words\' is "v2", was "v1"' in locked.stderr
    assert pflow(*run, "-q", stdin="a b").returncode == 0
    assert re.search(r"code: pack text-tools \w{12} v2 was \w{12} v1", pflow("why", "last", "words").stdout)


def test_packs_are_listed_and_examined(site, data):
    put_pack(data, "other", {"nodes/words.py": PYTHON, "flows/mine.pflow.json": FLOW})
    listed = json.loads(pflow("list", "--packs", "--json").stdout)
    assert [(each["name"], each["nodes"], each["flows"]) for each in listed] == [
        ("other", ["words"], ["mine"]),
        ("Text-Tools", ["words", "count-words", "shout"], ["count"]),
    ]
    assert "other       v1   /srv/other  words, flow:mine\n" in pflow("list", "--packs").stdout
    assert "theirs (from other v1)" in pflow("list").stdout
    next(data.glob("packs/other/*/nodes/words.py")).write_text("")
    assert "other       v1 (changed)  " in pflow("list", "--packs").stdout
    lines = {(line.state, line.text) for line in CHECKS["packs"](read_installation())}
    assert (WELL, "other v1: 1 node, 1 flow, from /srv/other") in lines
    assert (WELL, "Text-Tools 1.2: 3 nodes, 1 flow, from a Python distribution") in lines
    (data / "packs.lock.json").write_text("{")
    forget_types()
    assert [(line.state, line.about) for line in examine() if "packs.lock" in line.text] == [(BROKEN, "packs")]


def test_nodes_and_flows_of_packs_complete_and_have_man_pages(data, pack, tmp_path):
    lines = {"pflow wor": "words", "pflow coun": "count", "pflow words --te": "--text="}
    for line, wanted in (
        lines | {"pflow run flow:co": "flow:count", "pflow run x --unconfined=": "text-tools"}
    ).items():
        assert wanted in pflow("__complete", "bash", "9", "80", " ", line).stdout, line
    assert "Count words" in pflow("help", "words").stdout
    assert "pflow count" in pflow("help", "flow:count").stdout
    pflow("setup", f"--prefix={tmp_path}/usr")
    assert (tmp_path / "usr/share/man/man1/pflow-shout.1").exists()
    (data / "packs.lock.json").write_text("{")
    assert "llm" in pflow("__complete", "bash", "9", "80", " ", "pflow ll").stdout
    assert pflow("__complete", "bash", "9", "80", " ", "pflow words --te").stderr == ""


def test_a_flow_with_the_name_of_a_new_command_is_told_of_once(data):
    write(data / "flows" / "install.pflow.json", FLOW)
    told = "pflow run flow:install now"
    assert [told in pflow("install", "--dry-run").stderr for _ in "ab"] == [True, False]
    assert pflow("save", "uninstall", "parse-json").returncode == 65
