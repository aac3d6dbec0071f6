"""The rows of `make bench` about growth: CPU time by the steps of a flow, the items of a batch or a map, and the store.

Of each size it takes the least of a few rounds, and subtracts the least of the smallest size: that is the start. The
exponent between two sizes is the slope of the rest in log-log, where 1 is linear. A rest of less than a tenth of the
start is noise, where no exponent begins or ends; the last one begins at that tenth at the least.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader

from tests.bench.measure import NOTHING, is_missing, program, run
from tests.bench.peers import write_store

STEPS, ITEMS, STORE = (10, 100, 1000), (100, 1000, 100_000), (1000, 1_000_000, 100_000_000)
ROUNDS, ENOUGH, LIMIT, NOISE = 9, 4.0, 1.1, 0.1
TICK = '''\
import os

from pflow import Node


class Tick(Node):
    """Count; fail at an item `last` until the file `go` is there.

    Interface:
    - Reads: shared["n"]: any = 0 [pipe] [word]  # so far
    - Writes: shared["n"]: any [pipe]  # one more
    """

    def prep(self, shared):
        return shared["n"]

    def exec(self, n):
        if n == "last" and not os.path.exists("go"):
            raise OSError("there is no go")
        return n

    def post(self, shared, before, n):
        shared["n"] = n
'''
POCKETFLOW = """\
import sys
from pocketflow import Flow, Node


class Tick(Node):
    def prep(self, shared):
        return shared["n"]

    def exec(self, n):
        return n + 1

    def post(self, shared, before, n):
        shared["n"] = n


start = last = Tick()
for _ in range(int(sys.argv[1]) - 1):
    last = last.next(Tick())
Flow(start=start).run({"n": 0})
"""


class Series(NamedTuple):
    """What grows: the pipe and stdin of a size, the sizes after the smallest, and what is done before each round.

    A peer is another program, which has no verdict.
    """

    panel: str
    title: str
    sizes: tuple[int, ...]
    words: Callable[[int], list[str]]
    stdin: Callable[[int], Path] = lambda size: NOTHING
    prepare: Callable[[int], None] = lambda size: None
    is_peer: bool = False


class Growth(NamedTuple):
    """A series with its CPU times, in ms: the start, and what each size takes more."""

    series: Series
    start: float
    rests: list[float]

    @property
    def exponents(self) -> list[float | None]:
        """The exponent from each size to the next; None where it would begin or end in noise."""
        points, noise = list(zip(self.series.sizes, self.rests, strict=True)), self.start * NOISE
        points[-2] = (points[-2][0], max(points[-2][1], noise))
        return [slope(a, b) if min(a[1], b[1]) >= noise else None for a, b in pairwise(points)]

    def __str__(self) -> str:
        found = [each for each in self.exponents if each is not None]
        shown = [f"{'–' if each is None else f'{each:.2f}':>6}" for each in self.exponents]
        verdict = "peer" if self.series.is_peer else "over" if max(found, default=0) > LIMIT else "ok"
        rests = [f"{rest:12,.1f}" for rest in self.rests]
        return f"{self.series.title:34}{self.start:8.1f}{''.join(rests)}{''.join(shown):>14}  {verdict}"


def slope(one: tuple[float, float], other: tuple[float, float]) -> float:
    return math.log(other[1] / one[1]) / math.log(other[0] / one[0])


def rows(scratch: Path, plot: Path) -> list[str]:
    """Measure, draw the plot, and return the lines of the table."""
    plot = plot.absolute()
    os.chdir(scratch)
    (scratch / "tick.py").write_text(TICK)
    os.environ |= {"PFLOW_NODES": str(scratch), "XDG_CACHE_HOME": str(scratch / "cache")}
    found = [measured(each) for each in all_series(scratch)]
    lines = []
    for panel in dict.fromkeys(each.series.panel for each in found):
        several = [each for each in found if each.series.panel == panel]
        sizes = "".join(f"{'+' + short(size):>12}" for size in several[0].series.sizes)
        lines += [f"{'CPU in ms, by ' + panel:34}{'start':>8}{sizes}{'exponents':>14}", *map(str, several)]
    draw(found, plot)
    return [*lines, f"exponents of what comes after the start, limit {LIMIT}; plot: {plot}"]


def all_series(scratch: Path) -> list[Series]:
    """Return every series whose program is installed; a run comes before those that read what it left."""
    pflow, out = program("pflow"), str(scratch / "out")

    def flow(size: int) -> str:
        return written(scratch / f"steps{size}.pflow.json", lambda: json.dumps(chain(size)))

    def pipe(size: int) -> str:
        return " => ".join(["tick"] * size)

    def lines(size: int) -> Path:
        return Path(written(scratch / f"lines{size}", lambda: "".join(f"{n}\n" for n in range(size))))

    def batch(size: int) -> list[str]:
        items = [*range(size - 1), "last"]
        file = written(scratch / f"items{size}.json", lambda: json.dumps(items))
        return [pflow, "run", "-n", "-q", f"load-json {file} => tick --each"]

    def fail(size: int) -> None:
        Path("go").unlink(missing_ok=True)
        subprocess.run(batch(size), stderr=subprocess.DEVNULL, check=False)
        Path("go").touch()

    def store(size: int) -> Path:
        file = scratch / f"store{size}"
        if not file.exists():
            write_store(file, size)
        return file

    def peer(panel: str, sizes: tuple[int, ...], stdin: Callable[[int], Path], *words: str) -> list[Series]:
        command = [Series(panel, " ".join(words[:2]), sizes, lambda size: [*words], stdin, is_peer=True)]
        return [] if is_missing(words[0]) else command

    return [
        Series("steps", "pflow run", STEPS, lambda size: [pflow, "run", "-n", "-q", flow(size)]),
        Series("steps", "pflow trace of that run", STEPS, lambda size: [pflow, "trace", "last"]),
        Series("steps", "pflow trace --html", STEPS, lambda size: [pflow, "trace", "last", "--html"]),
        Series("steps", "pflow run, pipe syntax", STEPS, lambda size: [pflow, "run", "-n", "-q", pipe(size)]),
        Series("steps", "pflow check", STEPS, lambda size: [pflow, "check", flow(size)]),
        Series("steps", "pflow explain", STEPS, lambda size: [pflow, "explain", flow(size)]),
        Series("steps", "pflow export", STEPS, lambda size: [pflow, "export", "--to=python", flow(size)]),
        Series("steps", "plain pocketflow", STEPS, lambda n: [sys.executable, "-c", POCKETFLOW, str(n)], is_peer=True),
        Series("items", "batch", ITEMS, batch),
        Series("items", "pflow trace of that run", ITEMS, lambda size: [pflow, "trace", "last"]),
        Series("items", "pflow trace --html", ITEMS, lambda size: [pflow, "trace", "last", "--html"]),
        Series("items", "pflow runs, with that run", ITEMS, lambda size: [pflow, "runs"]),
        Series("items", "pflow resume, one item left", ITEMS, lambda n: [pflow, "resume", "-q", "last"], prepare=fail),
        Series("items", "pflow map", ITEMS, lambda size: [pflow, "map", "tick", "-q"], lines),
        *peer("items", ITEMS[:2], lines, "xargs", "-n1", "true"),
        *peer("items", ITEMS[:2], lines, "parallel", "-j2", "--will-cite", "true"),
        Series("store", "pflow-write-file", STORE, lambda size: [program("pflow-write-file"), f"--path={out}"], store),
        Series("store", "pflow run write-file", STORE, lambda size: [pflow, "run", f"write-file {out}"], store),
        *peer("store", STORE, store, "cat"),
        *peer("store", STORE, store, "jq", "-c", "."),
    ]


def chain(size: int) -> dict[str, object]:
    """Return a flow of so many steps, each of which takes what the one before it wrote."""
    ids = [f"s{number}" for number in range(size)]
    mappings = {id: {"input_mappings": {"n": f"{before}.n"}} for before, id in pairwise(ids)}
    return {"pflow": 1, "nodes": [{"id": id, "type": "tick"} for id in ids], "mappings": mappings}


def written(file: Path, text: Callable[[], str]) -> str:
    if not file.exists():
        file.write_text(text())
    return str(file)


def measured(series: Series) -> Growth:
    """Time each size in turn, in a state of its own, as often as fits into a few seconds; say on stderr which."""
    Path("go").touch()
    smallest = 0 if series.panel == "store" else 1
    spent = dict.fromkeys((smallest, *series.sizes), 0.0)
    least = dict.fromkeys(spent, math.inf)
    for size in [size for _ in range(ROUNDS) for size in spent]:
        if spent[size] < ENOUGH:
            print(f"\r{series.panel}: {series.title}, {short(size)}\033[K", end="", file=sys.stderr, flush=True)
            os.environ["XDG_STATE_HOME"] = str(Path(f"state-{series.panel}{size}").absolute())
            series.prepare(size)
            usage = run([series.words(size)], series.stdin(size))
            least[size] = min(least[size], usage.cpu * 1000)
            spent[size] += usage.wall
    print("\r\033[K", end="", file=sys.stderr)
    return Growth(series, least[smallest], [max(least[size] - least[smallest], 0) for size in series.sizes])


def short(size: int) -> str:
    return next((f"{size // unit}{name}" for unit, name in ((10**6, "M"), (1000, "k")) if size >= unit), str(size))


COLOURS = ("#3b82f6", "#e0701a", "#2f9e57", "#a05cf0", "#dd4b59", "#1698ab", "#8a7a2a", "#d6499f")
LOW, HIGH, WIDTH, HEIGHT = -1, 5, 300, 300
"""The powers of ten of the lowest and highest milliseconds, and the size of a panel."""
POWERS = {10**power: f"{10**power:,} ms" if power < 3 else f"{10**power // 1000} s" for power in range(LOW, HIGH + 1)}
HERE = Path(__file__).parent


def draw(found: list[Growth], plot: Path) -> None:
    """Write the plot: a panel a kind of size, a line a series, dashed if it is a peer."""
    panels = [
        {"name": name, "lines": [each for each in found if each.series.panel == name], "sizes": sizes, "about": about}
        for name, sizes, about in (
            ("steps", STEPS, "steps of a flow"),
            ("items", ITEMS, "items of a batch or a map"),
            ("store", STORE, "bytes of a store"),
        )
    ]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=FileSystemLoader(HERE))
    environment.globals |= {"x": across, "y": down, "short": short, "colours": COLOURS, "noise": NOISE, "limit": LIMIT}
    text = environment.get_template("growth.svg.jinja").render(panels=panels, width=WIDTH, height=HEIGHT, powers=POWERS)
    plot.parent.mkdir(parents=True, exist_ok=True)
    plot.write_text(text)


def across(size: float, sizes: tuple[int, ...]) -> float:
    return round(WIDTH * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0]), 1)


def down(milliseconds: float) -> float:
    return round(HEIGHT * (HIGH - math.log10(milliseconds)) / (HIGH - LOW), 1)
