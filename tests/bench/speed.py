"""`make bench`: what a start costs, against bare Python; what 100 MB that nobody reads cost, against `cat`.

CPU time is user and system time of the processes themselves, the median of many rounds in which every row has its turn,
so that a busy moment of the machine meets all of them. Run it with the interpreter of an ordinary installation.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pflow.kit.mcp.client import request
from pflow.stage.trace import event_line

BIN = Path(sys.executable).parent
BARE = [sys.executable, "-c", "pass"]
HEADER = '{"$pflow":{"v":1,"by":"bench","run":"01J00000000000000000000000","last":"text","steps":[]},\n'
MEGABYTE = 1_000_000


class Row(NamedTuple):
    """One line of the table: what runs, as processes in a pipe, and how many times bare Python it may cost.

    `variables` are for its environment; `forgotten` is removed before each turn.
    """

    title: str
    pipe: list[list[str]]
    limit: float
    stdin: Path
    variables: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    forgotten: Path | None = None


class Pair(NamedTuple):
    """Two commands, each with its environment: how many times its base a row may cost."""

    title: str
    row: tuple[list[str], dict[str, str]]
    base: tuple[list[str], dict[str, str]]
    limit: float


class Line(NamedTuple):
    """One line of the printed table: `ratio` is `value` against its base, `enough` a value that is fast in itself."""

    what: str
    value: float
    unit: str
    ratio: float
    limit: float
    enough: float = 0

    def __str__(self) -> str:
        verdict = "ok" if self.ratio <= self.limit or self.value <= self.enough else "over"
        return f"{self.what:36}{self.value:8.1f} {self.unit}{self.ratio:7.2f}x{self.limit:6.1f}x  {verdict}"


class Usage(NamedTuple):
    """What a pipe took: CPU seconds of all its processes, seconds on the clock, peak memory of each in bytes."""

    cpu: float
    wall: float
    peaks: list[int]


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench BENCH=...", description="print the speed table")
    parser.add_argument("--rounds", type=int, default=31, help="rounds of the CPU rows (31)")
    parser.add_argument("--large-rounds", type=int, default=5, help="rounds of the 100 MB rows (5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as scratch:
        lines = [
            *measure_starts(Path(scratch), options.rounds),
            *measure_engine(options.rounds),
            *measure_kept(Path(scratch), options.rounds),
            *measure_tools(Path(scratch), options.rounds),
            measure_runs(Path(scratch)),
            *measure_rows(Path(scratch), options.large_rounds),
            *measure_large(Path(scratch), options.large_rounds),
        ]
    if options.json:
        print(json.dumps([line._asdict() for line in lines], indent=1))
    else:
        print(f"{'':36}{'median':>11}{'ratio':>8}{'limit':>7}", *lines, sep="\n")


def measure_starts(scratch: Path, rounds: int) -> list[Line]:
    """CPU time of starts and of small stages, in milliseconds and against bare Python."""
    rows = start_rows(scratch)
    bare = Row("python -c pass", [BARE], 1, Path(os.devnull))
    samples: dict[str, list[float]] = {row.title: [] for row in [bare, *rows]}
    for turn in range(rounds + 1):
        for row in [bare, *rows]:
            if row.forgotten is not None:
                row.forgotten.unlink(missing_ok=True)
            usage = run(row.pipe, row.stdin, {**os.environ, **row.variables})
            if turn:  # the first fills the file cache
                samples[row.title].append(usage.cpu)
    cpu = {title: statistics.median(sample) * 1000 for title, sample in samples.items()}
    return [Line(row.title, cpu[row.title], "ms", cpu[row.title] / cpu[bare.title], row.limit) for row in [bare, *rows]]


def start_rows(scratch: Path) -> list[Row]:
    text, store, nothing = scratch / "text", scratch / "store", Path(os.devnull)
    text.write_text("a line of text\n" * 130)
    store.write_text(HEADER + json.dumps("text") + ":" + json.dumps("a line of text\n" * 130) + "\n}\n")
    read = [program("pflow-read-file"), f"--path={text}"]
    write = [program("pflow-write-file"), f"--path={scratch / 'out'}"]
    write_again = [program("pflow-write-file"), f"--path={scratch / 'again'}"]
    return [
        Row("pflow-read-file --version", [[program("pflow-read-file"), "--version"]], 1.2, nothing),
        Row("pflow --version", [[program("pflow"), "--version"]], 1.2, nothing),
        Row("read-file, 2 KB store", [read], 1.6, store),
        Row("write-file, 2 KB store", [write], 1.6, store),
        Row("read-file -r, a bare word", [[read[0], "-r", str(text)]], 1.6, store),
        Row("read-file | write-file | write-file", [read, write, write_again], 5.5, store),
        Row("pflow-read-file --help", [[program("pflow-read-file"), "--help"]], 5, nothing),
        Row("pflow --help", [[program("pflow"), "--help"]], 5, nothing),
        *flow_rows(scratch, text),
        *nodes_rows(scratch),
        *find_rows(scratch),
        *tab_rows(),
    ]


def flow_rows(scratch: Path, text: Path) -> list[Row]:
    """A flow of two steps, as pipe syntax and as IR, and a check of a hundred steps. The runs keep their logs."""
    os.environ["XDG_STATE_HOME"] = str(scratch / "state")
    pipe = f"read-file --path={text} => write-file --path={scratch / 'out'}"
    two, hundred = scratch / "two.pflow.json", scratch / "hundred.pflow.json"
    nodes = [
        {"id": "read-file", "inputs": {"path": str(text)}},
        {"id": "write-file", "inputs": {"path": str(scratch / "out")}},
    ]
    two.write_text(json.dumps({"pflow": 1, "nodes": nodes}))
    ids = [f"step{number}" for number in range(100)]
    steps = [{"id": id, "type": "shell", "inputs": {"command": "cat"}} for id in ids]
    mappings = {id: {"input_mappings": {"input": f"{before}.stdout"}} for before, id in pairwise(ids)}
    outputs = {"last": f"{ids[-1]}.stdout"}
    hundred.write_text(json.dumps({"pflow": 1, "nodes": steps, "mappings": mappings, "outputs": outputs}))
    pflow, nothing = program("pflow"), Path(os.devnull)
    return [
        Row("pflow run 'read-file => write-file'", [[pflow, "run", pipe]], 3.5, nothing),
        Row("the same from a .pflow.json", [[pflow, "run", str(two)]], 6, nothing),
        Row("pflow check, 100 steps", [[pflow, "check", str(hundred)]], 25, nothing),
    ]


NODE = """\
#!/bin/sh
# Turn a text into number {0}, as a node of many would.
#
# Interface:
# - Reads: shared["text"]: str [pipe]  # the text
# - Writes: shared["out_{0}"]: str [pipe]  # what came of it
# - Params: size: int = {0}  # how large
# - Effects: none
exec cat
"""


def nodes_rows(scratch: Path) -> list[Row]:
    """A list of 500 nodes in any language, with none of them remembered, and with all."""
    many, nothing = scratch / "many", Path(os.devnull)
    many.mkdir()
    for number in range(500):
        file = many / f"pflow-node-{number}"
        file.write_text(NODE.format(number))
        file.chmod(0o755)
    command = [[program("pflow"), "nodes"]]
    path = f"{many}:{os.environ['PATH']}"
    cold, warm = ({"PATH": path, "XDG_CACHE_HOME": str(scratch / name)} for name in ("cold", "warm"))
    return [
        Row("pflow nodes, 500 on PATH, cold", command, 10, nothing, cold, scratch / "cold" / "pflow" / "nodes.json"),
        Row("pflow nodes, 500 on PATH, warm", command, 3, nothing, warm),
    ]


def find_rows(scratch: Path) -> list[Row]:
    """The nearest of 500 saved flows, by words: 0.3 s at most, where bare Python takes 15 ms."""
    folder = scratch / "data" / "pflow" / "flows"
    folder.mkdir(parents=True)
    inputs = {"path": {"type": "path", "description": "what is read"}, "out": {"type": "path", "default": "out.md"}}
    for number in range(500):
        verb = ("Summarize", "Translate", "Compare", "Archive", "Chart")[number % 5]
        steps = [{"type": type} for type in ("read-file", "llm", "write-file")]
        about = f"{verb} the reports of department {number} and write them to a file."
        flow = {"pflow": 1, "description": about, "inputs": inputs, "nodes": steps}
        (folder / f"report-{number}.pflow.json").write_text(json.dumps(flow, indent=2))
    variables = {"XDG_DATA_HOME": str(scratch / "data"), "LLM_USER_PATH": str(scratch / "no-llm")}
    words = "a short version of what department seven reported"
    command = [program("pflow"), "find", "--by=words", words]
    return [Row("pflow find, 500 saved flows", [command], 20, Path(os.devnull), variables)]


def tab_rows() -> list[Row]:
    """What TAB starts: for names, flags and models, inside a quoted flow and behind one."""
    lines = {"pflow-llm --": 2.5, "pflow ": 2.5, "pflow-llm --model=": 2.5}
    lines |= {"pflow 'read-file => llm --": 2.5, "pflow 'read-file => llm' --": 4}
    command = [program("pflow"), "__complete", "fish"]
    return [Row(f"TAB: {line}", [[*command, line]], limit, Path(os.devnull)) for line, limit in lines.items()]


def measure_engine(rounds: int) -> list[Line]:
    """CPU time of 1,000 steps against plain pocketflow, and ten branches that each wait half a second, on the clock."""
    command = [sys.executable, str(Path(__file__).with_name("engine.py")), str(rounds)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    base = found["pocketflow"]
    return [
        Line("1,000 steps, plain pocketflow", base * 1000, "ms", 1, 1),
        Line("1,000 steps, pflow's engine", found["engine"] * 1000, "ms", found["engine"] / base, 1.1),
        # A killed run keeps its events: each is written before the next step begins, so 0.03 ms a step are enough.
        Line("the same with mappings and trace", found["traced"] * 1000, "ms", found["traced"] / base, 3, 1000 * 0.03),
        Line("ten branches that wait 0.5 s", found["branches"] * 1000, "ms", found["branches"] / 0.5, 1.4),
    ]


TICK = '''\
from pflow import Node


class Tick(Node):
    """Count.

    Interface:
    - Reads: shared["n"]: int  # so far
    - Writes: shared["n"]: int  # one more
    - Params: stop: int = 1000  # where it is done
    - Actions: default, done
    """

    def prep(self, shared):
        return shared["n"]

    def exec(self, n):
        return n + 1

    def post(self, shared, before, n):
        shared["n"] = n
        return "done" if n >= self.params["stop"] else "default"
'''


def measure_kept(scratch: Path, rounds: int) -> list[Line]:
    """CPU time of what is kept of runs and of answers, each row against the same without it."""
    nodes, text = scratch / "nodes", scratch / "read"
    nodes.mkdir()
    text.write_text("a line of text\n" * 130)
    (nodes / "tick.py").write_text(TICK)
    pure = TICK.replace("import Node", "import Node, flow_safe").replace("class Tick", "@flow_safe\nclass Pure")
    (nodes / "pure.py").write_text(pure)
    kept = {**os.environ, "PFLOW_NODES": str(nodes), "XDG_CACHE_HOME": str(nodes)}
    bare = {name: value for name, value in kept.items() if name not in ("HOME", "XDG_STATE_HOME")}
    start = [program("pflow"), "run", "-n", "-q", "--n=0"]
    read = [program("pflow-read-file"), "-n", "-q", str(text)]
    tick, hits = ([*start, str(loop_of(name, scratch))] for name in ("tick", "pure"))
    rows = [
        Pair("1,000 visits, log and journal on", (tick, kept), ([*tick, "--no-journal"], bare), 2),
        Pair("1,000 visits, all from the cache", (hits, kept), (tick, kept), 2),
        Pair("a stage from the cache", ([*read, "--cache"], kept), (read, kept), 1.3),
    ]
    return [measure_pair(row, rounds) for row in rows]


def measure_tools(scratch: Path, rounds: int) -> list[Line]:
    """A stage that calls a tool of a kept MCP server, against a stage that reads a file, and its call on the clock."""
    kept = {**os.environ, "HOME": str(scratch / "home"), "XDG_RUNTIME_DIR": str(scratch), "XDG_DATA_HOME": ""}
    (scratch / "home").mkdir()
    server, text = Path(__file__).parents[1] / "broker" / "server.py", scratch / "line"
    text.write_text("a line of text")

    def mcp(*words: str) -> None:
        subprocess.run([program("pflow"), "mcp", *words], env=kept, capture_output=True, check=True)

    def call() -> float:
        begun = time.perf_counter()
        request(path, {"call": {"server": "box", "tool": "echo", "arguments": {"text": "a"}}}, "call")
        return time.perf_counter() - begun

    mcp("add", "box", "--", sys.executable, str(server))
    mcp("up", "box")
    tool = [str(scratch / "home/.local/bin/pflow-mcp-box-echo"), "-n", "-r", "--text=a line of text"]
    read = [program("pflow-read-file"), "-n", "-r", str(text)]
    [path] = map(str, (scratch / "pflow").glob("up-*"))
    try:
        warm = statistics.median([call() for _ in range(rounds + 1)][1:])
        pair = measure_pair(Pair("a tool of a kept MCP server", (tool, kept), (read, kept), 1.3), rounds)
    finally:
        mcp("down")
    return [pair, Line("its call, of 10 ms", warm * 1000, "ms", warm / 0.010, 1)]


def loop_of(node: str, scratch: Path) -> Path:
    """The file of a flow that visits a node 1,000 times."""
    flow = scratch / f"{node}.pflow.json"
    steps = [{"type": node, "max_visits": 1000}, {"id": "end", "type": "list-files", "inputs": {"pattern": "none"}}]
    edges = [{"from": node, "to": node}, {"from": node, "to": "end", "action": "done"}]
    flow.write_text(json.dumps({"nodes": steps, "edges": edges}))
    return flow


def measure_pair(pair: Pair, rounds: int) -> Line:
    samples: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        for sample, (command, variables) in zip(samples, (pair.row, pair.base), strict=True):
            usage = run([command], Path(os.devnull), variables)
            if turn:  # the first fills the caches
                sample.append(usage.cpu)
    row, base = map(statistics.median, samples)
    return Line(pair.title, row * 1000, "ms", row / base, pair.limit)


def measure_runs(scratch: Path, count: int = 10_000, rounds: int = 3) -> Line:
    """CPU time of a list of many runs, of which every second one failed, against a second."""
    runs = scratch / "many-runs" / "pflow" / "runs"
    step = {"step": "read-file", "node": "read-file", "version": "1.0.0", "visit": 1}
    end = {**step, "reads": {"path": []}, "writes": {"content": ["content"]}, "ms": 0.1}
    begin = event_line("run", {"name": "flow", "flow_hash": "0" * 64, "steps": 2}) + event_line("start", step)
    for number in range(count):
        failed = {"exit": 66, "message": "cannot read 'nope': no such file"} if number % 2 else {}
        events = begin + event_line("end", {**end, **failed}) + event_line("finish", {"exit": 0, "ms": 0.2, **failed})
        one = runs / f"01{number:024}"
        one.mkdir(parents=True)
        (one / "trace.jsonl").write_bytes(events)
        (one / "lock").touch()
    variables = {**os.environ, "XDG_STATE_HOME": str(scratch / "many-runs")}
    usages = [run([[program("pflow"), "runs"]], Path(os.devnull), variables) for _ in range(rounds)]
    cpu = statistics.median(usage.cpu for usage in usages)
    return Line(f"pflow runs, {count:,} runs, of 1 s", cpu * 1000, "ms", cpu, 1)


CLEAN = ("clean-whitespace", "then", "skip-trivial-records", "then", "uniq", "-a")
COUNTED = "field_type,count,null_count,distinct_count,mode,mean,min,p25,median,p75,max"


def measure_rows(scratch: Path, rounds: int, count: int = 300_000) -> list[Line]:
    """CPU time of a table that is loaded, cleaned, analyzed and saved, against Miller, where it is installed."""
    if shutil.which("mlr") is None:
        return []
    table, report = scratch / "sales.csv", scratch / "report.json"
    write_sales(table, count)
    flow = f"load-csv --file={table} => clean-data => analyze --method=detailed => save-results --file={report}"
    miller = ["mlr", "--icsv", "--ojson", *CLEAN, "then", "summary", "-a", COUNTED, str(table)]
    quiet = ["sh", "-c", 'exec "$@" 2>/dev/null', "sh"]  # clean-data says what it dropped
    row = ([*quiet, program("pflow"), "run", "-q", flow], dict(os.environ))
    lines = [program("pflow"), "run", "-q", f"load-csv --file={table} => save-results --file={scratch / 'rows.jsonl'}"]
    pairs = [
        Pair(f"{count:,} rows, against Miller", row, (miller, dict(os.environ)), 3),
        Pair("its rows to JSON lines, against that", (lines, dict(os.environ)), row, 0.5),
    ]
    return [measure_pair(pair, rounds) for pair in pairs]


def write_sales(table: Path, count: int) -> None:
    """Rows of eight columns, some of them empty, some twice, some with white space and quotes."""
    notes = ["", "fine", "  late  ", '"said ""no"", twice"', '"a, b"', "Łódź"]
    with table.open("w", encoding="utf-8") as file:
        file.write("id,date,customer,city,quantity,price,paid,note\n")
        for n in range(count):
            line = f"{n},2026-{n % 12 + 1:02}-{n % 28 + 1:02},Customer {n * 7919 % (count // 10)},City {n % 12},"
            line += f"{n % 20 + 1},{n * 7919 % 99991 / 100},{'true' if n % 3 else 'false'},{notes[n % 6]}\n"
            file.write(line * 2 if n % 400 == 0 else ",,,,,,,\n" if n % 500 == 1 else line)


def measure_large(scratch: Path, rounds: int) -> list[Line]:
    """Time on the clock and peak memory of a stage that 100 MB pass through, against `cat` in its place."""
    document = scratch / "large"
    write_large(document)
    size = document.stat().st_size
    stage = [program("pflow-write-file"), f"--path={scratch / 'out'}"]
    walls: dict[str, list[float]] = {"stage": [], "cat": []}
    peaks = []
    for turn in range(rounds + 1):
        passed = {"stage": run([["cat"], stage, ["cat"]], document), "cat": run([["cat"]] * 3, document)}
        if turn:
            peaks.append(passed["stage"].peaks[1])
            for name, usage in passed.items():
                walls[name].append(usage.wall)
    wall, cat = (statistics.median(walls[name]) * 1000 for name in ("stage", "cat"))
    return [
        Line("cat | cat | cat, 100 MB", cat, "ms", 1, 1),
        Line("cat | write-file | cat, 100 MB", wall, "ms", wall / cat, 4),
        Line("its peak memory, of the document", max(peaks) / MEGABYTE, "MB", max(peaks) / size, 1.3),
    ]


def write_large(document: Path) -> None:
    """A store with a text to write and 100 MB that write-file does not read, in pieces: see `run`."""
    piece = json.dumps("a “quoted” line\n" * 1000, ensure_ascii=False)[1:-1]
    with document.open("w", encoding="utf-8") as file:
        file.write(HEADER + '"text":"short",\n"large":"')
        for _ in range(100 * MEGABYTE // len(piece.encode()) + 1):
            file.write(piece)
        file.write('"\n}\n')


def program(name: str) -> str:
    path = BIN / name
    if not os.access(path, os.X_OK):
        raise SystemExit(f"make bench: cannot find '{name}' in {BIN}")
    return str(path)


def run(pipe: list[list[str]], stdin: Path, environment: Mapping[str, str] = os.environ) -> Usage:
    """Run a pipe from a file to nowhere. Whatever fails ends the bench.

    A child's peak memory counts from what this process had at the fork: it stays small.
    """
    began = time.perf_counter()
    source = os.open(stdin, os.O_RDONLY)
    children = []
    for at, command in enumerate(pipe):
        after, sink = (None, os.open(os.devnull, os.O_WRONLY)) if at == len(pipe) - 1 else os.pipe()
        wiring = [(os.POSIX_SPAWN_DUP2, source, 0), (os.POSIX_SPAWN_DUP2, sink, 1)]
        children.append(
            os.posix_spawnp(command[0], command, environment, file_actions=wiring, setsigdef=[signal.SIGPIPE])
        )
        os.close(source)
        os.close(sink)
        source = after
    results = [os.wait4(child, 0) for child in children]
    wall = time.perf_counter() - began
    for command, (_, status, _) in zip(pipe, results, strict=True):
        if status:
            raise SystemExit(f"make bench: {command} ended with {os.waitstatus_to_exitcode(status)}")
    usages = [usage for _, _, usage in results]
    unit = 1 if sys.platform == "darwin" else 1024
    return Usage(sum(u.ru_utime + u.ru_stime for u in usages), wall, [u.ru_maxrss * unit for u in usages])


if __name__ == "__main__":
    main()
