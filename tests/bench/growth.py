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

PANELS = {
    "steps of a flow": (1, 10, 100, 1000),
    "items of a batch or a map": (1, 100, 1000, 100_000),
    "bytes of a store": (0, 1000, 1_000_000, 100_000_000),
}
STEPS, ITEMS, STORE = PANELS
ROUNDS, ENOUGH, LIMIT, NOISE = 9, 4.0, 1.1, 0.1
COLOURS = ("#3b82f6", "#e0701a", "#2f9e57", "#a05cf0", "#dd4b59", "#1698ab", "#8a7a2a", "#d6499f")
LABELS = {0.1: "0.1 ms", 1: "1 ms", 10: "10 ms", 100: "100 ms", 1e3: "1 s", 1e4: "10 s", 1e5: "100 s"}
TICK = '''\
import os

from pflow import Node


class Tick(Node):
    """Take a value on; fail at `last` until the file `go` is there.

    Interface:
    - Reads: shared["n"]: any = 0 [pipe] [word]  # the value
    - Writes: shared["n"]: any [pipe]  # the same
    """

    def post(self, shared, before, after):
        if shared["n"] == "last" and not os.path.exists("go"):
            raise OSError("there is no go")
        shared["n"] = shared["n"]
'''
POCKETFLOW = """\
import sys
from pocketflow import Flow, Node


class Tick(Node):
    def post(self, shared, before, after):
        shared["n"] += 1


start = last = Tick()
for _ in range(int(sys.argv[1]) - 1):
    last = last.next(Tick())
Flow(start).run({"n": 0})
"""


class Series(NamedTuple):
    """What grows: the words and stdin of a size up to `most`, and what is done before each round.

    A peer is another program, which has no verdict.
    """

    panel: str
    title: str
    words: Callable[[int], list[str]]
    stdin: Callable[[int], Path] = lambda size: NOTHING
    prepare: Callable[[int], None] = lambda size: None
    is_peer: bool = False
    most: int = 10**9

    @property
    def sizes(self) -> list[int]:
        return [size for size in PANELS[self.panel][1:] if size <= self.most]


class Growth(NamedTuple):
    """A series with its CPU times, in ms: the start, and what each size takes more."""

    series: Series
    start: float
    rests: list[float]

    @property
    def points(self) -> list[tuple[int, float]]:
        return list(zip(self.series.sizes, self.rests, strict=True))

    @property
    def exponents(self) -> list[float | None]:
        """The exponent from each size to the next; None where it would begin or end in noise."""
        points, noise = self.points, self.start * NOISE
        points[-2] = (points[-2][0], max(points[-2][1], noise))
        return [slope(a, b) if min(a[1], b[1]) >= noise else None for a, b in pairwise(points)]

    def __str__(self) -> str:
        found = [each for each in self.exponents if each is not None]
        shown = [f"{'–' if each is None else f'{each:.2f}':>6}" for each in self.exponents]
        verdict = "peer" if self.series.is_peer else "over" if max(found, default=0) > LIMIT else "ok"
        rests = "".join(f"{rest:12,.1f}" for rest in self.rests)
        return f"{self.series.title:34}{self.start:8.1f}{rests:36}{''.join(shown):>14}  {verdict}"


def slope(one: tuple[float, float], other: tuple[float, float]) -> float:
    return math.log(other[1] / one[1]) / math.log(other[0] / one[0])


def rows(scratch: Path, plot: Path) -> list[str]:
    """Measure, draw the plot, and return the lines of the table."""
    plot = plot.absolute()
    os.chdir(scratch)
    (scratch / "tick.py").write_text(TICK)
    os.environ |= {"PFLOW_NODES": str(scratch), "XDG_CACHE_HOME": str(scratch / "cache")}
    found = [measured(each) for each in all_series(scratch)]
    panels = {panel: [each for each in found if each.series.panel == panel] for panel in PANELS}
    draw(panels, plot)
    lines = []
    for panel, several in panels.items():
        sizes = "".join(f"{'+' + short(size):>12}" for size in PANELS[panel][1:])
        lines += [f"{'CPU ms, ' + panel:34}{'start':>8}{sizes}{'exponents':>14}", *map(str, several)]
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

    def peer(panel: str, stdin: Callable[[int], Path], most: int, *words: str) -> list[Series]:
        found = Series(panel, words[0], lambda size: [*words], stdin, is_peer=True, most=most)
        return [] if is_missing(words[0]) else [found]

    return [
        Series(STEPS, "pflow run", lambda size: [pflow, "run", "-n", "-q", flow(size)]),
        Series(STEPS, "pflow trace of that run", lambda size: [pflow, "trace", "last"]),
        Series(STEPS, "pflow trace --html", lambda size: [pflow, "trace", "last", "--html"]),
        Series(STEPS, "pflow run, pipe syntax", lambda size: [pflow, "run", "-n", "-q", pipe(size)]),
        Series(STEPS, "pflow check", lambda size: [pflow, "check", flow(size)]),
        Series(STEPS, "pflow explain", lambda size: [pflow, "explain", flow(size)]),
        Series(STEPS, "pflow export", lambda size: [pflow, "export", "--to=python", flow(size)]),
        Series(STEPS, "plain pocketflow", lambda n: [sys.executable, "-c", POCKETFLOW, str(n)], is_peer=True),
        Series(ITEMS, "pflow run, a batch", batch),
        Series(ITEMS, "pflow trace of that run", lambda size: [pflow, "trace", "last"]),
        Series(ITEMS, "pflow trace --html", lambda size: [pflow, "trace", "last", "--html"]),
        Series(ITEMS, "pflow runs, with that run", lambda size: [pflow, "runs"]),
        Series(ITEMS, "pflow resume, one item left", lambda n: [pflow, "resume", "-q", "last"], prepare=fail),
        Series(ITEMS, "pflow map", lambda size: [pflow, "map", "tick", "-q"], lines),
        *peer(ITEMS, lines, 1000, "xargs", "-n1", "true"),
        *peer(ITEMS, lines, 1000, "parallel", "-j2", "--will-cite", "true"),
        Series(STORE, "pflow-write-file", lambda size: [program("pflow-write-file"), f"--path={out}"], store),
        Series(STORE, "pflow run write-file", lambda size: [pflow, "run", f"write-file {out}"], store),
        *peer(STORE, store, 10**9, "cat"),
        *peer(STORE, store, 10**9, "jq", "-c", "."),
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
    smallest = PANELS[series.panel][0]
    spent = dict.fromkeys((smallest, *series.sizes), 0.0)
    least = dict.fromkeys(spent, math.inf)
    for size in [size for _ in range(ROUNDS) for size in spent]:
        if spent[size] < ENOUGH:
            print(f"\r{series.panel}: {series.title}, {short(size)}\033[K", end="", file=sys.stderr, flush=True)
            os.environ["XDG_STATE_HOME"] = str(Path(f"state-{series.panel[:5]}{size}").absolute())
            series.prepare(size)
            usage = run([series.words(size)], series.stdin(size))
            least[size] = min(least[size], usage.cpu * 1000)
            spent[size] += usage.wall
    print("\r\033[K", end="", file=sys.stderr)
    return Growth(series, least[smallest], [max(least[size] - least[smallest], 0) for size in series.sizes])


def short(size: int) -> str:
    return next((f"{size // unit}{name}" for unit, name in ((10**6, "M"), (1000, "k")) if size >= unit), str(size))


def draw(panels: dict[str, list[Growth]], plot: Path) -> None:
    """Write the plot: a panel a kind of size, a line a series, dashed if it is a peer."""
    folder = FileSystemLoader(Path(__file__).parent)
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=folder)
    template.globals |= {"log": math.log10, "short": short, "colours": COLOURS, "noise": NOISE, "limit": LIMIT}
    plot.parent.mkdir(parents=True, exist_ok=True)
    text = template.get_template("growth.svg.jinja").render(panels=panels, all_sizes=PANELS, labels=LABELS)
    plot.write_text(text)
