"""Each case, a small flow and its inputs, goes by `pflow run FILE` and by other doors that are drawn, to one meaning.

`make doors` takes 6,000 by five others each, CI 40; what differs is printed with the command that repeats it.
"""

import importlib
import importlib.util
import json
import os
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.doors.conftest import OPTIONS
from tests.doors.doors import BIN, DOORS, NODES, SECRET, Refused, Unfit, go, typed_by
from tests.doors.flows import Case, cases
from tests.doors.meaning import Outcome, meaning
from tests.peers.openai_server import OpenAIServer
from tests.peers.warm import load_pflow
from tests.tools import need

REFERENCE = "file"
RARE, SLOW = ("bytes",), ("dask", "mcp")
"""Doors that few cases fit, taken beside those drawn; slow doors, which come last in each twentieth case."""
QUIET = settings(max_examples=2, database=None, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, chosen):
    """What all forks of this process need, loaded once; the names of the doors that are drawn."""
    place = tmp_path_factory.mktemp("doors")
    names = chosen["doors"].split() or [name for name in DOORS if name != REFERENCE]
    if chosen == OPTIONS or not importlib.util.find_spec("distributed"):
        names = [name for name in names if name != "dask"]  # a cluster takes five seconds of CPU to begin
    with pytest.MonkeyPatch.context() as patch, OpenAIServer(place) as server:
        variables = {"PFLOW_NODES": NODES, "PFLOW_CACHE": "off", "DOORS_KEY": SECRET, "XDG_CACHE_HOME": place / "cache"}
        for name, value in {**variables, "LLM_USER_PATH": server.llm_user_path}.items():
            patch.setenv(name, str(value))
        patch.setenv("PATH", str(BIN), prepend=os.pathsep)
        load_pflow()
        with _cluster(place) if "dask" in names else nullcontext("") as scheduler:
            patch.setenv("SCHEDULER", scheduler)
            yield names


@contextmanager
def _cluster(place: Path) -> Iterator[str]:
    from tests.map.test_dask import Cluster  # which needs distributed

    cluster = Cluster(place)
    try:
        cluster.worker()
        yield cluster.address
    finally:
        cluster.end()


def test_a_flow_means_the_same_by_each_door(number, chosen, prepared, record_property):
    need("jq")  # of the node `loud`
    drawn = random.Random(f"{chosen['seed']}/{number}").sample(prepared, len(prepared))
    order = sorted(drawn, key=lambda name: (name not in RARE, name in SLOW and number % 20 == 0))
    is_one = chosen["case"] == number

    @seed(chosen["seed"] * 1_000_003 + number)
    @settings(QUIET, phases=[Phase.generate, *[Phase.shrink] * chosen["shrink"]])
    @given(st.integers(0, 1 << 32), cases())  # hypothesis wants what is drawn first to be new: then the rest is free
    def hold(free: int, case: Case) -> None:
        if free:  # the first is always the simplest
            with tempfile.TemporaryDirectory(prefix="pflow-doors-") as top:
                ways, differences = run_case(case, order, len(order) if is_one else chosen["drawn"], Path(top))
            for door, how in ways.items():
                record_property(door, how if is_one else how.partition(":")[0])
            if differences:
                raise AssertionError("\n".join(differences))

    try:
        hold()
    except AssertionError as error:
        again = f"repeat it: make doors DOORS='--seed {chosen['seed']} --case {number}'"
        raise pytest.fail.Exception("\n".join([str(error), *error.__notes__, again]), pytrace=False) from None


def run_case(case: Case, order: list[str], count: int, top: Path) -> tuple[dict[str, str], list[str]]:
    """Take a case through the first doors of an order that can take it; return how, and what differs."""
    ways, differences = dict[str, str](), list[str]()
    known: list[str] = []
    reference: Outcome | None = None
    for name in [REFERENCE, *order]:
        if len(ways.keys() - RARE) > count:
            break
        found: list[str] = []
        try:
            outcome = go(name, case, top / name)
            reference = reference or outcome
            ways[name] = "went"
            meant = meaning(case.flow, case.values, case.files, typed=typed_by(name, case))
            found = [*differing(name, case, outcome, meant, reference)]
            known = found if name == REFERENCE else known
        except Unfit:
            continue
        except Refused as refusal:
            ways[name] = f"refused: {refusal}"
            found = [ways[name]] if "bug in pflow" in str(refusal) else []
        except AssertionError as error:
            ways[name], found = "broke", [str(error)]
        differences += [f"{name}: {each}" for each in found if name == REFERENCE or each not in known]
    return ways, differences


def differing(door: str, case: Case, outcome: Outcome, meant: Outcome, reference: Outcome) -> Iterator[str]:
    """Yield what a door shows that is not what was meant; what is not said by the model is as by the reference."""
    exits = {65, 2} if meant.exit == 65 else {meant.exit}
    if outcome.exit not in exits:
        yield f"exit {outcome.exit} ({plain(outcome.message)}), not {meant.exit}"
        return
    outcome = outcome._replace(exit=meant.exit, message=plain(outcome.message))
    as_reference = plain(reference.message) if reference.exit in exits else None
    meant = meant._replace(message=meant.message or as_reference, hash=reference.hash)
    if door in ("bytes", "json") and not meant.carried:  # they carry what came
        meant = meant._replace(carried=None, raw=None)
    if meant.exit and '"jobs"' in json.dumps(case.flow):  # items that run beside the failed one may not have begun
        meant = meant._replace(ran=None)
    if case.files:  # a saved flow names its subflow in full
        meant = meant._replace(hash=None)
    for part, own, right in zip(Outcome._fields, outcome, meant, strict=True):
        if None in (own, right) or same(own) == same(right):
            continue
        if part in ("store", "outputs"):
            keys = [key for key in {**own, **right} if same(own.get(key, ...)) != same(right.get(key, ...))]
            own, right = ({key: each.get(key, ...) for key in keys} for each in (own, right))
        yield f"{part} {own!r}, not {right!r}"


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
    return re.split(r"; | \(PF|(?<=\?) ", message)[0]
