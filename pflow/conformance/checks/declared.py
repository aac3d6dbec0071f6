"""What a node says of itself: its interface, --describe, --version, --help."""

from __future__ import annotations

from pflow.conformance.check import Check, expect_exit, fail, shown
from pflow.conformance.trial import NO_INTERFACE, Skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.conformance.trial import Run, Trial
    from pflow.interface import Item


def interface_parses(trial: Trial) -> None:
    target = trial.target
    if target.fault:
        fail(None, target.fault, "a file that can be read, one item a line, as pflow-node(7) has it", "mend that line")
    if target.interface.open:
        expected = "a block of lines after 'Interface:', in its leading comments or docstring, or in a file beside it"
        fail(None, f"no 'Interface:' in {target.file}", expected, "pflow new-node writes one to begin with")


def describe_agrees(trial: Trial) -> None:
    interface = _declared(trial)
    run = trial.run(["--describe"], None)
    expect_exit(run, 0)
    about = _json(run)
    for kind, items in (("reads", interface.reads), ("writes", interface.writes), ("params", interface.params)):
        said = about.get(kind)
        wanted = {name: str(item.type) for name, item in items.items()}
        shown = {name: each.get("type") if isinstance(each, dict) else each for name, each in _items(said)}
        if shown != wanted:
            fail(run, f"{kind}: {shown}", f"{kind}: {wanted}", "--describe and the interface are to say the same")
        for name, item in items.items():
            _expect_default(run, about[kind][name], item)
    _expect_words(run, about, trial)


def _declared(trial: Trial) -> Any:
    if trial.target.fault or trial.target.interface.open:
        raise Skipped(NO_INTERFACE)
    return trial.target.interface


def _json(run: Run) -> dict[str, Any]:
    import json

    try:
        about = json.loads(run.stdout)
    except ValueError:
        about = None
    if not isinstance(about, dict):
        fail(run, f"{shown(run.stdout)}", "one JSON object with name, reads, writes and params")
    return about


def _items(said: Any) -> list[tuple[str, Any]]:
    return list(said.items()) if isinstance(said, dict) else []


def _expect_default(run: Run, said: dict[str, Any], item: Item) -> None:
    if item.required and "default" in said:
        fail(run, f"{item.name} with a default", f"{item.name} without one, as the interface has it")
    if not item.required and said.get("default", item.default) != item.default:
        fail(run, f"{item.name} with the default {said['default']!r}", f"{item.default!r}, as the interface has it")


def _expect_words(run: Run, about: dict[str, Any], trial: Trial) -> None:
    target = trial.target
    wanted = {"name": target.name, **({"version": target.version} if target.version else {})}
    for name, text in wanted.items():
        if about.get(name) != text:
            fail(run, f"{name}: {about.get(name)!r}", f"{name}: {text!r}")


def version_is_said(trial: Trial) -> None:
    _declared(trial)
    run = trial.run(["--version"], None)
    expect_exit(run, 0)
    said = run.stdout.decode("utf-8", "replace")
    version = trial.target.version
    if said.count("\n") != 1 or not said.startswith(f"pflow-{trial.target.name} ") or version not in said:
        fail(run, f"{said[:80]!r}", f"one line on stdout: pflow-{trial.target.name} {version or 'VERSION'}")


def help_is_printed(trial: Trial) -> None:
    interface = _declared(trial)
    run = trial.run(["--help"], None)
    expect_exit(run, 0)
    said = run.stdout.decode("utf-8", "replace")
    items = [*interface.reads.values(), *interface.params.values()]
    flags = ["--" + item.name.replace("_", "-") for item in items if "secret" not in item.marks]
    missing = [flag for flag in flags if flag not in said]
    if missing or not said.strip():
        fail(run, f"help on stdout without {', '.join(missing) or 'a word'}", "every flag of a read or param is told")


CHECKS = (
    Check("interface", "every line of its interface parses", interface_parses),
    Check("describe", "--describe prints the interface as JSON, and both agree", describe_agrees),
    Check("version", "--version prints one line with its name and version", version_is_said),
    Check("help", "--help prints every flag of its reads and params, on stdout", help_is_printed),
)
