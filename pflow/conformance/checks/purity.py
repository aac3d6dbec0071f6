"""What a node touches and looks at beside its reads: files, network, clock, place, keys of others."""

from __future__ import annotations

import time

from pflow.conformance.check import Check, fail
from pflow.conformance.documents import same
from pflow.conformance.samples import misfit_of
from pflow.conformance.trial import ALIENS, Skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.conformance.trial import Run, Trial

_TOUCHES_FILES = {"writes files", "runs commands"}
_TOUCHES_NET = {"network", "runs commands"}


def it_touches_no_files(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    declared = set(trial.target.interface.effects)
    if declared & _TOUCHES_FILES:
        raise Skipped(f"it declares: {', '.join(trial.target.interface.effects)}")
    if trial.good.changed:
        change = "declare it: - Effects: writes files; or leave no file behind"
        fail(trial.good, f"it changed {', '.join(trial.good.changed)}", "no file is touched", change)


def it_stays_off_the_network(trial: Trial) -> None:
    import shutil

    trial.answer  # noqa: B018 - or it is skipped
    if set(trial.target.interface.effects) & _TOUCHES_NET:
        raise Skipped(f"it declares: {', '.join(trial.target.interface.effects)}")
    if shutil.which("strace") is None:
        raise Skipped("strace is not installed, which would show it")
    run, trace = trial.watched(trial.samples.words_without(), trial.document(), "connect,sendto,bind")
    if "ptrace" in run.stderr or (run.code and not trace):
        raise Skipped("strace may not look into processes here")
    calls = [line.split(None, 1)[-1] for line in trace.splitlines() if "AF_INET" in line]
    if calls:
        fail(run, f"it called {calls[0]:.100}", "no word to the network", "declare it: - Effects: network")


def it_answers_the_same(trial: Trial) -> None:
    _need_purity(trial)
    if not trial.is_steady:
        again = trial.again
        _fail_differing(trial, again, "the same inputs, the same outputs", "it is not Flow-safe: leave that out")


def _need_purity(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    if not trial.target.interface.flow_safe:
        raise Skipped("it does not claim to be flow-safe")


def it_answers_the_same_elsewhere(trial: Trial) -> None:
    _need_purity(trial)
    if not trial.is_steady:
        raise Skipped("it never answers the same (see same-again)")
    while int(time.time()) == int(trial.first_second):  # a clock in seconds must have moved
        time.sleep(0.05)
    other = {
        "TZ": "Pacific/Kiritimati",
        "LANG": "C",
        "USER": "other",
        "LOGNAME": "other",
        "COLUMNS": "33",
        "OTHER": "1",
    }
    files = {"another-file": "of somebody", ".hidden": ""}
    run = trial.run(trial.samples.words_without(), trial.document(), environment=other, files=files)
    if not trial.agrees(run):
        expected = "the same in another place, at another time, in another environment"
        _fail_differing(trial, run, expected, "make what it looks at a read or a param, or leave Flow-safe out")


def _fail_differing(trial: Trial, run: Run, expected: str, change: str) -> None:
    one, other = trial.good.writes(trial.writes), run.writes(trial.writes)
    differing = [key for key in {**one, **other} if not same(one.get(key), other.get(key))]
    key = differing[0] if differing else "exit code"
    fail(run, f"{key}: {one.get(key)!r:.80}, then {other.get(key)!r:.80}", expected, change)


_KEYS = (
    *("text", "prompt", "content", "path", "input", "command", "args", "pattern", "directory", "url", "query", "model"),
    *("stdin", "response", "output", "temperature", "encoding", "debug", "verbose", "id", "data", "config"),
)
"""What other nodes read, write and take."""


def it_looks_at_its_own_keys_only(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    if not trial.is_steady:
        raise Skipped("it answers differently each time")
    for decoys in _decoys(trial):
        run = trial.run(trial.samples.words_without(), trial.document({**ALIENS, **decoys}))
        if not trial.agrees(run):
            names = ", ".join(decoys)
            expected = f"the same as without these keys in the store: {names:.160}"
            _fail_differing(trial, run, expected, "read what you declare, and params from their flags alone")


def _decoys(trial: Trial) -> list[dict[str, Any]]:
    """Keys that are none of its own: named like its params, its [explicit] reads, its writes, other nodes' reads."""
    interface = trial.target.interface
    own = {name for name, item in interface.reads.items() if "explicit" not in item.marks}
    names = dict.fromkeys([*interface.params, *interface.reads, *interface.writes, *_KEYS])
    decoys = [name for name in names if name not in own]
    params = {name: misfit_of(item.type) for name, item in interface.params.items() if name not in own}
    return [dict.fromkeys(decoys, "a decoy"), {**dict.fromkeys(decoys, 99), **params}]


CHECKS = (
    Check("effects", "no file is touched, unless it declares that", it_touches_no_files),
    Check("network", "nothing goes to the network, unless it declares that", it_stays_off_the_network),
    Check("isolation", "it looks at no key that it does not declare", it_looks_at_its_own_keys_only),
    Check("same-again", "flow-safe: the same inputs give the same outputs", it_answers_the_same),
    Check("same-elsewhere", "flow-safe: in another place, time and environment too", it_answers_the_same_elsewhere),
)
