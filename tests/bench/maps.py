"""The rows of `make bench` about maps: items a second against GNU parallel and xargs, workers, CPU, memory, disk."""

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from tests.bench.measure import NOTHING, Usage, is_missing, program, run

PFLOW = program("pflow")
NO_OP = "template '$item'"
COPY = "read-file => write-file '{}/$item_name'"


class Bench:
    """Maps in a scratch directory, whose state is there too."""

    def __init__(self, scratch: Path, items: int) -> None:
        self.scratch = scratch
        self.items = items
        (scratch / "bin").mkdir()
        self.environment = {**os.environ, "XDG_STATE_HOME": str(scratch / "state"), "HOME": str(scratch)}
        self.environment["PATH"] = f"{Path(PFLOW).parent}:{os.environ['PATH']}"
        self.numbers = scratch / "numbers"
        self.numbers.write_text("".join(f"{number}\n" for number in range(items)))

    def map(self, flow: str, *words: str, stdin: Path | None = None) -> Usage:
        return run([[PFLOW, "map", flow, *words]], stdin or NOTHING, self.environment)

    def files(self, count: int) -> str:
        """Return the pattern of so many small files."""
        place = self.scratch / f"files{count}"
        place.mkdir(exist_ok=True)
        for number in range(count):
            (place / f"{number}.txt").write_text(f"a line of text, number {number}\n")
        return f"{place}/*.txt"

    def copy(self, count: int, jobs: int) -> float:
        """Return how many files a second a map copies."""
        out = Path(tempfile.mkdtemp(dir=self.scratch))
        took = self.map(COPY.format(out), self.files(count), f"--jobs={jobs}")
        assert len(list(out.iterdir())) == count
        shutil.rmtree(out)
        return count / took.wall

    def copy_by_shell(self, count: int, *runner: str) -> float | None:
        """Return how many files a second the pipe of two stages copies, two at a time; None without the program."""
        if is_missing(runner[0]):
            return None
        out = Path(tempfile.mkdtemp(dir=self.scratch))
        pattern = self.files(count)
        names = self.scratch / "names"
        names.write_text("".join(f"{path}\n" for path in Path(pattern).parent.iterdir()))
        script = self.scratch / "copy"
        script.write_text(f'pflow-read-file "$1" | pflow-write-file "{out}/${{1##*/}}" -q\n')
        took = run([[*runner, "sh", str(script), "{}"]], names, self.environment)
        assert len(list(out.iterdir())) == count
        return count / took.wall

    def ledger(self) -> Path:
        return max((self.scratch / "state/pflow/maps").glob("*.db"), key=lambda path: path.stat().st_mtime)


def rows(scratch: Path, items: int) -> list[str]:
    """Measure, and return the lines of the table."""
    bench = Bench(scratch, items)
    lines = []

    def line(what: str, value: float | None, unit: str, wanted: str = "", is_met: bool | None = None) -> None:
        verdict = {None: "", True: "  ok", False: "  over"}[is_met]
        shown = "not installed" if value is None else f"{value:,.1f} {unit}"
        lines.append(f"{what:46}{shown:>18}{wanted:>20}{verdict}")

    ours = bench.copy(10_000, 2)
    parallel = bench.copy_by_shell(200, "parallel", "-j2", "--will-cite")
    xargs = bench.copy_by_shell(200, "xargs", "-P2", "-I{}")
    line("map: 10,000 files, 2 workers", ours, "items/s", "20x parallel", parallel and ours >= 20 * parallel)
    line("  GNU parallel, the shell pipe", parallel, "items/s")
    line("  xargs -P2, the shell pipe", xargs, "items/s")
    one = bench.copy(10_000, 1)
    line("  one worker", one, "items/s", "2 workers: 1.5x", ours >= 1.5 * one)
    waits = [
        bench.map("shell 'sleep 0.05'", f"--jobs={jobs}", "--limit=400", stdin=bench.numbers).wall for jobs in (1, 2)
    ]
    line(
        "map: 400 waits of 50 ms, 2 workers against 1", waits[0] / waits[1], "times", "1.8", waits[0] >= 1.8 * waits[1]
    )
    base = bench.map(NO_OP, "--limit=1", stdin=bench.numbers)
    took = bench.map(NO_OP, "--jobs=2", stdin=bench.numbers)
    each = (took.cpu - base.cpu) / items * 1000
    line(f"map: CPU of a no-op item, of {items:,}", each, "ms", "1", each <= 1)
    line("  items a second", items / took.wall, "items/s")
    line("  memory of the driver", took.peaks[0] / 1e6, "MB", "150", took.peaks[0] <= 150e6)
    disk = bench.ledger().stat().st_size / items
    line("  ledger, an item", disk, "bytes", "300", disk <= 300)
    with sqlite3.connect(bench.ledger()) as ledger:
        assert ledger.execute("SELECT count(*) FROM items WHERE status = 'done'").fetchone() == (items,)
    return lines
