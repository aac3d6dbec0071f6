"""`make cluster`, its other half: the driver killed at random points, a million items, a SLURM array of four shards."""

import argparse
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PFLOW = str(Path(sys.executable).parent / "pflow")
COLUMNS = "id, position, status, exit, outputs, carried, error"
SLURM = """ClusterName=one
SlurmctldHost={host}
AuthType=auth/none
CredType=cred/none
CryptoType=crypto/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
SlurmdPort={other}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/linear
NodeName={host} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""

failed = False


def check(name: str, found: object, wanted: object) -> None:
    global failed
    print(f"{'ok  ' if found == wanted else 'FAIL'} {name}: {found}" + ("" if found == wanted else f", not {wanted}"))
    failed = failed or found != wanted


def ledger_of(path: Path) -> list[tuple]:
    with sqlite3.connect(path) as base:
        return base.execute(f"SELECT {COLUMNS} FROM items ORDER BY position").fetchall()


def driver_killed(place: Path, chance: random.Random, points: int) -> None:
    """Maps whose drivers are killed again and again until one comes to its end."""
    kills = lasted = ran = 0
    while kills < points:
        ledger, log, out = (place / f"{lasted}.{end}" for end in ("db", "log", "out"))
        words = [
            PFLOW,
            "map",
            f"shell 'read x; echo $x >>{log}; echo $x; sleep 0.002' --repeats",
            str(place / "items"),
            "--from=lines",
        ]
        words += [f"--ledger={ledger}", "--jobs=4", "-r"]
        while True:
            with out.open("wb") as rows:
                run = subprocess.Popen(
                    [*words, f"--ledger={ledger}", "--jobs=4", "-r"], stdout=rows, stderr=subprocess.DEVNULL
                )
                try:
                    run.wait(chance.uniform(0.1, 1.5))
                    break
                except subprocess.TimeoutExpired:
                    run.kill()
                    run.wait()
                    kills += 1
        began = Counter(log.read_text().split())
        ran += sum(began.values()) - 400
        check(
            f"map {lasted}, killed: all 400 results", out.read_text().split(), [str(n) for n in range(10_000, 10_400)]
        )
        check(f"map {lasted}, killed: no item twice in the ledger", len(ledger_of(ledger)), 400)
        lasted += 1
    check(f"{kills} kills: at most 4 items more a kill, {ran} in all", ran <= 4 * kills, True)


def a_million(place: Path, count: int) -> None:
    (place / "million").write_text("".join(f"{number}\n" for number in range(count)))
    words = [PFLOW, "map", "template '$item'", str(place / "million"), "--from=lines", f"--ledger={place}/million.db"]
    peak = 0.0
    with (place / "out").open("wb") as out:
        run = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL)
        while run.poll() is None:
            status = Path(f"/proc/{run.pid}/status").read_text()
            peak = max(peak, *(int(line.split()[1]) / 1024 for line in status.splitlines() if line[:6] == "VmHWM:"), 0)
            time.sleep(0.2)
    check(f"{count:,} no-op items: exit code", run.returncode, 0)
    check(f"{count:,} no-op items: driver's peak of {peak:.0f} MB is below 150", peak < 150, True)
    each = (place / "million.db").stat().st_size / count
    check(f"{count:,} no-op items: {each:.0f} bytes of ledger an item are at most 300", each <= 300, True)


def slurm(place: Path) -> None:
    """An array of four shards; the merged ledger equals that of one map."""
    if os.getuid() or not all(map(shutil.which, ("slurmctld", "slurmd", "sbatch", "scontrol"))):
        print("skipped: SLURM needs root, slurmctld and slurmd")
        return
    host = socket.gethostname().partition(".")[0]
    for name in ("state", "spool"):
        (place / name).mkdir()
    conf = place / "slurm.conf"
    conf.write_text(SLURM.format(host=host, port=16817, other=16818, place=place, cpus=os.cpu_count()))
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    daemons = [
        subprocess.Popen([name, "-D"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in ("slurmctld", "slurmd")
    ]
    flow, items = "template 'is $item'", str(place / "items")
    script = place / "array.sh"
    script.write_text(
        f"#!/bin/sh\n#SBATCH --array=1-4\n#SBATCH --output={place}/slurm-%a.log\ncd {place}\nXDG_STATE_HOME={place} "
        f'{PFLOW} map "{flow.replace("$", chr(92) + "$")}" {items} --from=lines -q '
        f'--shard="$SLURM_ARRAY_TASK_ID/4" --ledger="part$SLURM_ARRAY_TASK_ID.db"\n'
    )
    try:
        limit = time.monotonic() + 120
        while subprocess.run(["sbatch", "--wait", str(script)], env=environment, capture_output=True).returncode:
            if time.monotonic() > limit:
                check("SLURM: the array", "did not run", "ran")
                return
            time.sleep(1)
    finally:
        for daemon in daemons:
            daemon.terminate()
        for daemon in daemons:
            daemon.wait()
    parts = [str(place / f"part{number}.db") for number in range(1, 5)]
    subprocess.run([PFLOW, "merge", *parts, "-o", str(place / "all.db")], check=True)
    subprocess.run([PFLOW, "map", flow, items, "--from=lines", "-q", f"--ledger={place}/local.db"], check=True)
    check(
        "SLURM: the merged ledger equals the local one",
        ledger_of(place / "all.db") == ledger_of(place / "local.db"),
        True,
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--items", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["XDG_STATE_HOME"] = name
        (place / "items").write_text("".join(f"{number}\n" for number in range(10_000, 10_400)))
        driver_killed(place, random.Random(options.seed), options.kills)
        slurm(place)
        a_million(place, options.items)
    return failed


if __name__ == "__main__":
    sys.exit(main())
