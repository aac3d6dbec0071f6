"""Hostile plans under --yes: whatever their links, moves, FIFOs and races, nothing outside is read or written."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from base64 import b64encode
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from pflow.catalog.registry import names_in
from pflow.commands._run_sentence import run_planned
from pflow.driver.budget import Budget
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.node import declared_interface, load_bundled
from pflow.plan.gate import Allowed, Gate
from pflow.plan.proposal import Proposal
from pflow.process import confine
from pflow.process.confine import has_landlock
from pflow.stage.document import NOTHING, Document, Intake

HOW_MANY, SEED = 200, 24
MARK = "outside-secret"
CONTENT = f"%PDF-1.4\n{MARK}\n%%EOF\n"
SCHEMA = json.dumps({"type": "object", "description": MARK})


def step(id, type, params=None, **inputs):
    return {"id": id, "type": type, "inputs": inputs, "params": params or {}}


def move(path, destination):
    return step(
        "to-" + destination.translate({ord("/"): "-", ord("."): "-"}), "move-file", path=path, destination=destination
    )


ROUTES = {
    "beside": ([], "../out/f", "../out"),
    "link": ([], "file", "folder"),
    "hidden": ([], ".env", ".private"),
    "moved link": ([move("sub/file", "new"), move("sub/folder", "nd")], "new", "nd"),
    "through a moved link": ([move("sub/folder", "nd")], "nd/f", "nd/in"),
    "link moved over a file": ([move("sub/file", "a.txt"), move("sub/folder", "b.txt")], "a.txt", "b.txt"),
    "moved twice": ([move("sub/deep/file", "sub/m"), move("sub/m", "new")], "new", "new"),
    "moved to hidden": ([move("sub/deep/env", "sub/e"), move("sub/deep/private", "sub/p")], "sub/e", "sub/p"),
    "moved, then led out": (
        [move("sub/later", "new"), step("later", "write-file", path="later/x", content="x")], "new", "new",
    ),
    "a moved link to a FIFO": ([move("sub/pipe", "p")], "p", "p"),
    "made meanwhile": ([], "made", "made-folder"),
    "through one made meanwhile": ([], "made-folder/f", "made-folder/in"),
    "a FIFO made meanwhile": ([], "made-pipe", "made-pipe"),
    "swapped meanwhile": ([], "d/f", "d/in"),
}  # fmt: skip
"""Steps that go before, and a path that leads out to a file, and to a directory."""

MEANWHILE = {"made": "../out/f", "made-folder": "../out", "made-pipe": "../out/pipe"}
"""Links that are made between the gate and the run."""

LINKS = {
    "file": "../out/f",
    "folder": "../out",
    "out-of-here": "../out",
    "sub/file": "../out/f",
    "sub/folder": "../out",
    "sub/later": "later/../../out/f",
    "sub/pipe": "../out/pipe",
    "sub/deep/file": "../out/f",
    "sub/deep/env": "../.env",
    "sub/deep/private": "../.private",
}

OTHERS = {
    "copy-file": {"path": "a.txt", "destination": "copy.txt"},
    "move-file": {"path": "b.txt", "destination": "moved.txt"},
    "write-file": {"content": "x"},
    "save-csv": {"rows": [{"a": 1}]},
    "save-results": {"results": "x"},
    "export-dashboard": {"report": "x"},
    "list-files": {"pattern": "**", "directory": "."},
    "llm": {"prompt": "What?"},
    "claude-code": {"prompt": "Look"},
    "git-checkout": {"branch": "main"},
    "git-commit": {"message": "x"},
    "git-tag": {"name": "v1"},
}
FOLDERS = {"directory", "repo", "pattern"}


def slots():
    """Each place of a node with an effect that names a file, with the params it is tried with."""
    found = []
    for name in sorted(names_in("nodes")):
        interface = declared_interface(load_bundled(name))
        keys = [key for key, item in {**interface.reads, **interface.params}.items() if item.type.is_path]
        found += [(name, key, {}) for key in keys if interface.effects]
    more = {"write-file": [{"append": True}, {"overwrite": False}], "list-files": [{"kind": "all"}]}
    found += [(name, key, params) for name, key, _ in found for params in more.get(name, ())]
    return [*found, ("llm", "schema", {})]


def hostile(slot, route):
    """The flow that takes a slot by a route."""
    name, key, params = slot
    before, file, folder = ROUTES[route]
    path = (folder if key in FOLDERS else file) + "/*" * (key == "pattern")
    item = declared_interface(load_bundled(name))
    params = {**params, **({"model": "see"} if name == "llm" else {})}
    target = item.reads.get(key) or item.params.get(key)
    value = [path] if target.type.name == "list" else path
    inputs = {**OTHERS.get(name, {}), **({key: value} if key in item.reads else {})}
    steps = [*before, step("act", name, params | ({key: value} if key in item.params else {}), **inputs)]
    edges = [{"from": one["id"], "to": other["id"]} for one, other in pairwise(steps)]
    return load_text(json.dumps({"nodes": steps, "edges": edges}), "plan", FlowCatalog("."))


def make_tree(top, secret):
    for folder in ("here/sub/deep", "here/d", "here/.private/in", "out/in"):
        (top / folder).mkdir(parents=True)
    for name in ("here/.env", "here/.private/f", "out/f", "out/in/f", f"out/{MARK}.txt", f"out/in/{MARK}"):
        (top / name).write_text(secret)
    for name in ("a.txt", "b.txt", "d/f"):
        (top / "here" / name).write_text("inside")
    for name, target in LINKS.items():
        (top / "here" / name).symlink_to(target)
    for folder in ("here", "out"):
        shutil.copytree(top.parent / "git", top / folder / ".git")
    os.mkfifo(top / "out" / "pipe")


def state_of(*places):
    paths = [path for place in places for path in (place, *place.rglob("*")) if ".git" not in path.parts]
    return {str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in paths}


def in_child(work):
    pid = os.fork()
    if pid:
        return pid
    try:
        os._exit(work() or 0)
    finally:
        os._exit(70)


def swap_for_long():
    for _ in range(2000):
        for one, other in (("d", "aside"), ("out-of-here", "d"), ("aside", "out-of-here")):
            with suppress(OSError):  # the plan makes d anew in between
                os.rename(one, other)


def attempt(flow, top, *, swaps):
    """Run a plan as --yes does, if it is let; return its exit code, and what it said."""
    proposal = Proposal(flow.usable(), ["--timeout=60"])
    names = {each.type for each in flow.steps}
    leave = ["commands", "./.git"] if any(name.startswith(("git-", "claude", "shell")) for name in names) else []
    allowed = Allowed(leave)
    if [each for each in proposal.findings if not each.is_warning]:
        return "flawed", ""
    if Gate(proposal.wired, proposal.values, allowed, has_stdin=False).refusals():
        return "refused", ""
    said = top / "said"

    def run():
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        return run_planned(proposal, Intake(Document(), NOTHING), allowed, Budget({}))

    for name, target in MEANWHILE.items():
        os.symlink(target, name)
    swapper = in_child(swap_for_long) if swaps and not leave else 0  # commands that are allowed may read anywhere
    code = os.waitstatus_to_exitcode(os.waitpid(in_child(run), 0)[1])
    if swapper:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    return code, said.read_text()


@pytest.fixture
def asked(server, tmp_path, monkeypatch):
    """Return a function that reads the requests so far; the llm library is loaded once for all plans."""
    from pflow.models import ask, choose  # noqa: F401

    for name in ("DATA", "STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    subprocess.run(["git", "init", "-q", "--template=", tmp_path / "repo"], check=True)
    (tmp_path / "repo" / ".git").rename(tmp_path / "git")
    requests = tmp_path / "requests.jsonl"
    requests.touch()
    return requests.read_text


def test_no_hostile_plan_gets_out(asked, tmp_path, monkeypatch):
    chosen = random.Random(SEED).sample([(slot, route) for slot in slots() for route in ROUTES], HOW_MANY)
    codes = []
    for number, (slot, route) in enumerate(chosen):
        top = tmp_path / str(number)
        make_tree(top, secret := SCHEMA if slot[1] == "schema" else CONTENT)
        monkeypatch.chdir(top / "here")
        monkeypatch.setattr(confine, "has_landlock", [has_landlock, lambda: False][number % 2])
        pipe = os.open(top / "out" / "pipe", os.O_RDWR | os.O_NONBLOCK)
        outside = [top / "out", top / "here" / ".env", top / "here" / ".private"]
        before = state_of(*outside)
        code, said = attempt(hostile(slot, route), top, swaps=route.startswith("swapped"))
        codes.append(code)
        assert state_of(*outside) == before, (slot, route, code, said)
        with pytest.raises(BlockingIOError):
            os.read(pipe, 1)
        os.close(pipe)
        inside = [path for path in Path().rglob("*") if path.is_file() and not path.is_symlink()]
        kept = [path.read_text() for path in inside if not any(part[0] == "." for part in path.parts)]
        for text in (said, *kept, asked()):
            assert MARK not in text, (slot, route, code, said)
            assert b64encode(secret.encode()).decode()[:60] not in text, (slot, route, code, said)
    assert codes.count(77) > HOW_MANY / 4, codes  # what the gate lets by is what is tried
    assert "refused" in codes
    assert not {"flawed", 70, 124} & {*codes}


COMMAND = """for at in ../out/f ../out/new made made-folder/new made-pipe; do echo x >$at; done
ln ../out/f hard && echo x >>hard; rm ../out/f; mv ../out/f f; mkdir ../out/d; cp ../out/in/f ../out/f
truncate -s 0 ../out/f; sh -c 'echo x >../out/f'; git init -q ../out/g; echo x >made.$(cat)
echo x >/dev/null && echo x >"$(mktemp)" && echo x >/dev/stderr && echo whole"""


@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")
def test_commands_write_nothing_outside_either(asked, tmp_path, monkeypatch):
    make_tree(tmp_path / "top", CONTENT)
    monkeypatch.chdir(tmp_path / "top" / "here")
    outside = tmp_path / "top" / "out"
    steps = [step("which", "list-files", pattern="?.txt"), step("act", "shell", command=COMMAND)]
    steps[1] |= {"batch": {"over": "files", "as": "input"}}
    flow = {"nodes": steps, "edges": [{"from": "which", "to": "act"}]}
    before = state_of(outside)
    code, said = attempt(load_text(json.dumps(flow), "plan", FlowCatalog(".")), tmp_path / "top", swaps=False)
    assert state_of(outside) == before, said
    assert (code, said.count('"whole')) == (0, 2), said
    assert len(list(Path().glob("made.?.txt"))) == 2
