"""`make doors`: take small flows and their inputs through all doors, and hold what leaves to one meaning.

Each case goes by `pflow run FILE` and by other doors that are drawn; a difference is printed with the command that
repeats it.
"""

import argparse
import importlib.util
import itertools
import json
import os
import random
import re
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from tests.doors.doors import BIN, DOORS, NODES, SECRET, Refused, Unfit, go, typed_by
from tests.doors.flows import Case, cases
from tests.doors.meaning import Outcome, meaning
from tests.peers.openai_server import OpenAIServer

CASES, DRAWN = 6000, 6
"""By so many doors beside the first, each pair of doors meets 300 times."""
REFERENCE = "file"
RARE, SLOW = ("bytes",), ("dask", "mcp")
"""Doors that few cases fit, and that come first; doors that take long, and come last in each twentieth case."""
LOADED = """commands._dispatch commands.run commands.map commands.export commands.import commands.save
    commands.resume commands.replay driver.driver driver.execution driver.flow engine.engine export.python export.sh
    export.pipe flow.rules flow.python_file mcp.server.calls mcp.server.catalogue many.map many.item models.ask
    nodes.llm stage.stage stage.main"""
"""The modules of pflow that are loaded once, for all forks."""
QUIET = settings(max_examples=2, database=None, deadline=None, suppress_health_check=list(HealthCheck))


class Difference(NamedTuple):
    """What a door shows in a part of the outcome, and what was meant."""

    door: str
    part: str
    own: Any
    meant: Any

    def __str__(self) -> str:
        return f"{self.door}: {self.part} {self.own!r}, not {self.meant!r}"

    @property
    def kind(self) -> str:
        """The difference without its values."""
        if self.part not in ("message", "exit"):
            return f"{self.door}: {self.part}"
        own, meant = (re.sub("\\d+|'[^']*'|`[^`]*`|\"[^\"]*\"", "_", str(each)) for each in (self.own, self.meant))
        return f"{self.door}: {self.part} {own}, not {meant}".replace("\n", " ")[:240]


class Result(NamedTuple):
    """A case that went through its doors: how each ended, and what differs."""

    case: Case
    doors: dict[str, str]
    differences: list[Difference]


def draw_case(number: int, of: int, hold: Callable[[Case], object] = lambda case: None) -> Case:
    """Return the case of a number; if `hold` fails for it, the smallest that hypothesis makes of it."""
    drawn: list[Case] = []

    @seed(of * 1_000_003 + number)
    @settings(QUIET, phases=[Phase.generate, Phase.shrink], verbosity=Verbosity.quiet)
    @given(st.integers(0, 1 << 32), cases())  # hypothesis wants what is drawn first to be new: then the rest is free
    def draw(free: int, case: Case) -> None:
        drawn.append(case)
        hold(case)

    with suppress(AssertionError):
        draw()
    return drawn[-1]  # the first is always the simplest, and the last the one that fails


def draw_doors(number: int, of: int, names: list[str]) -> list[str]:
    """Return the doors of a case in the order in which they are tried: those that are unfit make way for others."""
    drawn = random.Random(f"{of}/{number}").sample(names, len(names))
    return sorted(drawn, key=lambda name: (name not in RARE, name in SLOW and number % 20 == 0))


def run_case(case: Case, order: list[str], count: int, top: Path) -> Result:
    """Take a case through the first doors of an order that can take it, and compare what leaves."""
    ways, differences = dict[str, str](), list[Difference]()
    reference: Outcome | None = None
    for name in [REFERENCE, *order]:
        if len(ways) > count:
            break
        with suppress(Unfit):
            try:
                outcome = go(name, case, top / name)
                reference = reference or outcome
                ways[name] = "went"
                expected = meaning(case.flow, case.values, case.files, typed=typed_by(name, case))
                known = [(each.part, each.own) for each in differences if each.door == REFERENCE]
                found = differing(name, case, outcome, expected, reference)
                differences += [each for each in found if (each.part, each.own) not in known]
            except Refused as refusal:
                ways[name] = f"refused: {refusal}"
                if "bug in pflow" in str(refusal):
                    differences.append(Difference(name, "refusal", str(refusal), "its reason"))
            except AssertionError as error:
                ways[name] = "broke"
                differences.append(Difference(name, "message", str(error), ""))
    return Result(case, ways, differences)


def differing(door: str, case: Case, outcome: Outcome, meant: Outcome, reference: Outcome) -> Iterator[Difference]:
    """Yield what a door shows that is not what was meant; what is not said by the model is as by the reference."""
    if outcome.exit not in ({65, 2} if meant.exit == 65 else {meant.exit}):
        yield Difference(door, "exit", f"{outcome.exit} ({plain(outcome.message)})", meant.exit)
        return
    outcome = outcome._replace(exit=meant.exit, message=plain(outcome.message))
    meant = meant._replace(message=meant.message or plain(reference.message), hash=reference.hash)
    if door in ("bytes", "json") and not meant.carried:  # they carry what came
        meant = meant._replace(carried=None, raw=None)
    if case.files:  # a saved flow names its subflow in full
        meant = meant._replace(hash=None)
    for part, own, right in zip(Outcome._fields, outcome, meant, strict=True):
        if None in (own, right) or same(own) == same(right):
            continue
        if part in ("store", "outputs"):
            keys = [key for key in {**own, **right} if same(own.get(key, ...)) != same(right.get(key, ...))]
            own, right = ({key: each.get(key, ...) for key in keys} for each in (own, right))
        yield Difference(door, part, own, right)


def same(value: Any) -> str:
    """Return a value as a text in which 1, 1.0 and true differ, without what a model's answer cost."""

    def uncounted(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: uncounted(each) for key, each in value.items() if key != "usage"}
        return [uncounted(each) for each in value] if isinstance(value, list) else value

    return json.dumps(uncounted(value), sort_keys=True, default=repr)


def plain(message: str | None) -> str | None:
    """Return a message without what its door must say: the flag, and the step that a map puts before it."""
    if message is None:
        return None
    begun, _, reason = message.rpartition(": ")
    if begun.startswith("cannot take"):
        return reason
    message = re.sub(r"^(cannot find '\w+').* for [^:]+:", r"\1:", message)
    return message.partition("; ")[0].partition(" (PF")[0]


@contextmanager
def cluster(place: Path) -> Iterator[None]:
    """Run a scheduler and a worker of dask, which the door `dask` finds by SCHEDULER."""
    from tests.many.test_dask import Cluster

    cluster = Cluster(place)
    try:
        os.environ["SCHEDULER"] = cluster.address
        cluster.worker()
        yield
    finally:
        cluster.end()


def prepare(set: Callable[[str, str], object] = os.environ.__setitem__) -> None:
    """Set the variables of all forks of this process, and load what they need, once."""
    for name, value in {"PFLOW_NODES": str(NODES), "PFLOW_CACHE": "off", "DOORS_KEY": SECRET}.items():
        set(name, value)
    set("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    for name in [*(f"pflow.{each}" for each in LOADED.split()), "pocketflow", "llm"]:
        importlib.import_module(name)


_order: dict[str, Any] = {}


def _work(number: int) -> Result:
    case = draw_case(number, _order["seed"])
    doors = draw_doors(number, _order["seed"], _order["doors"])
    with tempfile.TemporaryDirectory(prefix="pflow-doors-", dir=_order["place"]) as top:
        return run_case(case, doors, _order["drawn"], Path(top))


def show(number: int, result: Result, chosen: argparse.Namespace) -> None:
    """Print what differs, with the command that repeats it."""
    print(f"\ncase {number}: {json.dumps(result.case._asdict(), ensure_ascii=False)}"[:3000])
    for each in result.differences:
        print(f"  {each}"[:3000])
    for each in result.differences if chosen.shrink else ():
        with tempfile.TemporaryDirectory(prefix="pflow-doors-") as top:

            def hold(case: Case, each: Difference = each, top: Path = Path(top)) -> None:
                assert each.kind not in [found.kind for found in run_case(case, [each.door], 1, top).differences]

            case = draw_case(number, chosen.seed, hold)
        print(f"smallest for {each.kind}: {json.dumps(case._asdict(), ensure_ascii=False)}")
    print(f"  make doors DOORS={shlex.quote(f'--seed {chosen.seed} --case {number}')}", flush=True)


def print_table(results: list[Result]) -> None:
    """Print each kind of difference; for each door how many cases went through, were refused and differ; and pairs."""
    kinds = Counter(each.kind for result in results for each in result.differences)
    for kind, times in kinds.most_common():
        print(f"{times:5} {kind}")
    print(f"\n{'door':14}   went  refused  differ")
    for name in DOORS:
        own = [result for result in results if name in result.doors]
        refused = sum(result.doors[name].startswith("refused") for result in own)
        differ = sum(any(each.door == name for each in result.differences) for result in own)
        print(f"{name:14} {len(own) - refused:6}  {refused:7}  {differ:6}")
    pairs = Counter(pair for result in results for pair in itertools.combinations(sorted(result.doors), 2))
    least = pairs.most_common()[-1:] or [(("", ""), 0)]
    print(f"pairs of doors: {len(pairs)}, the rarest {' and '.join(least[0][0])}, {least[0][1]} times")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make doors", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--case", type=int, help="one case, by all doors, with the reasons of refusals")
    parser.add_argument("--shrink", action="store_true", help="find the smallest flow for each difference")
    parser.add_argument("--doors", default="", help="only these, with blanks between them")
    parser.add_argument("--drawn", type=int, default=DRAWN, help="how many doors a case goes through beside the first")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()
    names = chosen.doors.split() or [name for name in DOORS if name != REFERENCE]
    if not importlib.util.find_spec("distributed"):
        names = [name for name in names if name != "dask"]
    numbers = range(chosen.cases) if chosen.case is None else [chosen.case]
    print(f"seed {chosen.seed}, {len(numbers)} cases", flush=True)
    began, results = time.monotonic(), list[Result]()
    with tempfile.TemporaryDirectory(prefix="pflow-doors-") as place, OpenAIServer(Path(place)) as server:
        os.environ.update({"XDG_CACHE_HOME": f"{place}/cache", "LLM_USER_PATH": str(server.llm_user_path)})
        drawn = len(names) if chosen.case is not None else chosen.drawn
        _order.update({"seed": chosen.seed, "doors": names, "drawn": drawn, "place": place})
        prepare()
        workers = cluster(Path(place)) if "dask" in names else nullcontext()
        with workers, ProcessPoolExecutor(chosen.jobs, get_context("fork")) as pool:
            for number, result in zip(numbers, pool.map(_work, numbers, chunksize=4), strict=True):
                results.append(result)
                if result.differences:
                    show(number, result, chosen)
    print_table(results)
    for name, how in results[0].doors.items() if chosen.case is not None else ():
        print(f"{name}: {how}")
    differ = sum(bool(result.differences) for result in results)
    print(f"{len(results)} cases in {(time.monotonic() - began) / 60:.1f} minutes, {differ} with a difference")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
