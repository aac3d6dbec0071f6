"""A run that is killed anywhere goes on from its journal: the same store, nothing done twice, nothing left out."""

import errno
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from pflow.engine.context import Context
from pflow.engine.engine import Engine
from pflow.errors import BAD_DATA, CANNOT_WRITE, PflowError, exit_code
from pflow.files import atomic
from pflow.files.state_key import state_key
from pflow.record import journal
from pflow.record.journal import Journal, pieces_of, read_lines, text_bytes
from pflow.record.records import JOURNAL, Records
from pflow.values.digest import digest_of
from pflow.values.jsontext import encode
from pflow.values.secrets import Secrets
from tests.engine.flows import plan_of, read_journal, write_flow
from tests.engine.test_engine import flow, step

SEND = '''
from pflow import Node


class Send(Node):
    """Do something that counts how often.

    Interface:
    - Reads: shared["value"]: any = 0  # anything
    - Writes: shared["sent"]: any  # it
    - Params: log: path  # a file that gets a line
    - Params: fails: str = ""  # the value that it fails for, or once: the first time of all
    - Effects: writes files
    """

    def post(self, shared, prepared, result):
        import os

        with open(self.params["log"], "a") as log:
            log.write(self.step_key + "\\n")
        once = self.params["log"] + ".once"
        if self.params["fails"] == "once" and not os.path.exists(once):
            open(once, "w").close()
            raise ValueError("once")
        if shared["value"] == self.params["fails"]:
            raise ValueError("no")
        shared["sent"] = shared["value"]
'''


class Runs:
    """Runs of one flow in processes of their own, which a failpoint may kill."""

    def __init__(self, folder: Path, ir: dict, store: dict, small: int = 1 << 20, *, isolate: bool = False) -> None:
        """`small` is the size up to which a journal is never written anew."""
        self.folder = folder
        self.plan = plan_of(ir, str(folder))
        self.begin = store
        self.small = small
        self.isolate = isolate

    def run(self, directory: Path, kill: int = 0, how: str = "kill") -> int:
        """Begin a run, or go on with it; killed at that point. Its exit code, -9 where it was killed."""
        directory.mkdir(exist_ok=True)
        if (pid := os.fork()) == 0:
            code = 99
            try:
                atomic._NAME, atomic._HOW, atomic._left, atomic._is_armed = (
                    "journal.*",
                    [how],
                    kill,
                    kill > 0,
                )
                journal._SMALL = self.small
                os.chdir(directory)
                code = self._go(directory)
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _go(self, directory: Path) -> int:
        secrets = Secrets()
        kept = journal.Journal(str(directory), secrets, state_key())
        if kept.records is None:
            kept.write({"begin": "R"})
        context = Context(write=lambda line: None, run_id="R", isolate=self.isolate, secrets=secrets, journal=kept)
        store = json.loads(json.dumps(self.begin))
        try:
            Engine(self.plan, context).run(store)
        except Exception as error:
            return exit_code(error)
        (directory / "store.json").write_bytes(encode([store, context.carried]))
        return 0

    def done(self, directory: Path) -> set[str]:
        """The keys of what is done, and of what inside it must not be done any more."""
        return {digest_of(["R", path]) for path in read_journal(str(directory)).done}

    def sent(self, directory: Path) -> Counter:
        log = directory / "log"
        return Counter(log.read_text().split() if log.exists() else [])


def send(id: str, **more) -> dict:
    return step(id, "send", **{"params": {"log": "log"}, **more})


def flows(folder: Path) -> dict[str, tuple[dict, dict]]:
    """Flows with the store that each begins with."""
    items = {"over": "items", "as": "value"}
    bad, once = {"log": "log", "fails": "bad"}, {"log": "log", "fails": "once"}
    given = {"inputs": {"value": {}}, "outputs": {"sent": "sent"}}
    inner = write_flow(folder, "inner", {**flow(send("s"), step("n", "count"), send("t")), **given})
    tries = flow(send("s"), step("n", "count"), send("f", params=once), outputs={"n": "n"})
    four = [send("a"), send("b"), send("c"), send("d")]
    split = write_flow(folder, "split", flow(*four, edges="a-b a-c b-d c-d", out={"b.sent": "b", "c.sent": "c"}))
    one, two = send("one", batch=items), send("two", params=bad, batch={**items, "on_error": "keep", "jobs": 2})
    each, tried = step("f", inner, batch={**items, "jobs": 2}), write_flow(folder, "tried", tries)
    failing = [send("a", params=bad), send("h"), send("p"), send("q", params=bad), step("r", "count")]
    return {
        "loop": (
            flow(send("s"), step("n", "count", params={"enough": 3}), send("e"), edges="s-n n-s n-done-e"),
            {"value": 7},
        ),
        "batches": (flow(one, two, out={"one.sent": "a", "two.sent": "b"}), {"items": [1, "bad", 1, 2.0, "1"]}),
        "flows": (flow(each, step("r", tried, retries=2, wait=0)), {"items": [3, 4, 3]}),
        "forks": (flow(*four[:1], step("x", split), *four[2:], edges="a-x a-c x-d c-d", out={"c.sent": "c"}), {}),
        "errors": (flow(*failing, edges="a-error-h h-q h-r q-error-p"), {"value": "bad"}),
    }


@pytest.mark.parametrize(
    ("name", "small"),
    [("loop", 1 << 20), ("loop", 150), ("batches", 600), ("flows", 1500), ("forks", 600), ("errors", 1 << 20)],
)
def test_a_run_that_is_killed_at_any_commit_goes_on_to_the_same_store(tmp_path, nodes, name, small):
    (nodes / "send.py").write_text(SEND)
    runs = Runs(tmp_path, *flows(tmp_path)[name], small)
    assert runs.run(tmp_path / "whole") == 0
    whole, sent = (tmp_path / "whole" / "store.json").read_bytes(), runs.sent(tmp_path / "whole")
    for point in range(1, 200, 2 if "s" in name else 1):  # the even ones are after a commit, the odd ones before it
        directory = tmp_path / str(point)
        code = runs.run(directory, kill=point)
        if code == 0:
            break
        assert code == -9
        done = runs.done(directory) if point > 2 else set()
        assert runs.run(directory) == 0
        assert (directory / "store.json").read_bytes() == whole
        after = runs.sent(directory)
        assert set(after) == set(sent)
        assert {key: after[key] - sent[key] for key in done if after[key] > sent[key]} == {}
    else:
        pytest.fail("it never came to an end")
    assert point > 20


@pytest.mark.parametrize("point", range(3, 12, 2))
def test_a_disk_that_is_full_ends_a_run_which_goes_on_once_there_is_room(tmp_path, nodes, point):
    (nodes / "send.py").write_text(SEND)
    runs = Runs(tmp_path, *flows(tmp_path)["errors"], isolate=True)
    runs.run(tmp_path / "whole")
    assert runs.run(tmp_path / "full", kill=point, how="enospc") == CANNOT_WRITE
    done = runs.done(tmp_path / "full")
    assert runs.run(tmp_path / "full") == 0
    stores = [(tmp_path / name / "store.json").read_bytes() for name in ("whole", "full")]
    assert stores[0] == stores[1]
    assert {key for key, count in runs.sent(tmp_path / "full").items() if count > 1} & done == set()


def test_what_a_failure_ended_is_not_interrupted_once_that_is_taken_care_of():
    starts = [{"start": path} for path in ("r@1", "i@1/a@1", "b@1[0.0]", "x@1")]
    ends = [{"end": "h@1:fork", "handled": "q", "over": ["q@", "r@"]}, {"end": "i@1"}, {"end": "b@1", "handled": "b"}]
    assert list(Records([{"begin": "R"}, *starts, *ends]).interrupted) == ["x@1"]


LOGIN = """
from pflow import Node


class Login(Node):
    '''Get a token.

    Interface:
    - Writes: shared["token"]: str [secret]  # it
    - Repeats: {repeats}
    '''

    def post(self, shared, prepared, result):
        shared["token"] = "canary-4711"
"""


@pytest.mark.parametrize("repeats", ["yes", "no"])
def test_a_secret_is_in_no_journal_and_who_wrote_it_is_not_done(tmp_path, nodes, repeats):
    (nodes / "login.py").write_text(LOGIN.format(repeats=repeats))
    copies = [step("c", "echo"), step("d", "echo"), step("f", "fail")]
    into = {"c.value": "token", "d.value": "template:a: ${token}", "f.unless": "none"}
    runs = Runs(tmp_path, flow(step("l", "login"), *copies, into=into, out={"d.echoed": "d"}), {"none": None})
    for small in (1 << 20, 1):
        runs.small = small
        assert runs.run(tmp_path / str(small)) == 1
        assert b"canary" not in (tmp_path / str(small) / "journal.jsonl").read_bytes()
        records = read_journal(str(tmp_path / str(small)))
        assert list(records.done) == []
        assert list(records.interrupted) == (["l@1"] if repeats == "no" else [])
        assert list(records.failed) == ["f@1"]


def test_a_journal_keeps_of_a_loop_only_what_counts(tmp_path, nodes):
    loop = flow(step("n", "count", params={"enough": 100}), step("e", "echo"), edges="n-e e-n")
    runs = Runs(tmp_path, {**loop, "max_visits": 60}, {"value": "x" * 1000})
    runs.small = 1 << 12
    assert runs.run(tmp_path / "run") == 1
    assert (tmp_path / "run" / "journal.jsonl").stat().st_size < 24_000
    records = read_journal(str(tmp_path / "run"))
    assert len(records.done) == 120
    assert [end["changes"] for end in records.done.values() if "dropped" not in end][-1] == [[["echoed"], "x" * 1000]]


RECORDS = [
    {"begin": "R", "store": {}},
    {"start": "a@1"},
    {"end": "a@1", "changes": [[["x"], "ä\n\x00"], [["b"], b"\xff"], [["gone"]], [["o"], {"$bytes": "no"}]]},
    {"end": "b@1[0f.1]/c@2", "action": "left", "carried": ["x", 0]},
]
LINES = [b"".join(pieces_of(record)) for record in RECORDS]
DATA = b"".join(LINES)


def test_records_come_back_as_they_were():
    assert read_lines(DATA) == (RECORDS, len(DATA))


def test_a_journal_that_is_cut_anywhere_has_the_records_before_the_cut_and_no_other():
    ends = [sum(map(len, LINES[:number])) for number in range(len(LINES) + 1)]
    for cut in range(len(DATA) + 1):
        records, size = read_lines(DATA[:cut])
        whole = max(number for number, end in enumerate(ends) if end - (number > 0) <= cut)
        assert records == RECORDS[:whole]
        assert size in (ends[whole], cut)


@pytest.mark.parametrize("change", [lambda byte: byte ^ 1, lambda byte: byte ^ 0x20, lambda byte: 10, lambda byte: 0])
def test_a_byte_that_is_changed_is_found_or_tears_the_last_line(change):
    for at in range(len(DATA)):
        changed = DATA[:at] + bytes([change(DATA[at])]) + DATA[at + 1 :]
        if changed == DATA:
            continue
        if at == len(DATA) - 1:
            assert read_lines(changed) == (RECORDS[:-1], len(DATA) - len(LINES[-1]))
            continue
        with pytest.raises(PflowError, match=r"its line [1-5] is damaged") as caught:
            read_lines(changed)
        assert caught.value.exit == BAD_DATA


@pytest.mark.parametrize("rest", [b"", b"0", LINES[-1][:-1], LINES[-1][:-2], b"\0" * 100])
def test_what_was_torn_is_mended_and_the_next_record_stands_on_a_line_of_its_own(tmp_path, rest):
    (tmp_path / JOURNAL).write_bytes(b"".join(LINES[:-1]) + rest)
    journal = Journal(str(tmp_path), Secrets(), b"key")
    journal.write({"end": "z@1"})
    assert journal.records is not None
    assert sorted(read_journal(str(tmp_path)).done) == sorted([*journal.records.done, "z@1"])
    assert ("b@1[0f.1]/c@2" in journal.records.done) == (rest == LINES[-1][:-1])


@pytest.mark.parametrize("data", [b"", LINES[0][:-5], b"".join(LINES[1:]), b"\n" + DATA])
def test_a_journal_without_its_beginning_is_none(tmp_path, data):
    (tmp_path / JOURNAL).write_bytes(data)
    with pytest.raises(PflowError, match="cannot read the journal") as caught:
        read_journal(str(tmp_path))
    assert caught.value.exit == BAD_DATA


LONG = "é\n" * 200_000


@pytest.mark.parametrize(
    "record",
    [
        {"begin": "R", "texts": {"a": b'\xff\0"\\\n', "b": b"", "c": LONG.encode()}},
        {"begin": "R", "texts": {}, "more": [1]},
        {"begin": "R", "texts": {"a": b"x"}, "changes": [[["y"], LONG]]},
        {"end": "a@1", "action": "left", "changes": [[["x"], LONG], [["y"]], [["z"], {"a": [LONG, 1]}]]},
    ],
)
def test_a_record_with_long_values_or_bytes_comes_back_as_it_was(record):
    data = b"".join(pieces_of(record))
    (found,), size = read_lines(data + data[:-1] + b"0")
    assert size == len(data)
    texts = {name: text_bytes(text) for name, text in found.pop("texts", {}).items()}
    assert (found, texts) == (
        {name: value for name, value in record.items() if name != "texts"},
        record.get("texts", {}),
    )


def ends(count):
    return [{"end": f"a@{number}", "changes": [[["x"], f"{number:0200}"]]} for number in range(1, count + 1)]


def test_a_disk_that_is_full_leaves_a_journal_as_it_was_that_is_to_be_compacted(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "_SMALL", 10)
    folder = tmp_path / "run"
    folder.mkdir()
    kept, path, write_all = Journal(str(folder), Secrets(), b"key"), folder / JOURNAL, journal.write_all
    kept.write({"begin": "R"})

    def write(fd, data):
        if len(os.listdir(folder)) > 1:  # the draft
            raise OSError(errno.ENOSPC, "no space left")
        write_all(fd, data)

    with monkeypatch.context() as full:
        full.setattr(journal, "write_all", write)
        before = len(os.listdir("/proc/self/fd"))
        for record in ends(100):
            kept.write(record)
        assert len(os.listdir("/proc/self/fd")) == before
    assert (read_lines(path.read_bytes())[0], os.listdir(folder)) == ([{"begin": "R"}, *ends(100)], [JOURNAL])
    size = path.stat().st_size
    for record in ends(200)[100:]:
        kept.write(record)
    assert (path.stat().st_size < 2 * size, os.listdir(folder)) == (True, [JOURNAL])
    records = read_journal(str(folder))
    assert len(records.done) == 200
    assert [[path for path, end in records.done.items() if "dropped" not in end][-1:]] == [["a@200"]]


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_journal_is_removed_with_its_run_unless_it_is_kept(tmp_path, is_kept):
    kept = Journal(str(tmp_path), Secrets(), b"key")
    kept.write({"begin": "R"})
    kept.finish(is_kept=is_kept)
    assert (tmp_path / JOURNAL).exists() == is_kept
    with pytest.raises(PflowError, match="cannot keep the journal") as caught:
        kept.write({"end": "a@1"})
    assert (caught.value.exit, caught.value.ends_run, caught.value.is_cut) == (CANNOT_WRITE, True, True)
    assert f"make room, then pflow resume {tmp_path.name}" in caught.value.hint
