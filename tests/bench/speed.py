"""The rows of `make bench` about starts, the engine and what is kept, against bare Python or plain pocketflow.

Each is the median of many rounds in which every row has its turn, so that a busy moment of the machine meets all.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from pflow.mcp.client.node import request
from pflow.stage.trace import event_line
from tests.bench.measure import BARE, HEADER, Line, Pair, Row, measure_pair, program, run


def measure(scratch: Path, rounds: int) -> list[Line]:
    return [
        *measure_starts(scratch, rounds),
        *measure_engine(rounds),
        *measure_kept(scratch, rounds),
        *measure_tools(scratch, rounds),
        measure_pack(scratch, rounds),
        measure_runs(scratch),
    ]


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
    server, text = Path(__file__).parents[1] / "mcp" / "client" / "server.py", scratch / "line"
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


def measure_pack(scratch: Path, rounds: int) -> Line:
    """A stage of an installed node, which is confined, against the same class as a user's own."""
    home, pack = scratch / "of-packs", Path(__file__).parents[2] / "examples" / "pack"
    home.mkdir()
    kept = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""}
    own = kept | {"XDG_DATA_HOME": str(home), "PFLOW_NODES": str(pack / "nodes")}
    install = [program("pflow"), "install", str(pack), "--yes", "--allow=files,commands"]
    subprocess.run(install, env=kept, capture_output=True, check=True)
    words = ["-n", "-q", "--text=a line of text"]
    installed = [str(home / ".local/bin/pflow-frequent-words"), *words]
    pair = Pair("a node of a pack", (installed, kept), ([program("pflow"), "frequent-words", *words], own), 1.2)
    return measure_pair(pair, rounds)


def loop_of(node: str, scratch: Path) -> Path:
    """The file of a flow that visits a node 1,000 times."""
    flow = scratch / f"{node}.pflow.json"
    steps = [{"type": node, "max_visits": 1000}, {"id": "end", "type": "list-files", "inputs": {"pattern": "none"}}]
    edges = [{"from": node, "to": node}, {"from": node, "to": "end", "action": "done"}]
    flow.write_text(json.dumps({"nodes": steps, "edges": edges}))
    return flow


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
    specs = [run([[program("pflow"), "runs"]], Path(os.devnull), variables) for _ in range(rounds)]
    cpu = statistics.median(usage.cpu for usage in specs)
    return Line(f"pflow runs, {count:,} runs, of 1 s", cpu * 1000, "ms", cpu, 1)
