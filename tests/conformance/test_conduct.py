"""Every good node passes, and each defect of the broken ones is found."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.catalog.registry import PACKAGE, names_in
from pflow.conformance.conduct import CHECKS, FAILED, SKIPPED, conduct
from pflow.conformance.trial import find_node
from tests.nodes.cases.case import Case, filled, load_cases
from tests.tools import need

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BROKEN = sorted(file for file in (HERE / "broken").iterdir() if file.is_file())
GOOD = sorted(file for file in (HERE / "good").iterdir() if file.is_file())
GOOD_RUN = {"runs", "noise", "header", "writes", "types", "actions", "carries", "keys"}
"""Checks that only look at the run with all that a node needs."""
ONE_RUN = {"summarise-text"}
"""Nodes that load llm for a second in each run, of which llm itself goes through all checks."""
OF_STAGE = {
    *("closed-stdout", "early-reader", "raw-json", "layout", "cut", "newer", "numbers", "text", "large", "binary"),
    *("unknown-flag", "error-passes", "skipped-passes"),
}
"""Checks of what pflow's stage does for each node in Python alike, before and after the node's own code."""
WHOLE = {"read-file", "join-text", "write-file", "shell", "llm", "http"}
"""Nodes that go through these too: with and without a pipe, with bytes, parts, params, effects and a program."""
NODES = [name for name in names_in("nodes") if not Path(PACKAGE, "nodes", f"{name.replace('-', '_')}.py").is_symlink()]
TIMEOUT = 60
CASES = load_cases()


def verdicts(node, given=(), checks=CHECKS):
    return {each.check.id: each for each in conduct(find_node(str(node)), list(given), checks, TIMEOUT)}


def failed(node, given=(), checks=CHECKS):
    return {id: each.failed.came for id, each in verdicts(node, given, checks).items() if each.result == FAILED}


@pytest.mark.parametrize("node", GOOD, ids=lambda file: file.name)
def test_a_good_node_passes_in_any_language(node):
    need(*["jq"] * (node.name == "pflow-count"))
    found = verdicts(node)
    assert {id: each.failed.came for id, each in found.items() if each.result == FAILED} == {}
    assert {id for id, each in found.items() if each.result == SKIPPED} <= {"explicit", "network", "words"}


@pytest.fixture(scope="module")
def forks():
    """Takes a node, ids of checks, flags and variables; what came instead, by the ids of the checks that failed."""
    program = [sys.executable, "-m", "tests.conformance.forks"]
    with subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def check(*asked):
            process.stdin.write(f"{json.dumps(asked)}\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield check


@pytest.mark.parametrize("name", NODES)
def test_every_node_of_pflow_passes(name, tmp_path, forks):
    case = CASES.get(name, Case(name))
    with case.laid_out(tmp_path / "here") as variables:
        words = filled(case.flags if case.words is None else case.words, {**variables, "here": str(tmp_path / "here")})
        checks = (
            GOOD_RUN if name in ONE_RUN else {check.id for check in CHECKS} - (set() if name in WHOLE else OF_STAGE)
        )
        assert forks(name, sorted(checks), words, {**os.environ, **variables}) == {}


def breaks(node):
    """What a broken node's comments say of it: the check that must find it, and others that may."""
    first, others = re.search(r"^# Breaks: (\S+)(?: \((.*)\))?$", node.read_text(), re.MULTILINE).groups()
    return first, set((others or "").split())


@pytest.mark.parametrize("node", BROKEN, ids=lambda file: file.name.removeprefix("pflow-"))
def test_a_defect_is_found_by_the_check_that_is_for_it(node):
    """Of the checks: that one, those that the defect may disturb and the cheap ones."""
    first, others = breaks(node)
    need(*["strace"] * (first == "network"))
    found = failed(node, checks=[check for check in CHECKS if check.id in {first, *others, *GOOD_RUN}])
    assert first in found
    assert found.keys() <= {first, *others}


def test_each_check_has_a_node_that_it_finds_broken():
    assert {check.id for check in CHECKS} == {breaks(node)[0] for node in BROKEN}


def test_the_checks_have_ids_of_their_own():
    assert len({check.id for check in CHECKS}) == len(CHECKS)
