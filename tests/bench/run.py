"""`make bench`: what pflow costs, against bare Python and other programs, and how that grows. BENCH='--only growth'.

Run it with the interpreter of an ordinary installation, whose pflow is measured.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # behind the installed pflow

from tests.bench import growth, maps, peers, speed
from tests.bench.measure import Line

PARTS = ("speed", "peers", "maps", "growth")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench BENCH=...", description="print the speed table")
    parser.add_argument("--only", choices=PARTS, help="print one part")
    parser.add_argument("--rounds", type=int, default=31, help="rounds of the CPU rows (31)")
    parser.add_argument("--large-rounds", type=int, default=5, help="rounds of the large rows (5)")
    parser.add_argument("--items", type=int, default=100_000, help="no-op items of the map (100000)")
    parser.add_argument("--plot", type=Path, default=Path("build/growth.svg"), help="the plot (build/growth.svg)")
    parser.add_argument("--json", action="store_true", help="print the ratios as JSON")
    options = parser.parse_args()
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(name, None)
    loads = [os.getloadavg()[0]]
    for part in [options.only] if options.only else PARTS:
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["XDG_STATE_HOME"] = f"{scratch}/state"
            print(*lines_of(part, Path(scratch), options), sep="\n", flush=True)
        loads.append(os.getloadavg()[0])
    print(f"load of the machine: {' '.join(f'{load:.1f}' for load in loads)}, {os.cpu_count()} CPUs", file=sys.stderr)


def lines_of(part: str, scratch: Path, options: argparse.Namespace) -> list[Line | str]:
    """Measure a part, and return its lines."""
    if part == "maps":
        return [*maps.rows(scratch, options.items)]
    if part == "growth":
        return [*growth.rows(scratch, options.plot)]
    lines = [
        *(speed.measure(scratch, options.rounds) if part == "speed" else peers.measure(scratch, options.large_rounds))
    ]
    if options.json:
        return [json.dumps([line._asdict() for line in lines], indent=1)]
    return [f"{'':36}{'median':>11}{'ratio':>8}{'limit':>7}", *lines]


if __name__ == "__main__":
    main()
