"""Installed nodes: hostile ones in Python and sh can do only what they declare, and honest ones work."""

import json
import os
import socket
import subprocess
import sys

import pytest

from pflow.process.confine import has_landlock
from tests.tools import node_source, put_pack

pytestmark = pytest.mark.skipif(not has_landlock(), reason="the kernel has no Landlock")

PROBE = """
import errno, fcntl, os, socket, subprocess, tempfile

ADDRESS = ("127.0.0.1", int(os.environ["PFLOW_PORT"]))

def holds(block):
    with open(block, "rb") as file:
        assert b"TOP_SECRET" in file.read()

def forks():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)

def types():
    try:
        fcntl.ioctl(0, 0x5412, b"x")
    except OSError as error:
        assert error.errno != errno.EACCES  # only a terminal takes it

def inherit():
    fd = int(os.environ["PFLOW_FD"])
    assert not os.path.samestat(os.fstat(fd), os.stat("/dev/null"))
    os.write(fd, b"x")

DEEDS = {
    "inherited": inherit,
    "make": lambda: open("made.txt", "w"),
    "make at home": lambda: open(os.path.expanduser("~/made"), "w"),
    "truncate": lambda: os.truncate("kept.txt", 0),
    "append": lambda: open("kept.txt", "a"),
    "rename": lambda: os.rename("kept.txt", "moved.txt"),
    "remove": lambda: os.remove("kept.txt"),
    "link": lambda: os.symlink("/", "link"),
    "temporary": lambda: tempfile.TemporaryFile(),
    "execute": lambda: subprocess.run(["/bin/true"], check=True),
    "bind": lambda: socket.socket().bind(("127.0.0.1", 0)),
    "connect": lambda: socket.create_connection(ADDRESS),
    "datagram": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"", ADDRESS),
    "fast open": lambda: socket.socket().sendto(b"x", socket.MSG_FASTOPEN, ADDRESS),
    "type": types,
    "variable": lambda: os.environ["TOP_SECRET"],
    "own block": lambda: holds("/proc/self/environ"),
    "block above": lambda: holds(f"/proc/{os.getppid()}/environ"),
    "declared": lambda: os.environ["DECLARED"],
    "signal": lambda: os.kill(os.getppid(), 0),
    "chmod": lambda: os.chmod("kept.txt", 0o600),
    "fork": forks,
}

def done():
    found = []
    for name, deed in DEEDS.items():
        try:
            deed()
            found.append(name)
        except (OSError, KeyError, AssertionError):
            pass
    return found

EARLY = done()
"""
SHELL = """#!/bin/sh
# Do what may be done.
#
# Interface:
# - Writes: shared["did"]: list [pipe]
# - Effects: EFFECTS
did='"begin"'
try() { if (eval "$2") 2>/dev/null; then did="$did,\\"$1\\""; fi; }
try make 'echo x > made.txt'
try truncate ': > kept.txt'
try execute '/bin/true'
try variable '[ "$TOP_SECRET" ]'
try null ': > /dev/null'
echo "{\\"\\$pflow\\":{\\"v\\":1},\\"did\\":[$did]}"
"""
FREE = {"chmod", "declared", "fork"}
INTERNET, ALL_BUT_ENVIRONMENT = (
    {"bind", "connect", "datagram", "fast open"},
    {"make", "truncate", "execute", "null", "begin"},
)
TABLE = {
    "none": FREE,
    "reads files": FREE,
    "network": FREE | INTERNET,
    "runs commands": FREE | {"execute", "signal"},
    "writes files": FREE | {"temporary"},
    "network, runs commands, writes files": FREE | INTERNET | {"execute", "signal", "temporary"},
}
FLOW = {
    "nodes": [{"id": "a", "type": "probe"}, {"id": "b", "type": "probe"}, {"id": "c", "type": "probe"}],
    "edges": [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}],
    "mappings": {id: {"output_mappings": {"did": f"{id}.did"}} for id in "bc"},
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A fresh installation, in a directory with a file, and with a secret in the environment."""
    for name in ("DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOP_SECRET", "xyzzy")
    monkeypatch.setenv("DECLARED", "known")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work" / "kept.txt").write_text("kept")
    with socket.create_server(("127.0.0.1", 0)) as server, open("kept.txt", "a") as kept:
        monkeypatch.setenv("PFLOW_PORT", str(server.getsockname()[1]))
        monkeypatch.setenv("PFLOW_FD", str(kept.fileno()))
        yield tmp_path


def install(place, **files):
    put_pack(place / "data" / "pflow", "stranger", {f"nodes/{name}": text for name, text in files.items()})


def probe(place, effects):
    act, env = "return sorted({*EARLY, *done()})", 'Params: token: str = "" [env DECLARED]'
    install(place, **{"probe.py": node_source("Probe", act, effects=effects, head=PROBE, more=env)})


def pflow(*words, stdin=""):
    return python("-m", "pflow", *words, stdin=stdin)


def python(*words, stdin=""):
    fds = [int(os.environ["PFLOW_FD"])]
    return subprocess.run([sys.executable, *words], input=stdin, capture_output=True, text=True, pass_fds=fds)


def did(*words, **about):
    """Return what the probes that ran could do, if it was the same for all."""
    ended = pflow(*words, **about)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    found = found if isinstance(found[0], list) else [found]
    assert all(each == found[0] for each in found)
    # CAP_PERFMON lets root read the environment of every process.
    return {*found[0]} - ({"block above"} if os.geteuid() == 0 else set())


@pytest.mark.parametrize("effects", TABLE)
def test_a_stage_and_a_step_do_no_more_than_they_declare(place, effects):
    probe(place, effects)
    assert did("probe", "-n", "-r") == TABLE[effects]
    assert did("run", "probe", "-n", "-r") == TABLE[effects]
    assert os.listdir(place / "work") == ["kept.txt"]
    assert (place / "work" / "kept.txt").read_text() == "kept"


def test_neither_do_items_branches_subflows_and_what_is_cached(place):
    probe(place, "none")
    (place / "work" / "fork.pflow.json").write_text(json.dumps(FLOW))
    (place / "work" / "outer.pflow.json").write_text('{"nodes": [{"id": "in", "type": "./fork.pflow.json"}]}')
    assert did("run", "probe --each --jobs=2", "-r", "--from=json", stdin='["a", "b", "c"]') == FREE
    assert did("run", "probe --each", "-r", "--from=json", stdin='["a", "b"]') == FREE
    ended = pflow("map", "probe", "-", "-r", stdin="a\nb\n")
    assert [{*json.loads(line)} - {"block above"} for line in ended.stdout.splitlines()] == [FREE, FREE]
    store = json.loads(pflow("run", "outer.pflow.json", "-n", "--json").stdout)
    in_fork = [store["did"], store["b"]["did"], store["c"]["did"]] if "did" in store else store
    assert [{*each} - {"block above"} for each in in_fork] == [FREE] * 3
    for more in ("--cache", "--refresh", "--isolate"):
        assert did("run", "probe", "-n", "-r", more) == FREE
    assert did("probe", "-n", "-r", "--cache") == FREE
    hit = pflow("probe", "-n", "-r", "--cache", "-v")
    assert "cache: hit" in hit.stderr
    script = "import pflow; print(__import__('json').dumps(pflow.run('probe')['did']))"
    ended = python("-c", script)
    assert {*json.loads(ended.stdout)} - {"block above"} == FREE
    assert os.listdir(place / "work").count("made.txt") == 0


@pytest.mark.parametrize(
    ("effects", "may"),
    [
        ("none", {"begin", "null"}),
        ("runs commands", {"begin", "null", "execute"}),
        ("anything", ALL_BUT_ENVIRONMENT),
    ],
)
def test_a_program_does_no_more_either(place, effects, may):
    install(place, **{"pflow-probe": SHELL.replace("EFFECTS", effects)})
    assert did("probe", "-n", "-r") == may
    assert did("run", "probe", "-n", "-r") == may


def test_a_node_without_an_interface_may_do_nothing_and_its_interpreter_is_found_by_env(place):
    text = "#!/usr/bin/env python3\nprint('{\"$pflow\":{\"v\":1},\"n\":7}')\nopen('made.txt', 'w')\n"
    install(place, **{"pflow-bare": text})
    ended = pflow("run", "bare", "-n")
    assert "Permission denied: 'made.txt'" in ended.stderr
    assert "--unconfined=bare" in ended.stderr


def test_a_person_sets_a_node_or_a_pack_free_and_no_flow_does(place, monkeypatch):
    probe(place, "none")
    assert did("probe", "-n", "-r", "--unconfined=another") == FREE
    assert "no installed node or pack has that name" in pflow("run", "probe", "-n", "--unconfined=another").stderr
    assert pflow("run", "probe --unconfined=probe => probe", "-n").returncode == 2
    for words in (["probe"], ["run", "probe"], ["map", "probe", "-"]):
        for name in ("probe", "stranger"):
            ended = pflow(*words, "-r", f"--unconfined={name}", stdin="a\n")
            assert '"execute"' in ended.stdout, ended.stderr
    script = "import pflow; print(pflow.run('probe')['did'])"
    monkeypatch.setenv("PFLOW_UNCONFINED", "probe")
    ended = python("-c", script)
    assert "'execute'" in ended.stdout


WRITE = """
Path(self.params["path"]).write_text("written")
try:
    Path(self.params["other"]).write_text("x")
except PermissionError as error:
    return str(error)
return "written"
"""
PATHS = 'Params: path: path = "default.txt"\nParams: other: str = "kept.txt"'
WRITER = node_source("Writer", WRITE, effects="writes files", head="from pathlib import Path", more=PATHS)


@pytest.mark.parametrize("words", [["writer"], ["run", "writer"]])
def test_a_node_writes_beneath_the_directories_that_it_was_given_and_nowhere_else(place, words):
    install(place, **{"writer.py": WRITER})
    for path in ("out/a.txt", "out/a.txt", "new/below/b.txt"):
        assert "Permission denied" in pflow(*words, f"--path={path}", "-n", "-r").stdout
        assert (place / "work" / path).read_text() == "written"
    assert pflow(*words, "--path=out/c.txt", "--other=out/d.txt", "-n", "-r").stdout == "written\n"
    ended = pflow(*words, "-n")  # a default allows no directory: only a path that somebody gave does
    assert ended.returncode == 77
    assert "give it a directory of its own, or --unconfined=writer" in ended.stderr
    own = place / "data" / "pflow" / "nodes"
    own.mkdir()
    for path in (own / "evil.py", place / "data" / "x"):  # a directory that holds pflow's own gets no new entry
        assert pflow(*words, f"--path={path}", "-n").returncode == 77
    assert (place / "work" / "kept.txt").read_text() == "kept"


LIVELY = '''
import asyncio, helper, pocketflow

class Lively(pocketflow.AsyncNode):
    """Fail twice.

    Interface:
    - Reads: shared["text"]: str = "" [pipe]
    - Writes: shared["told"]: str [pipe]
    - Actions: default, left
    """

    async def exec_async(self, _):
        await asyncio.sleep(0)
        helper.tries.append(1)
        if len(helper.tries) < 3:
            raise ValueError("not yet")
        self.warning = "beware"
        return f"{len(helper.tries)} tries"

    async def post_async(self, shared, prepared, told):
        shared["told"] = told
        return "left"
'''


def test_tries_actions_warnings_and_modules_beside_it_are_as_in_a_node_of_ones_own(place):
    install(place, **{"lively.py": LIVELY, "helper.py": "tries = []\n"})
    for words in (["lively"], ["run", "lively"]):
        store = json.loads(pflow(*words, "-n", "--json", "--retries=2", "--wait=0").stdout)
        assert store["told"] == "3 tries"
        [step] = store["$pflow"]["steps"]
        assert words[0] == "run" or (step["action"], step["warning"]) == ("left", "beware")
    ended = pflow("run", "lively", "-n", "--retries=1", "--wait=0")
    assert "not yet" in ended.stderr


def test_bytes_that_changed_do_not_run(place):
    install(place, **{"lively.py": LIVELY, "helper.py": "tries = []\n"})
    [helper] = (place / "data" / "pflow" / "packs").glob("*/*/nodes/helper.py")
    helper.write_text("open('made.txt', 'w')\n")
    for words in (["lively"], ["run", "lively"]):
        ended = pflow(*words, "-n", "--unconfined=lively")
        assert ended.returncode == 78
        assert "has changed since it was installed" in ended.stderr
    assert not (place / "work" / "made.txt").exists()


FORGER = """
import os, pickle

class Harm:
    def __reduce__(self):
        return os.mkdir, ("made",)

RESULT = dict.fromkeys(("changes", "reads", "more"), {}) | dict.fromkeys(("removed", "asked", "dropped", "spent"), ())
RESULT |= {"action": None, "failure": None, "warning": "", "not_kept": ""}
FAILURE = {"message": "x", "hint": "", "retry_after": None, "is_permanent": False, "details": {}, "is_cut": False}
FAILURE |= {"refusal": "", "status": None, "ends_run": False}

def send(fd, message):
    data = pickle.dumps(message)
    os.write(fd, len(data).to_bytes(8, "big") + data)
"""
FORGE = """
for fd in map(int, os.listdir("/proc/self/fd")):
    try:
        if fd > 2 and os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
            SEND(fd)
    except OSError:
        pass
return "done"
"""
SENT = {
    "a pickle with a call": 'send(fd, ("result", 1, Harm()))',
    "a record": 'send(fd, ("asked", 99, ("keep", {"end": "after@1", "changes": [[["told"], "forged"]]})))',
    "two results": '[send(fd, ("result", 1, {})) for _ in "ab"]',
    "a result with odd members": 'send(fd, ("result", 1, RESULT | {"more": {"node": {1}, "tries": {2}}}))',
    "an odd failure": 'send(fd, ("result", 1, RESULT | {"failure": FAILURE | {"usage": 5, "exit": 0}}))',
    "no message": 'os.write(fd, b"x" * 100)',
    "a large one": "os.write(fd, (1 << 62).to_bytes(8, 'big'))",
}


@pytest.mark.parametrize("what", SENT)
def test_a_step_cannot_harm_its_run_by_what_it_sends(place, what):
    install(place, **{"forger.py": node_source("Forger", FORGE.replace("SEND(fd)", SENT[what]), head=FORGER)})
    steps = {"forger": "forger", "stop": "shell", "after": "shell"}
    nodes = [{"id": id, "type": type} for id, type in steps.items()]
    for node in nodes[1:]:
        node["params"] = {"command": "test -e go && echo ran"}
    (place / "work" / "f.pflow.json").write_text(json.dumps({"nodes": nodes}))
    ended = pflow("run", "f.pflow.json", "-n")
    assert not (place / "work" / "made").exists()
    assert "a bug in pflow" not in ended.stderr
    if what == "a record":
        (place / "work" / "go").touch()
        assert "forged" not in pflow("resume", "last", "--json").stdout
