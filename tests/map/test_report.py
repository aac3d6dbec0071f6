"""A map, as pflow runs, trace and why tell of it while it goes and after."""

from pathlib import Path

import pytest

from pflow.commands._command import run_command
from pflow.commands.runs import command as runs
from pflow.commands.trace import command as trace
from pflow.commands.why import command as why
from pflow.errors import MISSING, USAGE, PflowError
from pflow.map.ledger import Ledger, item_digest
from pflow.record.log import RunLog, write_status
from pflow.values.jsontext import decode

ID = "01BX5ZZKBKACTAV9WEVGEMMVRZ"
USED = {"model": "m", "calls": 1, "unpriced": 0, "cost": 0.5, "tokens": {"in": 3, "out": 4}}

END = {"status": "done", "exit": 0, "outputs": {}, "carried": "", "error": "", "usage": USED}


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A map of six items that goes on: two are done, three failed, one of them without a repeat, one is left."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = str(tmp_path / "map.db")
    log = RunLog.open(ID, b"{}", {"name": "map", "steps": 1, "map": {"ledger": path}})
    assert log is not None
    ledger = Ledger(path)
    ledger.begin({}, ID)
    for at in range(6):
        entry = ledger.claim(at, item_digest(at), f"item-{at}")
        result = {**END, "ms": 10.0 * at, "error": "it is cut" if at == 0 else ""}
        if at > 1:
            result |= {"status": "failed", "exit": 66, "error": "cannot read '\x1b'", "usage": {}}
        if at == 4:
            ledger.start(entry.id)
            result |= {"status": "begun", "exit": 143, "error": "it died"}
        if at != 5:
            ledger.end(entry.id, result)
    ledger.commit()
    write_status(log.directory, {"total": 1000, "done": 2, "failed": 3, "left": 995, "usage": USED, "time": 1.0})
    yield log
    ledger.close()
    log.release()


def printed(command, capfd, *words: str) -> str:
    run_command(command, list(words))
    return capfd.readouterr().out


def test_runs_shows_the_counts_of_a_map_while_it_goes_and_after(log, capfd):
    assert f"  running     5/1,000  3 failed  map  $0.50  pflow cancel {ID}\n" in printed(runs, capfd)
    log.finish(1, None, {}, 3, {"calls": 2, "cost": 1.0, "unpriced": 0})
    Path(log.directory, "journal.jsonl").write_text("kept for what failed")
    last = f"  finished 1  5/1,000  3 failed  map  $1.00  finished with failures  pflow resume {ID} --failed\n"
    assert last in printed(runs, capfd, "--failed")
    (run,) = decode(printed(runs, capfd, "--json").encode())
    assert run["items"] == {"total": 1000, "done": 2, "failed": 3, "left": 995}


def test_trace_shows_how_the_items_ended_and_which_to_ask_about(log, capfd):
    assert printed(trace, capfd, ID).splitlines()[:5] == [
        "items: done 2, failed 2, begun 1, todo 1 of 1,000",
        "model: 2 calls, tokens in 6 out 8, model m, $1.00",
        rf"2 failed with 66: cannot read '\x1b'  (pflow why {ID} 3)",
        f"1 begun with 143: it died  (pflow why {ID} 5)",
        "slowest: #5 40 ms, #4 30 ms, #3 20 ms",
    ]
    told = decode(printed(trace, capfd, ID, "--json").encode())["map"]
    assert [(each["id"], each["count"]) for each in told["failures"]] == [("item-2", 2), ("item-4", 1)]
    for flag in ("--chrome", "--store"):
        with pytest.raises(PflowError, match=f"cannot take {flag} for a map") as caught:
            printed(trace, capfd, ID, flag)
        assert caught.value.exit == USAGE


def test_why_tells_of_an_item_by_its_id_or_number_and_what_to_type(log, capfd):
    said = "".join(printed(why, capfd, ID, word) for word in ("item-0", "#3", "5", "6"))
    assert said.splitlines() == [
        "#1 item-0: done, tries 1, tokens in 3 out 4, model m, $0.50",
        "    warning: it is cut",
        "#3 item-2: failed with 66, tries 1, 20 ms",
        r"    cannot read '\x1b'",
        f"    pflow resume {ID} --failed runs it again",
        "#5 item-4: begun with 143, tries 1, 40 ms",
        "    it died",
        "    a step of it has begun that does not repeat",
        f"    pflow resume {ID} --redo runs it again",
        "#6 item-5: todo, tries 0",
        f"    pflow resume {ID} runs it",
    ]


@pytest.mark.parametrize(("words", "exit"), [("item", MISSING), ("7", MISSING), ("0 --against=last", USAGE)])
def test_why_refuses_an_item_that_is_unknown_or_compared(log, words, exit):
    with pytest.raises(PflowError) as caught:
        run_command(why, [ID, *words.split()])
    assert caught.value.exit == exit
