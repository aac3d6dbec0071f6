"""The rows of `make bench` that hold pflow to other programs at the same job: `cat`, jq, Miller, `llm`."""

import json
import os
import statistics
from pathlib import Path

from tests.bench.measure import BIN, HEADER, MEGABYTE, Line, Pair, Usage, is_missing, measure_pair, program, run
from tests.peers.openai_server import OpenAIServer

CLEAN = ("clean-whitespace", "then", "skip-trivial-records", "then", "uniq", "-a")
COUNTED = "field_type,count,null_count,distinct_count,mode,mean,min,p25,median,p75,max"


def measure(scratch: Path, rounds: int) -> list[Line]:
    return [*measure_rows(scratch, rounds), *measure_question(scratch, rounds), *measure_large(scratch, rounds)]


def measure_rows(scratch: Path, rounds: int, count: int = 300_000) -> list[Line]:
    """CPU time of a table that is loaded, cleaned, analyzed and saved, against Miller, where it is installed."""
    if is_missing("mlr"):
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


def measure_question(scratch: Path, rounds: int) -> list[Line]:
    """CPU time of a question to a model behind a server on this machine, against `llm`, which pflow stands on."""
    (scratch / "server").mkdir()
    with OpenAIServer(scratch / "server") as server:
        kept = {**os.environ, "LLM_USER_PATH": str(server.llm_user_path), "NO_PROXY": "127.0.0.1"}
        words = ["-m", "reply", "Name three trees"]
        row, base = [program("pflow-llm"), "-n", *words], [str(BIN / "llm"), "--no-log", *words]
        return [measure_pair(Pair("a question, against llm", (row, kept), (base, kept), 1.1), rounds)]


def measure_large(scratch: Path, rounds: int) -> list[Line]:
    """Time on the clock and peak memory of a stage that 100 MB pass through, against `cat` and jq in its place."""
    document = scratch / "large"
    write_store(document, 100 * MEGABYTE)
    size = document.stat().st_size
    stages = {"cat": ["cat"], "write-file": [program("pflow-write-file"), f"--path={scratch / 'out'}"]}
    stages |= {} if is_missing("jq") else {"jq": ["jq", "-c", "."]}
    specs: dict[str, list[Usage]] = {name: [] for name in stages}
    for turn in range(rounds + 1):
        for name, stage in stages.items():
            usage = run([["cat"], stage, ["cat"]], document)
            specs[name] += [usage] * (turn > 0)
    walls = {name: statistics.median(usage.wall for usage in found) * 1000 for name, found in specs.items()}
    peak, wall = max(usage.peaks[1] for usage in specs["write-file"]), walls["write-file"]
    return [
        Line("cat | cat | cat, 100 MB", walls["cat"], "ms", 1, 1),
        Line("cat | write-file | cat, 100 MB", wall, "ms", wall / walls["cat"], 4),
        *([Line("the same, against cat | jq | cat", wall, "ms", wall / walls["jq"], 1)] if "jq" in walls else []),
        Line("its peak memory, of the document", peak / MEGABYTE, "MB", peak / size, 1.3),
    ]


def write_store(document: Path, size: int) -> None:
    """Write a store with a text to write and `size` bytes that write-file does not read, in pieces: see `run`."""
    piece = json.dumps("a “quoted” line\n" * 1000, ensure_ascii=False)[1:-1]
    with document.open("w", encoding="utf-8") as file:
        file.write(HEADER + '"text":"short",\n"large":"')
        for _ in range(size // len(piece.encode())):
            file.write(piece)
        file.write("x" * (size % len(piece.encode())))
        file.write('"\n}\n')
