"""Mutation testing: a seeded sample of small changes to code that must not be wrong, each held against the tests.

`make mutants` installs what it needs, cosmic-ray, and tries 200 mutants, as many of each target, drawn with the seed
49. It prints those that survive, and fails when more than a tenth do. There are no mutants of strings, nor of code that
never runs: annotations and imports for types.
"""

import argparse
import ast
import compileall
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice, zip_longest
from pathlib import Path
from py_compile import PycInvalidationMode

from cosmic_ray.commands.init import _all_work_items  # the only way to mutations without a database of them
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome

ROOT = Path(__file__).parents[2]

TARGETS = {
    "pflow/record": "tests/record/test_*.py tests/driver/test_earlier*.py tests/commands/test_o*.py",
    "pflow/stage": "tests/stage/test_*.py",
    "pflow/cache": "tests/cache/test_*.py",
    "pflow/engine": "tests/engine/test_*.py tests/driver/test_[bi]*.py tests/record/test_j*.py",
    "pflow/map": "tests/map/test_*.py",
    "pflow/process": "tests/process/test_*.py tests/catalog/test_c*.py",
    "pflow/files": "tests/files/test_*.py tests/nodes/test_*_file*.py",
    "pflow/models": "tests/models/test_*.py tests/nodes/test_llm.py",
    "pflow/binding": "tests/binding/test_*.py tests/stage/test_f*.py tests/engine/test_e*.py",
    "pflow/flow/rules": "tests/flow/rules/test_*.py tests/flow/test_findings.py tests/flow/pipe/test_c*.py",
    "pflow/flow:secret": "tests/flow/test_*.py",
    "pflow/explain:secret": "tests/explain/test_*.py",
    "pflow/values/secrets.py": "tests/values/test_secrets.py",
}
"""What is changed, all of it or the lines with a word in them, and the tests that must see it.

The tests of the module itself run first: `tests/map/test_rows.py` for `pflow/map/rows.py`.
"""

SLOW = {
    "tests/map/test_dask.py",
    "tests/map/test_money.py",
    "tests/models/test_ending.py",
    "tests/models/test_local.py",
    "tests/models/test_plugins.py",
    "tests/stage/test_visit.py",
}
"""Tests that take too long for every mutant of their directory: they run for the modules that they name."""

LONGEST = 180
"""Seconds that the tests of one mutant may take: one that takes longer has hung, and counts as killed."""

EQUIVALENT = ROOT / "tests" / "mutants" / "equivalent.txt"
"""Mutants that change nothing that anybody could see, a line each as the report has it, with the reason.

`*` in place of the operator stands for every mutant of a source line: of a size or time that decides about cost alone.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=49)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("targets", nargs="*", help="some of the targets; all without")
    chosen = parser.parse_args()
    sample = draw(chosen.targets or list(TARGETS), chosen.count, chosen.seed)
    ends_at = time.monotonic() + 60 * chosen.minutes
    (ROOT / "build").mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="mutants-", dir=ROOT / "build") as copies,
        ProcessPoolExecutor(chosen.workers, initializer=work_in_a_copy, initargs=(copies,)) as pool,
    ):
        files = sorted({file for each in sample for tests in tests_of(*each) for file in tests.split()})
        list(pool.map(check_tests, files))
        outcomes = pool.map(judge, *zip(*sample, strict=True), [ends_at] * len(sample))
        return max(report([mutation for mutation, _ in sample], outcomes), report_stale_lines())


def draw(targets: list[str], count: int, seed: int) -> list[tuple[MutationSpec, str]]:
    """Draw mutations, as many of each target as there are of the smallest that is not used up, each with its target."""
    chosen = random.Random(seed)
    shuffled = [chosen.sample(found, len(found)) for found in (list(mutations_of(target)) for target in targets)]
    rounds = ((each, target) for turn in zip_longest(*shuffled) for each, target in zip(turn, targets, strict=True))
    return list(islice(((mutation, target) for mutation, target in rounds if mutation), count))


def tests_of(mutation: MutationSpec, target: str) -> list[str]:
    """The tests that must see a mutation: first those of its module, then those of its target, files with blanks."""
    module = mutation.module_path.relative_to("pflow")
    own = f"tests/{module.parent}/test_{module.name}"
    others = [str(file.relative_to(ROOT)) for word in TARGETS[target].split() for file in sorted(ROOT.glob(word))]
    named = re.compile(rf"pflow\.{'.'.join(module.with_suffix('').parts[:-1])}(\.| import .*\b){module.stem}\b")
    others = [each for each in others if each != own and (each not in SLOW or named.search((ROOT / each).read_text()))]
    return [own] * (ROOT / own).exists() + [" ".join(others)] * bool(others)


def mutations_of(target: str) -> Iterator[MutationSpec]:
    name, _, word = target.partition(":")
    path = ROOT / name
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        lines = file.read_text(encoding="utf-8").splitlines()
        if not any(word in text for text in lines):
            continue
        for_types = places_for_types(file)
        for item in _all_work_items([file.relative_to(ROOT)], {}):
            (mutation,) = item.mutations
            (row, column), text = mutation.start_pos, lines[mutation.start_pos[0] - 1]
            is_for_types = any(start <= (row, column) < end for start, end in for_types)
            if word in text and not is_for_types and not text[column:].startswith("*, "):  # (a, *, b) is no product
                yield mutation


def places_for_types(file: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations and imports for types stand in a file: from (line, column) to (line, column)."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    found = [getattr(node, name, None) for node in nodes for name in ("annotation", "returns")]
    found += [node for node in nodes if isinstance(node, ast.If | ast.Assign) and names_types(node)]
    found += [node.test for node in nodes if isinstance(node, ast.If) and names_types(node, or_else=True)]
    return [
        ((each.lineno, each.col_offset), (each.end_lineno or 0, each.end_col_offset or 0))
        for each in found
        if isinstance(each, ast.AST) and hasattr(each, "lineno")
    ]


def names_types(node: ast.If | ast.Assign, *, or_else: bool = False) -> bool:
    """Return True for `TYPE_CHECKING = False`, and for `if TYPE_CHECKING:` without an `else`, or with one too."""
    name = node.targets[0] if isinstance(node, ast.Assign) else node.test
    is_named = isinstance(name, ast.Name) and name.id == "TYPE_CHECKING"
    return is_named and (or_else or not getattr(node, "orelse", None))


def work_in_a_copy(copies: str) -> None:
    """Give this worker process a copy of the checkout, which mutants are written into, as its directory."""
    copy = Path(copies) / str(os.getpid())
    files = subprocess.run(
        ["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, files.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    (copy / ".venv").mkdir()
    (copy / ".venv" / "share").symlink_to(ROOT / ".venv" / "share")  # without the local model its tests are skipped
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)
    # Two changes within one second have one time stamp: by a hash of the source Python finds what has changed.
    compileall.compile_dir(".", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)


def command(tests: str) -> str:
    options = "-q -x -p no:cacheprovider -p no:xdist --assert=plain --hypothesis-seed=1 --no-header"
    return f"{sys.executable} -m pytest {options} {tests}"


def check_tests(tests: str) -> None:
    """End here when tests fail, or take too long, that nothing has been changed under: they would kill each mutant."""
    outcome, output = run_tests(command(tests), timeout=LONGEST / 2)
    if outcome != TestOutcome.SURVIVED:
        raise SystemExit(f"mutants: the tests fail without any: {tests}\n{output}")


def judge(mutation: MutationSpec, target: str, ends_at: float) -> str:
    """What became of one mutant: killed, survived, or not tried for want of time."""
    if time.monotonic() > ends_at:
        return "not tried"
    for tests in tests_of(mutation, target):
        result = mutate_and_test([mutation], command(tests), timeout=LONGEST)
        if result.worker_outcome != WorkerOutcome.NORMAL:
            return "not tried"
        if result.test_outcome != TestOutcome.SURVIVED:
            return "killed"
    return "survived"


def report(mutations: Iterable[MutationSpec], outcomes: Iterable[str]) -> int:
    """Print each survivor, then the numbers. 1 where more than a tenth survived, or not one was tried."""
    equivalent = set(equivalents())
    numbers: Counter[str] = Counter()
    for mutation, outcome in zip(mutations, outcomes, strict=True):
        is_equivalent = outcome == "survived" and not equivalent.isdisjoint({line(mutation), any_of_line(mutation)})
        numbers["change nothing" if is_equivalent else outcome] += 1
        if outcome == "survived" and not is_equivalent:
            print(line(mutation), flush=True)
    tried = numbers["survived"] + numbers["killed"]
    print(f"mutants: {tried} tried, {numbers['survived']} survived ({numbers['survived'] / max(tried, 1):.0%})", end="")
    print(f", {numbers['change nothing']} change nothing, {numbers['not tried']} not tried")
    return int(numbers["survived"] > 0.1 * tried or not tried)


def report_stale_lines() -> int:
    """Print the equivalent mutants whose code has changed, and so may be equivalent no longer. 1 if there are any."""
    files = {each.partition(":")[0] for each in equivalents()}
    mutations = [each for file in sorted(files) if (ROOT / file).exists() for each in mutations_of(file)]
    there = {named for each in mutations for named in (line(each), any_of_line(each))}
    stale = [each for each in equivalents() if each not in there]
    print(*(f"equivalent.txt has a mutant that is gone: {each}" for each in stale), sep="\n", end="\n" * bool(stale))
    return int(bool(stale))


def equivalents() -> list[str]:
    return [each.partition("  # ")[0].strip() for each in EQUIVALENT.read_text(encoding="utf-8").splitlines()]


def line(mutation: MutationSpec) -> str:
    """A mutant in a line: the file, the function, the operator, and the source line without its comment."""
    source = (ROOT / mutation.module_path).read_text(encoding="utf-8").splitlines()[mutation.start_pos[0] - 1].strip()
    operator = mutation.operator_name.removeprefix("core/")
    place = f"{mutation.module_path}:{mutation.definition_name}: {operator} at {mutation.start_pos[1]}"
    return f"{place}: {source.partition('  # ')[0]}"


def any_of_line(mutation: MutationSpec) -> str:
    """Every mutant of the source line that this one changes."""
    return re.sub(r": \w+ at \d+: ", ": *: ", line(mutation), count=1)


if __name__ == "__main__":
    sys.exit(main())
