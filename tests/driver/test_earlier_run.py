"""A run that is done again: the same flow, the same values, and the same store where its steps are pure."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.driver.earlier_run import Replay
from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.wiring import wire
from pflow.record.runs import find_run
from pflow.record.snapshot import MOST_PIPED
from pflow.stage.document import NOTHING, Document, Intake
from tests.engine.flows import write_flow
from tests.peers.warm import Warm

LOUD = '''from pflow import Node


class Loud(Node):
    """Say how loud.

    Interface:
    - Reads: shared["path"]: path = null [explicit]  # a name
    - Reads: shared["key"]: str = "none" [secret]  # who may
    - Params: token: str = "none" [secret] [env LOUD_TOKEN]  # whose it is
    - Params: level: int = 1 [env LOUD_LEVEL]  # how loud
    - Writes: shared["said"]: dict  # it
    """

    def post(self, shared, prepared, result):
        name = len(shared.get("path") or "")
        shared["said"] = {"level": self.params["level"], "token": len(self.params["token"]),
                          "key": len(shared["key"]), "name": name}
'''
ASK = '''from pflow import Node


class Ask(Node):
    """Choose a model.

    Interface:
    - Writes: shared["usage"]: dict [pipe]  # which
    - Params: model: str = null  # which
    """

    def post(self, shared, prepared, result):
        shared["usage"] = {"model": self.params["model"] or open("default").read()}
'''
OPEN = """from pocketflow import Node


class Opened(Node):
    def post(self, shared, prepared, result):
        shared["seen"] = {"params": self.params, "keys": sorted(shared)}
"""
TWO = b'{"$pflow":{"v":1,"last":"value"},"value":[1,{"a":"\xc3\xa9"}],"text":"x"}\n'


class Runs:
    """Runs in a directory of their own."""

    def __init__(self, directory: Path, warm: Warm) -> None:
        self.directory, self.warm = directory, warm
        self.directory.mkdir()
        self.variables: dict[str, str] = {}

    def pflow(self, *words, stdin: bytes | None = None, **variables: str) -> subprocess.CompletedProcess:
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        environment = {**os.environ, "HOME": str(self.directory), "PATH": path, **variables}
        return self.warm.run(["pflow", *words], cwd=self.directory, env=environment, input=stdin, text=False)

    def store(self, *words, **options) -> bytes:
        """The members of the document that a command prints."""
        ran = self.pflow(*words, "-j", **options)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.partition(b"\n")[2]

    def snapshots(self) -> list[dict]:
        """Those of all runs, oldest first."""
        places = sorted((Path(os.environ["XDG_STATE_HOME"]) / "pflow/runs").glob("*/snapshot.json"))
        return [json.loads(place.read_bytes()) for place in places]

    def error(self, *words, **options) -> tuple[int, str]:
        ran = self.pflow(*words, "-q", **options)
        return ran.returncode, ran.stderr.decode()


@pytest.fixture
def runs(nodes, tmp_path, warm):
    (nodes / "loud.py").write_text(LOUD)
    (nodes / "opened.py").write_text(OPEN)
    return Runs(tmp_path / "place", warm)


DECLARED = {
    "inputs": {"word": {"type": "str", "default": "of the flow"}, "value": {"pipe": True}, "level": {"type": "int"}},
    "nodes": [
        {"id": "t", "type": "text"},
        {"id": "e", "type": "echo"},
        {"id": "loud", "type": "loud", "params": {"level": "$level"}},
    ],
    "mappings": {"t": {"input_mappings": {"text": "word"}}},
}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["text --text='a $$5' => echo => count --by=2", "--by=3", "--n=7"], {}),
        (["text:t => count:c =done=> echo --value='n: $n'; c => t", "--enough=3", "--n=1"], {"stdin": b"a"}),
        (["echo --each --jobs=2 --with-item => text --text='${echo.echoed}'"], {"stdin": b"a\nb\n"}),
        (["echo"], {"stdin": b"\xff\x00"}),
        (["echo", "--from=json"], {"stdin": b'{"value":1.0}'}),
        (["text --text=c => echo --map-in value=value", "--text=d"], {"stdin": TWO}),
        (["fail:f =error=> text:t --text='${f.error.message}'"], {}),
        (["flow.pflow.json", "--level=4"], {"stdin": TWO}),
        (["loud => opened", "--opened.word=w", "--opened.n:=3"], {"LOUD_LEVEL": "2"}),
        (["loud", b"--path=/\xff"], {"LOUD_TOKEN": "hush"}),
    ],
)
def test_pure_steps_leave_the_same_store(runs, words, given):
    write_flow(runs.directory, "flow", DECLARED)
    first = runs.store("run", *words, **given)
    kept = {"LOUD_TOKEN": "hush"} if "LOUD_TOKEN" in given else {}
    assert runs.store("replay", "last", **{"LOUD_LEVEL": "9", **kept}) == first
    before, after = ({**each, "seal": ""} for each in runs.snapshots())
    assert {**after, "config_overrides": before["config_overrides"]} == before
    assert runs.store("replay", "last", **kept) == first


def test_a_flow_within_has_the_variables_of_the_first_run(runs, monkeypatch):
    inner = write_flow(runs.directory, "inner", {"nodes": [{"id": "in", "type": "loud"}]})
    write_flow(runs.directory, "outer", {"nodes": [{"id": "a", "type": inner}]})
    first = runs.store("run", "outer.pflow.json", LOUD_LEVEL="5")
    assert runs.store("replay", "last", LOUD_LEVEL="6") == first
    (runs.directory / "elsewhere").mkdir()
    monkeypatch.chdir(runs.directory / "elsewhere")
    assert runs.store("replay", "last") == first


def test_the_model_of_an_answer_that_was_kept_is_asked_again(runs, nodes):
    (nodes / "poll.py").write_text(ASK)
    write_flow(runs.directory, "ask", {"nodes": [{"type": "poll", "cache": True}]})
    (runs.directory / "default").write_text("one")
    first = runs.store("run", "ask.pflow.json")
    assert runs.store("run", "ask.pflow.json") == first
    assert runs.pflow("cache", "clear").returncode == 0
    (runs.directory / "default").write_text("two")
    assert runs.store("replay", "last") == first
    assert runs.store("run", "ask.pflow.json") != first


def test_a_secret_comes_from_where_it_came_and_stands_in_no_snapshot(runs):
    store = b'{"$pflow":{"v":1},"key":"hush"}\n'
    first = runs.store("run", "loud", stdin=store, LOUD_TOKEN="hushhush")
    assert runs.error("replay", "last", stdin=store) == (
        78,
        f"pflow replay: cannot replay the run '{id_of(runs)}': the secret 'token' of 'loud' is missing; "
        "LOUD_TOKEN in the environment gives it\n",
    )
    code, said = runs.error("replay", "last", LOUD_TOKEN="hushhush")
    assert (code, "its piped input was not kept, since it is a secret; pipe it again" in said) == (78, True)
    assert runs.store("replay", "last", stdin=store, LOUD_TOKEN="hushhush") == first
    assert "hush" not in json.dumps(runs.snapshots())


def test_what_is_known_by_its_digest_only_is_piped_again_and_compared(runs):
    large = b"x" * (MOST_PIPED + 1)
    first = runs.store("run", "echo", stdin=large)
    code, said = runs.error("replay", "last")
    assert (code, "its piped input was not kept, since it is larger than 10 MB" in said) == (66, True)
    code, said = runs.error("replay", "last", stdin=large + b"y")
    assert (code, "'stdin' from the pipe differs from that of the run" in said) == (65, True)
    assert runs.store("replay", "last", stdin=large) == first
    assert len(runs.snapshots()) == 2


def id_of(runs: Runs) -> str:
    return json.loads(runs.pflow("runs", "-n", "1", "--json").stdout)[0]["run"]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"{}", b'{"flow_hash":"x","config_overrides":{"a":1},"cli_injections":{}}']
)
def test_a_damaged_snapshot_is_an_error(runs, damage):
    runs.store("run", "count")
    place = next((Path(os.environ["XDG_STATE_HOME"]) / "pflow/runs").glob("*/snapshot.json"))
    place.write_bytes(damage)
    code, said = runs.error("replay", "last")
    assert (code, "its snapshot is missing or damaged" in said) == (65, True)


def test_no_byte_of_a_snapshot_makes_a_replay_fail_otherwise_than_in_words(runs, monkeypatch):
    runs.store("run", "text => echo => loud", "--text=d", "--loud.level=2", stdin=TWO)
    run = find_run()
    path, wired = Path(run.directory, "snapshot.json"), wire(parse_pipe(["text => echo => loud"]))
    data = path.read_bytes()
    monkeypatch.setattr("pflow.driver.earlier_run.take_in", lambda **_: Intake(Document(), NOTHING))
    for at, new in itertools.product(range(len(data)), b'0"'):
        path.write_bytes(data[:at] + bytes([new]) + data[at + 1 :])
        with contextlib.suppress(PflowError):
            replay = Replay(run)
            replay.inputs(wired)
            replay.intake()


def test_what_is_gone_or_another_version_is_said(runs, nodes):
    runs.store("run", "loud => count")
    (nodes / "loud.py").write_text(LOUD.replace("    def", '    version = "1.2.0"\n\n    def', 1))
    code, said = runs.error("replay", "last")
    assert (code, "warning: the version of a node, or a subflow, has changed since the run" in said) == (0, True)
    (nodes / "loud.py").unlink()
    code, said = runs.error("replay", "last")
    assert (code, "PF11" in said) == (65, True)
    runs.directory.rename(runs.directory.parent / "moved")
    runs.directory = runs.directory.parent / "moved"
    code, said = runs.error("replay", "last")
    assert (code, "cannot replay the run in" in said) == (66, True)
