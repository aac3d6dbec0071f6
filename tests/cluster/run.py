"""`make cluster`: maps on a dask cluster of this machine whose workers and scheduler are killed."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from tests.map.test_dask import Cluster

PFLOW = str(Path(sys.executable).parent / "pflow")

NODE = '''
import time

from pflow import Node


class Wait(Node):
    """Note a text in the file `began`, and wait.

    Interface:
    - Reads: shared["text"]: str [pipe]  # a text
    - Writes: shared["text"]: str [pipe]  # the same
    - Effects: writes files
    - Repeats: yes
    """

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        with open("began", "a") as file:
            file.write(f"{text}\\n")
        time.sleep(0.2)

    def post(self, shared, text, result):
        shared["text"] = text
'''


def a_map(cluster: Cluster, flow: str, count: int, name: str) -> subprocess.Popen:
    """Start a map over numbers; its ledger, output and errors are NAME.db, .out and .err."""
    items = cluster.directory / f"{name}.txt"
    items.write_text("".join(f"{number}\n" for number in range(count)))
    words = [PFLOW, "map", flow, str(items), "--executor=dask", f"--scheduler={cluster.address}", f"--ledger={name}.db"]
    out, err = ((cluster.directory / f"{name}.{end}").open("wb") for end in ("out", "err"))
    return subprocess.Popen(words, stdout=out, stderr=err, cwd=cluster.directory)


def check(name: str, found: object, wanted: object) -> None:
    print(f"{'ok  ' if found == wanted else 'FAIL'} {name}: {found}" + ("" if found == wanted else f", not {wanted}"))
    if found != wanted:
        check.failed = True


check.failed = False


def results(cluster: Cluster, name: str) -> list[str]:
    return [json.loads(line)["text"] for line in (cluster.directory / f"{name}.out").read_text().splitlines()]


def workers_killed(cluster: Cluster, chance: random.Random) -> None:
    """1,000 items of 0.2 s, and every 5 s one of two workers killed."""
    workers = [cluster.worker(), cluster.worker()]
    run, kills = a_map(cluster, "wait", 1000, "killed"), 0
    ended = threading.Event()
    threading.Thread(target=lambda: (run.wait(), ended.set()), daemon=True).start()
    while not ended.wait(5):
        workers.remove(worker := chance.choice(workers))
        worker.kill()
        kills += 1
        workers.append(cluster.worker())
    began = Counter((cluster.directory / "began").read_text().split())
    check("workers killed: exit code", run.returncode, 0)
    check("workers killed: results in order", results(cluster, "killed") == [f"{n}" for n in range(1000)], True)
    check(f"{kills} workers killed: at most one more try each", sum(began.values()) <= 1000 + kills, True)
    query = "SELECT count(*), count(DISTINCT id) FROM items WHERE status = 'done'"
    rows = subprocess.run(["sqlite3", "killed.db", query], capture_output=True, text=True, cwd=cluster.directory)
    check("workers killed: the ledger", rows.stdout.strip(), "1000|1000")


def speed(cluster: Cluster) -> None:
    began = time.monotonic()
    check("10,000 no-op items: exit code", a_map(cluster, "template 'is $item'", 10_000, "speed").wait(), 0)
    seconds = time.monotonic() - began
    check(f"10,000 no-op items in {seconds:.1f} s: at most 10", seconds <= 10, True)


def scheduler_killed(cluster: Cluster, directory: Path) -> None:
    (cluster.directory / "began").unlink()
    run = a_map(cluster, "wait", 100, "gone")
    while not (cluster.directory / "began").exists():
        time.sleep(0.1)
    os.kill(cluster.scheduler.pid, signal.SIGKILL)
    began = time.monotonic()
    check("scheduler killed: exit code", run.wait(60), 75)
    check("scheduler killed: within 15 s", time.monotonic() - began < 15, True)
    again = Cluster(directory)
    again.worker()
    again.directory = cluster.directory
    try:
        check("scheduler killed: the same map goes on", a_map(again, "wait", 100, "gone").wait(), 0)
        check("scheduler killed: all results", results(again, "gone") == [f"{n}" for n in range(100)], True)
    finally:
        again.end()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_STATE_HOME"] = place
        os.environ["PFLOW_NODES"] = place
        (Path(place) / "wait.py").write_text(NODE)
        (Path(place) / "a").mkdir()
        (Path(place) / "b").mkdir()
        cluster = Cluster(Path(place) / "a")
        try:
            workers_killed(cluster, random.Random(parser.parse_args().seed))
            speed(cluster)
            scheduler_killed(cluster, Path(place) / "b")
        finally:
            cluster.end()
    return check.failed


if __name__ == "__main__":
    sys.exit(main())
