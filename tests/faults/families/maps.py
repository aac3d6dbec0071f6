"""Maps whose driver or workers are killed or stopped, items that poison, damaged ledgers, and shards that are lost."""

import json
import os
import random
import shlex
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults.points import Point, dice, spread
from tests.faults.programs import Ended, children, end_of, run, run_warm, send, start, wait_for

NEEDS: tuple[str, ...] = ()
WEIGHT = 170

COUNT, JOBS = 24, 3
NOTE = "read item; echo $item >>log; sleep 0.01; "
COMMAND = NOTE + 'case $item in 7*) eval "$POISON";; esac; echo "is $item"'
"""Notes that it runs; items 7 does what a point has in POISON."""


def flow(*flags: str) -> str:
    return shlex.join(["shell", COMMAND, *flags])


def words(*flags: str, repeats: bool = True, ledger: str = "l.db") -> list[str]:
    jobs = () if any(flag.startswith("--jobs=") for flag in flags) else (f"--jobs={JOBS}",)
    flags = ("--from=lines", f"--ledger={ledger}", *jobs, *flags)
    return ["pflow", "map", flow(*["--repeats"] * repeats), "items", *flags]


def ran() -> Counter[str]:
    return Counter(Path("log").read_text().split()) if Path("log").exists() else Counter()


def prepare(poison: str = "true") -> None:
    Path("items").write_text("".join(f"{number}\n" for number in range(COUNT)))
    os.environ["POISON"] = poison


ROWS = "".join(f"is {number}\n" for number in range(COUNT))


def check_rows(ended: Ended, but: dict[str, str] | None = None) -> None:
    wanted = "".join(f"is {number}\n" for number in range(COUNT) if str(number) not in (but or {}))
    assert ended.code == bool(but), ended
    assert ended.stdout == wanted, f"other rows: {ended.stdout!r}"


def check_resumed(again: int, *, repeats: bool) -> None:
    """The map goes on: rows and ledger are those of an undisturbed one, and so many items at most ran again."""
    before, done = ran(), done_in("l.db")
    if not repeats:
        ended, more = run_warm(*words("-r", repeats=False)), ran() - before
        assert not {*more} & {*before}, "it ran again unasked"
        assert ended.code == (sum(more.values()) + len(done) < COUNT), ended
        before = ran()
    check_rows(run_warm(*words("-r", *["--redo"] * (not repeats), repeats=repeats)))
    twice = [item for item, times in ran().items() if times > before[item] and item in done]
    assert not twice, f"done, and done again: {twice}"
    assert set(ran()) == {str(number) for number in range(COUNT)}
    assert sum(ran().values()) - COUNT <= again, ran()
    check_ledger()


def check_ledger(path: str = "l.db") -> None:
    with sqlite3.connect(path) as base:
        found = base.execute("SELECT outputs, status FROM items ORDER BY position").fetchall()
    wanted = [(f"is {number}\n", "done") for number in range(COUNT)]
    assert [(json.loads(outputs)["stdout"], status) for outputs, status in found] == wanted, found
    assert not [each for end in ("-wal", "-shm", "-journal") if (each := Path(path + end)).exists()]


def done_in(path: str) -> set[str]:
    """List the items that a ledger has as done; its -wal is left as it is."""
    if not Path(path).exists():
        return set()
    for end in ("", "-wal"):
        if Path(path + end).exists():
            shutil.copy(path + end, "copy.db" + end)
    with sqlite3.connect("copy.db") as base:
        if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return set()
        return {
            json.loads(each)["stdout"].split()[1]
            for (each,) in base.execute("SELECT outputs FROM items WHERE status = 'done'")
        }


def disturbed(seed: int, kind: str, disturb: Callable[[int, random.Random], bool], again: int) -> Iterator[Point]:
    """Maps that are disturbed at a random moment, and go on; so many items at most run again."""
    for number in range(1_000_000):
        id = f"maps/{kind}/{number}"

        def check(directory: Path, id: str = id) -> None:
            prepare()
            chances = dice(id, seed)
            process = start(*words("-r", repeats=kind != "once"))
            wait_for(lambda: ran() or process.poll() is not None)
            time.sleep(chances.uniform(0, 0.3))
            is_killed = disturb(process.pid, chances)
            ended = end_of(process, killed=is_killed)
            if not is_killed:
                check_rows(ended)
            check_resumed(again, repeats=kind != "once")

        yield Point(id, check)


def kill_driver(pid: int, chances: random.Random) -> bool:
    send(pid, signal.SIGKILL)
    return True


def kill_worker(pid: int, chances: random.Random) -> bool:
    if workers := children(pid):
        send(chances.choice(workers), signal.SIGKILL)
    return False


def stop(of: str) -> Callable[[int, random.Random], bool]:
    """Stop the driver or a worker for a while."""

    def stop_it(pid: int, chances: random.Random) -> bool:
        found = [pid] if of == "driver" else children(pid)[:1]
        for each in found:
            send(each, signal.SIGSTOP)
        time.sleep(0.3)
        for each in found:
            send(each, signal.SIGCONT)
        return False

    return stop_it


def kill_stopped(pid: int, chances: random.Random) -> bool:
    """Kill the driver while all its workers are stopped: they end, too."""
    found = children(pid)
    for each in found:
        send(each, signal.SIGSTOP)
    send(pid, signal.SIGKILL)
    for each in found:
        send(each, signal.SIGCONT)
    return True


def end_driver(pid: int, chances: random.Random) -> bool:
    send(pid, chances.choice((signal.SIGTERM, signal.SIGINT, signal.SIGHUP)))
    return True


POISONS = {
    "killed": ("kill -9 $PPID", (), 137),
    "killed-group": ("kill -9 $PPID $$", (), 137),
    "fails": ("exit 3", (), 3),
    "hangs": ("sleep 99", ("--timeout=1",), 124),
    "hangs-deaf": ("trap '' TERM; sleep 9 & wait; sleep 99", ("--timeout=1",), 124),
    "leaves": ("sleep 99 >/dev/null 2>&1 &", ("--timeout=9",), 0),
    "garbage": (r"printf '\377\376\n'; exit 0", (), None),
    "huge": ("head -c 30000000 /dev/zero | tr '\\0' x; exit 0", (), None),
}
"""What item 7 does, the flags of the map, and its exit code; None: it is done, with another row."""


def poisons(seed: int) -> Iterator[Point]:
    for name, (poison, flags, code) in POISONS.items():
        for jobs in (1, 2, 3, 8):

            def check(
                directory: Path,
                poison: str = poison,
                flags: tuple[str, ...] = flags,
                code: int | None = code,
                jobs: int = jobs,
            ) -> None:
                prepare(poison)
                ended = run(*words(*flags, f"--jobs={jobs}", "--format=record"))
                records = {str(each["item"]): each for each in map(json.loads, ended.stdout.splitlines())}
                for item, record in records.items():
                    wanted = code if item == "7" else 0
                    assert record["exit"] == (wanted or 0), record
                    if wanted == 0:
                        assert record["outputs"]["stdout"] == f"is {item}\n", record
                assert len(records) == COUNT
                assert ended.code == bool(code), ended
                assert ran()["7"] == (3 if code == 137 else 1), "it is tried alone, and given up"
                assert {times for item, times in ran().items() if item != "7"} <= ({1, 2} if code == 137 else {1}), (
                    ran()
                )
                os.environ["POISON"] = "true"
                if code:
                    before = ran()
                    check_rows(run(*words("-r", "--failed")))
                    assert ran() - before == Counter("7"), "only what failed runs again"

            yield Point(f"maps/poison/{name}/{jobs}", check)


def damages(seed: int) -> Iterator[Point]:
    """The ledger of a map that was killed, or of one that ended, is damaged."""
    for number in range(1_000_000):
        id = f"maps/ledger/{number}"

        def check(directory: Path, id: str = id) -> None:
            prepare()
            chances = dice(id, seed)
            is_killed = chances.random() < 0.5
            make_ledger(is_killed)
            file = Path(chances.choice([each.name for each in Path().glob("l.db*") if each.stat().st_size]))
            damage(file, chances)
            check_damaged()

        yield Point(id, check)


def make_ledger(is_killed: bool) -> None:
    if not is_killed:
        check_rows(run_warm(*words("-r", "-q")[:-1]))
        return
    process = start(*words("-r"))
    wait_for(lambda: len(ran()) > COUNT / 2)
    process.kill()
    end_of(process, killed=True)


def damage(file: Path, chances: random.Random) -> None:
    data = bytearray(file.read_bytes())
    at = chances.randrange(len(data))
    match chances.choice(("cut", "cut", "flip", "empty", "zeros", "none")):
        case "cut":
            del data[at:]
        case "flip":
            data[at] ^= 1 << chances.randrange(8)
        case "empty":
            data.clear()
        case "zeros":
            data[at : at + 512] = bytes(len(data[at : at + 512]))
        case "none":
            file.unlink()
            return
    file.write_bytes(data)


def check_damaged() -> None:
    """The map goes on to the right rows, or says that the ledger is damaged (65) or another's (78)."""
    ended = run_warm(*words("-r"))
    if ended.code in (65, 78):
        assert "l.db'" in ended.stderr, ended
        for file in Path().glob("l.db*"):
            file.unlink()
        ended = run_warm(*words("-r"))
    check_rows(ended)
    check_ledger()


def shards(seed: int) -> Iterator[Point]:
    """One of three shards is killed, and runs again; the merged ledger is that of one map."""
    for number in range(1_000_000):
        id = f"maps/shards/{number}"

        def check(directory: Path, id: str = id) -> None:
            prepare()
            chances = dice(id, seed)
            lost = chances.randrange(1, 4)
            for shard in range(1, 4):
                process = start(*words(f"--shard={shard}/3", "-q", ledger=f"{shard}.db"))
                if shard == lost:
                    wait_for(ran)
                    time.sleep(chances.uniform(0, 0.2))
                    process.kill()
                end_of(process, killed=shard == lost)
            merge = ("pflow", "merge", "1.db", "2.db", "3.db", "-o", "all.db")
            if chances.random() < 0.5:  # what is there is merged before the lost shard runs again
                merged = run_warm(*merge)
                assert merged.code in (0, 1, 66), merged
            assert run_warm(*words(f"--shard={lost}/3", "-q", ledger=f"{lost}.db")).code == 0
            assert run_warm(*merge).code == 0
            before = ran()
            check_rows(run_warm(*words("-r", ledger="all.db")))
            assert ran() == before, "what was merged ran again"
            assert sum(before.values()) - COUNT <= JOBS, before
            check_ledger("all.db")

        yield Point(id, check)


def others(seed: int) -> Iterator[Point]:
    def stale(directory: Path) -> None:
        """A ledger of an earlier state: what it lacks runs again."""
        prepare()
        Path("items").write_text("".join(f"{number}\n" for number in range(10)))
        assert run_warm(*words("-q")).code == 0
        shutil.copy("l.db", "old.db")
        prepare()
        check_rows(run_warm(*words("-r")))
        shutil.move("old.db", "l.db")
        check_rows(run_warm(*words("-r")))
        assert [ran()[str(number)] for number in range(COUNT)] == [1] * 10 + [2] * (COUNT - 10), ran()
        check_ledger()

    def both(directory: Path) -> None:
        """Two maps want one ledger: one waits for nobody (75), and no item runs twice."""
        prepare()
        first = start(*words("-r"))
        wait_for(ran)
        second = run(*words("-r"))
        assert second.code in (0, 75), second
        check_rows(end_of(first))
        assert sum(ran().values()) == COUNT, ran()

    for name, check in (("stale", stale), ("both", both)):
        yield Point(f"maps/{name}/0", check)


def points(share: int, seed: int) -> Iterator[Point]:
    import pflow.map.execution  # noqa: F401  # once, before the forks

    kinds = {
        "driver-killed": (kill_driver, JOBS),
        "once": (kill_driver, JOBS),
        "driver-ended": (end_driver, JOBS),
        "driver-stopped": (stop("driver"), 0),
        "worker-killed": (kill_worker, 1),
        "worker-stopped": (stop("worker"), 0),
        "all-stopped": (kill_stopped, JOBS),
    }
    ways = [disturbed(seed, kind, *way) for kind, way in kinds.items()]
    return spread(share, *ways, poisons(seed), damages(seed), shards(seed), others(seed))
