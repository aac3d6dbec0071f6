"""A kept answer is used exactly when it should be: by a stage with --cache, by a pure step of a run unasked."""

import json
import os
import shutil
from pathlib import Path

import pytest

from pflow.cache.policy import CachePolicy
from pflow.catalog.find import forget_types
from pflow.stage.document import take_in
from tests.engine.flows import run as run_flow
from tests.nodes.child import in_child
from tests.stage.running import run

CALC = '''
"""A node and what it needs."""
import os

from helper import ending
from pflow import Node, flow_safe

FACTOR = 2  # times


@flow_safe
class Calc(Node):
    """Put two texts together.

    Interface:
    - Reads: shared["a"]: any = "x" [pipe]  # one
    - Reads: shared["b"]: any = "y"  # another
    - Reads: shared["token"]: str = null [secret]  # a key
    - Reads: shared["file"]: path = null  # a file
    - Writes: shared["c"]: any [pipe]  # both
    - Writes: shared["d"]: any  # more
    - Params: how: any = "plain"  # in which way
    - Actions: default, error, left
    """

    def exec(self, prepared):
        with open(os.environ["RAN"], "a") as log:
            log.write("ran\\n")
        if self.params["how"] == "slow":
            import time
            time.sleep(5)
        if self.params["how"] == "flaky" and self.cur_retry == 0:
            raise ValueError("not yet")

    def post(self, shared, prepared, result):
        how = self.params["how"]
        if how == "fail":
            raise ValueError("no")
        if how == "peek":
            shared["undeclared"]
        if how == "doubt":
            shared.get("undeclared", "nothing")
        if how == "all":
            list(shared)
        if how == "cut":
            self.not_kept = "it was cut"
        if how == "edit":
            with open(os.environ["CODE"], "a") as file:
                file.write("MORE = 1\\n")
        if how == "touch":
            with open(os.environ["RAN"] + ".txt", "a") as file:
                file.write("more")
        shared["c"] = {"bytes": b"\\xff", "told": shared.get("token")}.get(how, f"{shared['a']}{shared['b']}" * FACTOR)
        shared["c"] = shared["c"] + ending() if isinstance(shared["c"], str) else shared["c"]
        if how == "remove":
            del shared["b"]
        return {"error": "error", "left": "left"}.get(how)
'''


class Project:
    """The node's project, and how often the node ran."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.file = self.folder / "calc.py"
        self.helper = self.folder / "helper.py"
        self.file.write_text(CALC)
        self.helper.write_text("def ending():  # of a text\n    return '.'\n")
        self.log = folder / "ran"

    @property
    def times(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def stage(self, *words: str, stdin: bytes | None = None):
        os.environ["PYTHONPATH"] = str(self.folder)
        return run(str(self.file), [*words] if stdin else ["-n", *words], stdin, "calc")

    def verdict(self, *words: str, stdin: bytes | None = None) -> str:
        ended = self.stage("--cache", *words, stdin=stdin)
        assert ended.code == 0, ended.err
        return ended.header["steps"][-1]["cache"]["verdict"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("RAN", str(tmp_path / "ran"))
    monkeypatch.syspath_prepend(str(tmp_path / "project"))
    return Project(tmp_path)


def test_where_a_value_comes_from_and_where_all_this_is_does_not_count(project, monkeypatch):
    assert project.verdict("--a=p") == "miss"
    store = b'{"$pflow":{"v":1},"other":"p"}'
    assert project.verdict("--map-in=a=other", "--id=first", stdin=store) == "hit"
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    moved = project.folder.with_name("elsewhere")
    shutil.copytree(project.folder, moved)
    project.file = moved / "calc.py"
    assert project.verdict("--a=p", "--retries=2", "--timeout=60") == "hit"


def test_what_was_kept_is_as_if_the_node_had_run(project):
    store = b'{"$pflow":{"v":1},"b":"q","z":5}'
    for words in (["--how=bytes"], ["--how=left"], ["--how=remove", "--a=p"], ["--a:={}"]):
        first, second = (project.stage("--cache", *words, stdin=store) for _ in range(2))
        assert (first.store, first.header["last"]) == (second.store, second.header["last"])
        assert first.header["steps"][-1].get("action") == second.header["steps"][-1].get("action")
        assert second.header["steps"][-1]["cache"] == {"verdict": "hit"}
    assert project.stage("--cache", "-r").out == project.stage("--cache", "-r").out == b"xyxy.\n"
    assert project.stage("--cache", "-r", "--stream").out == b"xyxy.\n"


def test_a_failure_is_never_kept_and_a_success_on_the_second_try_is(project):
    for words, code in (
        (["--how=fail"], 1),
        (["--how=slow", "--timeout=0.05"], 124),
        (["--how=error"], 0),
        (["--how=cut"], 0),
    ):
        assert [project.stage("--cache", *words).code for _ in range(2)] == [code, code]
    assert project.times == 8
    assert project.verdict("--how=flaky", "--retries=1", "--wait=0") == "miss"
    assert project.verdict("--how=flaky") == "hit"
    project.stage("--cache", "--dry-run", "--a=dry")
    assert project.verdict("--a=dry") == "miss"


def test_what_depends_on_more_than_its_key_is_not_kept_and_says_so(project, tmp_path):
    store = b'{"$pflow":{"v":1},"undeclared":1}'
    ended = [project.stage("--cache", "--how=peek", stdin=store) for _ in range(2)][1]
    assert ended.header["steps"][-1]["cache"]["verdict"] == "miss"
    assert "is not kept: it looked at 'undeclared', which its interface does not name" in ended.err
    assert [project.verdict("--how=doubt", stdin=stdin) for stdin in (b"", store)] == ["miss", "miss"]
    assert "is not kept: it looked at all keys" in project.stage("--cache", "--how=all").err
    (tmp_path / "ran.txt").write_text("one")
    ended = project.stage("--cache", "--how=touch", f"--file={tmp_path / 'ran.txt'}")
    assert "is not kept: a file that it reads changed while it ran" in ended.err


def test_a_secret_counts_and_stands_nowhere(project, tmp_path):
    def verdict(token, how="plain"):
        store = json.dumps({"$pflow": {"v": 1}, "token": token}).encode()
        return project.verdict(f"--how={how}", stdin=store)

    assert [verdict("canary-1"), verdict("canary-1"), verdict("canary-2")] == ["miss", "hit", "miss"]
    assert [verdict("canary-3", "told"), verdict("canary-3", "told")] == ["miss", "miss"]
    kept = [file.read_bytes() for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert kept
    assert not any(b"canary" in data for data in kept)


def test_refresh_replaces_require_fails_and_the_environment_turns_it_off(project, monkeypatch):
    ended = project.stage("--cache=require")
    assert (ended.code, project.times) == (66, 0)
    assert "cannot find a kept answer of 'calc': the cache has none; --cache runs the node" in ended.err
    assert project.verdict("--a=p") == "miss"
    assert project.stage("--cache=require", "--a=p").code == 0
    assert "a kept answer of 'calc': a: changed; --cache" in project.stage("--cache=require", "--a=q").err
    assert (project.stage("--refresh", "--a=p").code, project.times) == (0, 2)
    monkeypatch.setenv("PFLOW_CACHE", "off")
    ended = project.stage("--cache=require", "--a=p")
    assert (ended.code, project.times) == (78, 2)
    assert "cannot take a kept answer of 'calc': PFLOW_CACHE turns the cache off" in ended.err
    assert "cache" not in project.stage("--cache").header["steps"][-1]
    assert project.times == 3


def test_code_that_changes_while_a_stage_waits_for_its_input_is_not_taken_for_what_runs(project, monkeypatch):
    def edit_and_take_in(*words, **options):
        project.file.write_text(CALC.replace("FACTOR = 2", "FACTOR = 10"))
        return take_in(*words, **options)

    with monkeypatch.context() as patched:
        patched.setattr("pflow.stage.document.take_in", edit_and_take_in)
        assert project.stage("--cache", "-r").out == b"xyxy.\n"
    assert project.stage("--cache", "-r").out == b"xy" * 10 + b".\n"


def test_what_ran_while_its_code_changed_is_not_kept(project, monkeypatch):
    """What a node imports when it runs may be newer than the code of its key."""
    monkeypatch.setenv("CODE", str(project.helper))
    assert "is not kept: its code changed while it ran" in project.stage("--cache", "--how=edit").err


def test_without_a_flag_a_stage_is_never_cached(project):
    assert "cache" not in [project.stage() for _ in range(2)][1].header["steps"][-1]
    assert project.times == 2


@pytest.mark.parametrize(
    ("name", "words", "why"),
    [
        ("list-files", ["*.txt"], "cannot digest what it reads from 'directory'"),
        ("write-file", ["a", "--content=x"], "it writes files"),
        ("llm", ["hi", "--model=m", "--continue"], "it depends on earlier ones"),
        ("llm", ["hi", "--model=m", "-ahttp://127.0.0.1:1/a.png"], "its content may change"),
    ],
)
def test_what_cannot_be_cached_is_refused(project, name, words, why):
    ended = run(None, ["-n", "--cache", *words], name=name)
    assert ended.code == 78
    assert why in ended.err


@pytest.fixture
def flow(project, monkeypatch):
    monkeypatch.setenv("PFLOW_NODES", str(project.folder))
    forget_types()
    yield project
    forget_types()


def chain(*steps, **members):
    return {"nodes": list(steps), **members}


def verdicts(ran):
    assert ran.error is None, ran.error
    return [(cache or {}).get("verdict") for cache in ran.ends("cache")]


CALC_STEP = {"id": "one", "type": "calc", "inputs": {"a": "p"}}


def test_pure_steps_of_a_run_are_cached_unasked(flow):
    ir = chain(CALC_STEP, {"id": "two", "type": "calc", "inputs": {"a": "q"}})
    first, second = (run_flow(ir, cache=CachePolicy()) for _ in range(2))
    assert (verdicts(first), verdicts(second), flow.times) == (["miss", "miss"], ["hit", "hit"], 2)
    assert first.store == second.store
    assert verdicts(run_flow(ir)) == [None, None]  # python's Flow.run
    assert verdicts(run_flow(ir, cache=CachePolicy(False))) == [None, None]
    assert verdicts(run_flow(ir, cache=CachePolicy(refresh="two"))) == ["hit", "miss"]
    assert verdicts(run_flow(ir, cache=CachePolicy(refresh=True))) == ["miss", "miss"]


def test_a_refresh_makes_an_answer_anew_once_in_a_run(flow):
    ir = chain(CALC_STEP, {**CALC_STEP, "id": "two"})
    wanted = {"1": ["miss", "hit"], "2": ["miss", "hit"], "": ["miss", "miss"]}
    for run_id, found in wanted.items():
        assert verdicts(run_flow(ir, cache=CachePolicy(True, refresh=True), run_id=run_id)) == found


def test_a_run_goes_on_without_a_cache_that_cannot_be_used_and_says_so(flow, tmp_path):
    in_child(lambda: run_flow(chain(CALC_STEP), cache=CachePolicy()))  # this process has not looked at the cache yet
    (tmp_path / "cache" / "pflow" / "results").chmod(0o777)
    ran = run_flow(chain(CALC_STEP, {**CALC_STEP, "id": "two"}), cache=CachePolicy())
    assert verdicts(ran) == ["off", "off"]
    (warning,) = ran.warnings
    assert "'calc' is not cached: cannot use the cache in" in warning
    assert "others may write to it" in warning


def test_a_flow_says_it_of_each_step_and_a_run_of_all(flow, tmp_path):
    (tmp_path / "n.txt").write_text("hi")
    read = {"id": "read", "type": "read-file", "inputs": {"path": str(tmp_path / "n.txt")}}
    keep = {"id": "keep", "type": "write-file", "inputs": {"path": str(tmp_path / "o.txt"), "content": "x"}}
    assert verdicts(run_flow(chain({**CALC_STEP, "cache": False}, read), cache=CachePolicy())) == [None, None]
    assert verdicts(run_flow(chain(CALC_STEP, {**read, "cache": True}), cache=CachePolicy())) == ["miss", "miss"]
    assert verdicts(run_flow(chain(CALC_STEP, read, keep), cache=CachePolicy(True))) == ["hit", "hit", "off"]
    assert verdicts(run_flow(chain(CALC_STEP, read, keep), cache=CachePolicy("require"))) == ["hit", "hit", "off"]
    refused = run_flow(chain(CALC_STEP, {**keep, "cache": True}), cache=CachePolicy())
    assert (refused.error.exit, refused.events) == (78, [])
    missing = run_flow(chain({**CALC_STEP, "cache": "require", "inputs": {"a": "new"}}), cache=CachePolicy())
    assert (missing.error.exit, missing.error.step) == (66, "one")


def test_a_required_answer_is_never_made(flow, tmp_path, monkeypatch):
    (tmp_path / "n.txt").write_text("hi")
    keep = {"id": "keep", "type": "write-file", "inputs": {"path": str(tmp_path / "o.txt"), "content": "x"}}
    run_flow(chain(CALC_STEP), cache=CachePolicy())
    ask = {"id": "ask", "type": "llm", "inputs": {"prompt": "hi"}, "params": {"continue": True, "model": "m"}}
    assert "depends on earlier ones" in run_flow(chain(ask), cache=CachePolicy("require")).error.message
    monkeypatch.setenv("PFLOW_CACHE", "off")
    each = {**CALC_STEP, "batch": {"over": "items", "as": "a", "jobs": 2}, "inputs": {}}
    for step, mode in ((CALC_STEP, "require"), ({**CALC_STEP, "cache": "require"}, None), (each, "require")):
        refused = run_flow(chain(step, keep, inputs={"items": {"default": ["p"]}}), cache=CachePolicy(mode))
        assert (refused.error.exit, refused.error.step, refused.events) == (78, "one", [])
    assert flow.times == 1
    off = run_flow(chain({**CALC_STEP, "cache": False}, {**CALC_STEP, "id": "two"}, keep), cache=CachePolicy(True))
    assert (verdicts(off), flow.times) == ([None, None, None], 3)
    assert run_flow(chain({**CALC_STEP, "cache": False}, keep), cache=CachePolicy("require")).error is None


@pytest.mark.parametrize("jobs", [None, 2])
def test_each_item_of_a_batch_is_kept_by_itself(flow, jobs):
    batch = {"over": "items", "as": "a", **({"jobs": jobs} if jobs else {})}
    ir = chain({"id": "each", "type": "calc", "batch": batch}, inputs={"items": {"type": "list"}})
    assert run_flow(ir, {"items": ["p", "q"]}, cache=CachePolicy()).ends("items") == [{"done": 2, "failed": 0}]
    second = run_flow(ir, {"items": ["q", "r", "p"]}, cache=CachePolicy())
    assert second.ends("items") == [{"done": 3, "failed": 0, "cached": 2}]
    assert second.store["c"] == ["qyqy.", "ryry.", "pypy."]
    assert flow.times == 3


def test_what_was_spent_once_is_not_spent_again(flow):
    flow.file.write_text(
        CALC.replace('shared["c"]: any [pipe]', 'shared["usage"]: any [pipe]')
        .replace(
            '        return {"error"',
            '        shared["usage"] = {"model": "m", "input": 3, "cost": 0.5}\n        return {"error"',
        )
        .replace('        shared["c"] = shared["c"] + ending() if isinstance(shared["c"], str) else shared["c"]\n', "")
        .replace('        shared["c"] = {', "        {")
    )
    costs = [run_flow(chain(CALC_STEP), cache=CachePolicy()).ends("cost") for _ in range(2)]
    assert costs == [[0.5], [None]]


@pytest.mark.parametrize(
    ("mode", "said", "inside"),
    [
        (None, None, None),
        (True, None, True),
        ("require", None, "require"),
        (None, True, True),
        (True, True, True),
        (None, "require", "require"),
        (False, True, True),
        ("require", True, "require"),
        ("require", False, False),
    ],
)
def test_what_a_step_says_holds_inside_its_flow_unless_the_run_requires_more(mode, said, inside):
    policy = CachePolicy(mode, "x").inside(said)
    assert (policy.mode, policy.refresh) == (inside, "x")
