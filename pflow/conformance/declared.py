"""What a node declares, whether it runs, and whether it does no more than it declares."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from typing import Any

from pflow.conformance.samples import misfit_of, same
from pflow.conformance.trial import ALIENS, NO_INTERFACE, Failed, Run, Skipped, Trial, check, shown
from pflow.interface import Interface

_OTHERS = """
text prompt content path input command args pattern directory url query model stdin response output temperature encoding
debug verbose id data config
"""
"""What other nodes read, write and take."""


@check("interface", "every line of its interface parses", of_good_run=False)
def interface_parses(trial: Trial) -> None:
    node = trial.node
    if node.fault:
        expected = "a file that can be read, one item a line, as in pflow-node(7)"
        raise Failed(None, node.fault, expected, "fix that line")
    if node.interface.open:
        expected = "a block of lines after 'Interface:', in its leading comments or docstring, or in a file beside it"
        raise Failed(None, f"no 'Interface:' in {node.file}", expected, "pflow new-node writes one to begin with")


def _declared(trial: Trial) -> Interface:
    if trial.node.fault or trial.interface.open:
        raise Skipped(NO_INTERFACE)
    return trial.interface


@check("describe", "--describe prints the interface as JSON, and both agree", of_good_run=False)
def describe_agrees(trial: Trial) -> None:
    interface = _declared(trial)
    run = trial.run(["--describe"], None)
    run.expect_exit(0)
    about = _json_object(run)
    for kind, items in (("reads", interface.reads), ("writes", interface.writes), ("params", interface.params)):
        described = about[kind] if isinstance(about.get(kind), dict) else {}
        came = {name: each.get("type") if isinstance(each, dict) else each for name, each in described.items()}
        wanted = {name: str(item.type) for name, item in items.items()}
        if came != wanted:
            run.fail(f"{kind}: {came}", f"{kind}: {wanted}", "--describe and the interface have to say the same")
        for name, item in items.items():
            default = described[name].get("default", None if item.required else item.default)
            if default != (None if item.required else item.default):
                run.fail(f"{name} with the default {default!r}", "the default that the interface has")
    for name, text in (("name", trial.node.name), ("version", trial.node.version)):
        if text and about.get(name) != text:
            run.fail(f"{name}: {about.get(name)!r}", f"{name}: {text!r}")


def _json_object(run: Run) -> dict[str, Any]:
    try:
        about = json.loads(run.stdout)
    except ValueError:
        about = None
    if not isinstance(about, dict):
        run.fail(shown(run.stdout), "one JSON object with name, reads, writes and params")
    return about


@check("version", "--version prints one line with its name and version", of_good_run=False)
def version_is_printed(trial: Trial) -> None:
    _declared(trial)
    run = trial.run(["--version"], None)
    run.expect_exit(0)
    said, version = run.stdout.decode("utf-8", "replace"), trial.node.version
    if said.count("\n") != 1 or not said.startswith(f"pflow-{trial.node.name} ") or version not in said:
        run.fail(f"{said[:80]!r}", f"one line on stdout: pflow-{trial.node.name} {version or 'VERSION'}")


@check("help", "--help prints every flag of its reads and params, on stdout", of_good_run=False)
def help_is_printed(trial: Trial) -> None:
    interface = _declared(trial)
    run = trial.run(["--help"], None)
    run.expect_exit(0)
    said = run.stdout.decode("utf-8", "replace")
    items = [*interface.reads.values(), *interface.params.values()]
    flags = ["--" + item.name.replace("_", "-") for item in items if "secret" not in item.marks]
    missing = [flag for flag in flags if flag not in said]
    if missing or not said.strip():
        run.fail(f"help on stdout without {', '.join(missing) or 'a word'}", "help with every flag")


@check("runs", "with all that it reads it ends with 0 and a document", of_good_run=False)
def it_runs(trial: Trial) -> None:
    good = trial.good
    values = f"pflow test-node {shlex.quote(trial.node.typed)} -- --FLAG=VALUE …"
    good.expect_exit(0, f"fix it; if it takes other values: {values}")
    good.expect_answer("write the document that came in, with your keys in it")


@check("effects", "no file is touched, unless it declares that")
def it_touches_no_files(trial: Trial) -> None:
    _skip_declared(trial, "writes files", "runs commands")
    if trial.good.changed:
        change = "declare it: - Effects: writes files; or leave no file behind"
        trial.good.fail(f"it changed {', '.join(trial.good.changed)}", "no file is touched", change)


@check("network", "nothing goes to the network, unless it declares that")
def it_stays_off_the_network(trial: Trial) -> None:
    _skip_declared(trial, "network", "runs commands")
    if shutil.which("strace") is None:
        raise Skipped("strace is not installed, which would show it")
    run = trial.run_good(under=("strace", "-f", "-qq", "-e", "trace=connect,sendto,bind"))
    if "ptrace" in run.stderr:
        raise Skipped("strace may not look into processes here")
    calls = [line for line in run.stderr.splitlines() if "AF_INET" in line]
    if calls:
        run.fail(f"it called {calls[0]:.100}", "no word to the network", "declare it: - Effects: network")


def _skip_declared(trial: Trial, *effects: str) -> None:
    if set(trial.interface.effects) & {*effects}:
        raise Skipped(f"it declares: {', '.join(trial.interface.effects)}")


@check("isolation", "it looks at no key that it does not declare")
def it_looks_at_its_own_keys_only(trial: Trial) -> None:
    if not trial.is_steady:
        raise Skipped("it answers differently each time")
    for decoys in _decoys(trial.interface):
        run = trial.run_good(stdin=trial.document({**ALIENS, **decoys}))
        if not trial.agrees(run):
            expected = f"the same as without these keys in the store: {', '.join(decoys):.160}"
            _fail_differing(trial, run, expected, "read what you declare, and params from their flags alone")


def _decoys(interface: Interface) -> list[dict[str, Any]]:
    """Keys that it does not read: named like its params, [explicit] reads and writes, and like other nodes' reads."""
    own = {name for name, item in interface.reads.items() if "explicit" not in item.marks}
    names = dict.fromkeys([*interface.params, *interface.reads, *interface.writes, *_OTHERS.split()])
    decoys = [name for name in names if name not in own]
    params = {name: misfit_of(item.type) for name, item in interface.params.items() if name not in own}
    return [dict.fromkeys(decoys, "a decoy"), {**dict.fromkeys(decoys, 99), **params}]


@check("same-again", "flow-safe: the same inputs give the same outputs")
def it_answers_the_same(trial: Trial) -> None:
    _skip_impure(trial)
    if not trial.is_steady:
        change = "it is not Flow-safe: leave that out"
        _fail_differing(trial, trial.again, "the same inputs, the same outputs", change)


@check("same-elsewhere", "flow-safe: in another place, time and environment too")
def it_answers_the_same_elsewhere(trial: Trial) -> None:
    _skip_impure(trial)
    if not trial.is_steady:
        raise Skipped("it never answers the same (see same-again)")
    time.sleep(1 - time.time() % 1)  # to another second of the clock
    other = {
        "TZ": "Pacific/Kiritimati",
        "LANG": "C",
        "USER": "other",
        "LOGNAME": "other",
        "COLUMNS": "33",
        "OTHER": "1",
    }
    run = trial.run_good(environment=other, files={"another-file": "of somebody", ".hidden": ""})
    if not trial.agrees(run):
        expected = "the same in another place, at another time, in another environment"
        _fail_differing(trial, run, expected, "make what it looks at a read or a param, or leave Flow-safe out")


def _skip_impure(trial: Trial) -> None:
    if not trial.interface.flow_safe:
        raise Skipped("it does not claim to be flow-safe")


def _fail_differing(trial: Trial, run: Run, expected: str, change: str) -> None:
    one, other = trial.good.writes(trial.interface.writes), run.writes(trial.interface.writes)
    differing = (key for key in {**one, **other} if not same(one.get(key), other.get(key)))
    key = next(differing, "exit code")
    run.fail(f"{key}: {one.get(key)!r:.80}, then {other.get(key)!r:.80}", expected, change)
