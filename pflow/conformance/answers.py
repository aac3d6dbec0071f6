"""Checks that a node with all its inputs answers as it declares, and does nothing else."""

import json
import os
import re
import shlex
import shutil
from typing import Any

from pflow.catalog.node_type import interpreter, read_header
from pflow.conformance.samples import RUN, STEPS, Skipped, misfit_of, shown
from pflow.conformance.sandbox import EARLY, GONE, Failed, NodeRun
from pflow.conformance.trial import ALIENS, Trial, check
from pflow.interface.account import account_of, inferred_in_words
from pflow.interface.interface import ONE_OF, spell_flag
from pflow.process.streams import raw_form
from pflow.values.paths import type_name
from pflow.values.types import Type

_CHANGES = "creat|mk|rename|rmdir|unlink|link|symlink|truncate"
_WRITE = rf"(O_(WRONLY|RDWR|CREAT)|\b({_CHANGES})\w*\().* = -1 EACCES"
"""A denied attempt to change a file, as strace shows it."""

_MOST_DECOYS, _MOST_BYTES = 5_000, 4_000_000


@check("interface", "every line of its interface parses", of_good_run=False)
def interface_parses(trial: Trial) -> None:
    node = trial.node
    if node.fault:
        expected = "a file that can be read, one item a line, as in pflow-node(7)"
        raise Failed(None, node.fault, expected, "fix that line")
    if node.interface.open:
        expected = "a block of lines after 'Interface:', in its leading comments or docstring, or in a file beside it"
        raise Failed(None, f"no 'Interface:' in {node.file}", expected, "pflow new-node writes one to begin with")
    if node.interface.inferred:
        expected = "the mark [pipe] on the read that a pipe fills, and on the write that it carries on"
        raise Failed(None, f"no mark [pipe]; inferred: {inferred_in_words(node.interface)}", expected, "mark them")


@check("describe", "--describe prints the declared interface as JSON", of_good_run=False)
def describe_agrees(trial: Trial) -> None:
    interface, run = trial.samples.interface, trial.run(["--describe"], None)
    run.expect_exit(0)
    try:
        about: dict[str, Any] = dict(json.loads(run.stdout))
    except (ValueError, TypeError):
        run.fail(shown(run.stdout), "one JSON object with name, reads, writes and params")
    for kind in ("reads", "writes", "params"):
        both = (said.get(kind, {}).items() for said in (about, account_of(interface)))
        came, wanted = ({name: (each.get("type"), each.get("default")) for name, each in items} for items in both)
        if came != wanted:
            run.fail(f"{kind}: {came}", f"{kind}: {wanted}", "--describe and the interface have to say the same")
    for name, text in (("name", trial.node.name), ("version", trial.node.version)):
        if text and about.get(name) != text:
            run.fail(f"{name}: {about.get(name)!r}", f"{name}: {text!r}")


@check("version", "--version prints one line with its name and version", of_good_run=False)
def version_is_printed(trial: Trial) -> None:
    trial.samples  # noqa: B018 - raises Skipped
    name, version, run = trial.node.name, trial.node.version, trial.run(["--version"], None)
    run.expect_exit(0)
    said = run.stdout.decode("utf-8", "replace")
    if said.count("\n") != 1 or not said.startswith(f"pflow-{name} ") or version not in said:
        run.fail(f"{said[:80]!r}", f"one line on stdout: pflow-{name} {version or 'VERSION'}")


@check("help", "--help prints every flag of its reads and params, on stdout", of_good_run=False)
def help_is_printed(trial: Trial) -> None:
    interface, run = trial.samples.interface, trial.run(["--help"], None)
    run.expect_exit(0)
    said = run.stdout.decode("utf-8", "replace")
    flags = [spell_flag(field.name) for field in interface.taken if not field.is_secret]
    missing = [flag for flag in flags if flag not in said]
    if missing or not said.strip():
        run.fail(f"help on stdout without {', '.join(missing) or 'a word'}", "help with every flag")


@check("runs", "given all that it reads, it exits with 0 and prints a document and nothing else", of_good_run=False)
def it_runs(trial: Trial) -> None:
    values = f"pflow test-node {shlex.quote(trial.node.file)} -- --FLAG=VALUE …"
    trial.good.expect_exit(0, f"fix it; if it takes other values: {values}")
    trial.good.expect_answer("write the document that came in, with your keys in it; all else goes to stderr")


@check("effects", "it touches no file unless it declares so")
def it_touches_no_files(trial: Trial) -> None:
    if trial.good.changed and not _declares(trial, "writes files"):  # this needs no strace, which few have
        change = "declare it: - Effects: writes files; or leave no file behind"
        trial.good.fail(f"it changed {', '.join(trial.good.changed)}", "no file is touched", change)
    if trial.confined and not trial.may("runs commands"):
        own = map(os.path.basename, (trial.node.file, interpreter(read_header(trial.node.file)[0])))
        names = "|".join(map(re.escape, ["env", "sh", "pflow", *own]))
        command = rf'execve\("(?!([^"]*/)?(python[\d.]*|{names})")'
        _expect_no_call(trial, command, "-e", "trace=execve", effect="runs commands")
    _skip_declared(trial, "writes files")
    if trial.confined:
        _expect_no_call(trial, _WRITE, "-Z", "-e", f"trace=/^(open|{_CHANGES})", effect="writes files")


@check("network", "it uses no network unless it declares so")
def it_stays_off_the_network(trial: Trial) -> None:
    _skip_declared(trial, "network")
    calls = "connect,sendto,bind" + ",socket" * trial.confined  # a confined node gets no socket to connect
    _expect_no_call(trial, "AF_INET", "-e", f"trace={calls}", effect="network")


def _expect_no_call(trial: Trial, pattern: str, *options: str, effect: str) -> None:
    """Run the node under strace. Raises Failed if a call matches the pattern, Skipped if there is no strace."""
    if shutil.which("strace") is None:
        raise Skipped("strace, which would show it, is not installed")
    if trial.good.left_running:
        raise Skipped("strace would wait for what it leaves running")
    run = trial.run_good(under=("strace", "-f", "-qq", *options))
    calls = [line for line in run.stderr.splitlines() if re.search(pattern, line)]
    if calls:
        call = re.sub(r"^\[pid +\d+\] ", "", calls[0])
        program = re.match(r'execve\("([^"]*)', call)
        did = f"it started {os.path.basename(program[1])}" if program else f"it called {call:.100}"
        run.fail(did, "no effect but those it declares", f"declare it: - Effects: {effect}")
    if "ptrace" in run.stderr:
        raise Skipped("strace may not trace processes here")


def _skip_declared(trial: Trial, effect: str) -> None:
    """Raise Skipped if the node declares this effect."""
    if _declares(trial, effect):
        raise Skipped(f"it declares: {', '.join(trial.interface.effects)}")


def _declares(trial: Trial, effect: str) -> bool:
    """Return True if the node declares this effect, or runs commands unconfined, which may have any effect."""
    return trial.may(effect, *["runs commands"] * (not trial.confined))


@check("isolation", "it reads only keys that it declares")
def it_looks_at_its_own_keys_only(trial: Trial) -> None:
    interface = trial.interface
    own = {name for name, field in interface.reads.items() if "pipe" in field.marks or "explicit" not in field.marks}
    decoys: dict[str, Any] = {
        name: "a decoy"
        for name in [*interface.reads, *interface.writes, *_words_of(trial.node.file)]
        if name not in own
    }
    decoys |= {name: misfit_of(field.type) for name, field in interface.params.items() if name not in own}
    run = trial.run_good(stdin=trial.document({**ALIENS, **decoys}))
    change = "read what you declare, and params from their flags alone"
    run.expect_answer(change)
    others = [key for key in run.answer.reads if key in {**ALIENS, **decoys} and key not in interface.reads]
    if others:
        run.fail(f"it read {', '.join(map(repr, others))}", "only the keys that it declares", change)
    if not trial.is_steady:
        raise Skipped("it answers differently each time")
    trial.expect_agreement(run, change, "the same as without other keys that its file names")


def _words_of(file: str) -> list[str]:
    """Return the words in a node's file, among them the names of the keys that it looks at."""
    with open(file, "rb") as program:
        words = re.findall(rb"[A-Za-z_]\w{0,63}", program.read(_MOST_BYTES))
    return [str(word, "ascii") for word in dict.fromkeys(words) if word != b"stdin"][:_MOST_DECOYS]


@check("same", "flow-safe: the same inputs give the same outputs, even in another place and environment")
def it_answers_the_same(trial: Trial) -> None:
    if not trial.interface.flow_safe:
        raise Skipped("it does not claim to be flow-safe")
    other = {"TZ": "Pacific/Kiritimati", "LANG": "C", "USER": "other", "LOGNAME": "other", "COLUMNS": "33"}
    elsewhere = trial.run_good(environment=other, files={"another-file": "of somebody", ".hidden": ""})
    for run in (trial.again, elsewhere):
        change = "declare all that it looks at as reads or params, or leave out Flow-safe"
        trial.expect_agreement(run, change, "for the same inputs")


@check("repeats", "Repeats: yes: a second run changes nothing more")
def it_may_run_again(trial: Trial) -> None:
    if trial.interface.repeats != "yes":
        raise Skipped(f"its interface says: {trial.interface.repeats}")
    twice = trial.run_good(times=2)
    if twice.changed:
        change = "write the whole file each time, or declare it: - Repeats: no"
        twice.fail(f"the second run changed {', '.join(twice.changed)}", "the files of the first run", change)


@check("header", "the header is kept: version, run, the steps before")
def header_is_kept(trial: Trial) -> None:
    header = trial.answer.header
    kept = {"v": header.get("v"), "run": header.get("run"), "steps": header.get("steps", [])[: len(STEPS)]}
    if kept != {"v": 1, "run": RUN, "steps": STEPS}:
        trial.good.fail(f"in the header: {kept}", f"what came: v 1, run {RUN}, and its steps", "keep the header")


@check("writes", "it writes the keys that it declares, and no others")
def it_writes_what_it_declares(trial: Trial) -> None:
    answer, interface = trial.answer, trial.interface
    there = {*trial.members_among(), *interface.reads, *interface.writes}
    others = [key for key in answer.members if key not in there]
    if others:
        change = f'declare it: - Writes: shared["{others[0]}"]: TYPE'
        trial.good.fail(f"it wrote {', '.join(map(repr, others))}", "only what its interface declares", change)
    dropped = [key for step in answer.header.get("steps", ())[-1:] for key in step.get("dropped", ())]
    if dropped:
        change = f'copy it, or declare it: - Writes: shared["{dropped[0]}"]: TYPE'
        trial.good.fail(f"it changed {', '.join(map(repr, dropped))} in place", "reads stay as they came", change)
    left = [key for key in interface.writes if key not in answer.members]
    if left and answer.action == "default":
        trial.good.fail(f"no {', '.join(map(repr, left))} in its answer", "every key that it declares as a write")


@check("types", "what it writes has the declared types")
def types_fit(trial: Trial) -> None:
    for name, field in trial.interface.writes.items():
        if name in trial.answer.members and (misfit := _misfit(field.type, trial.answer.members[name], name)):
            trial.good.fail(misfit, f"{name}: {field.type}, as its interface declares")


def _misfit(type: Type, value: Any, place: str) -> str:
    """Describe where a value or a part of it does not fit its type; empty if it fits."""
    if not type.takes(value):
        return f"{place} is {type_name(value)}"
    parts = [(type.items, item, f"{place}[{n}]") for n, item in enumerate(value)] if type.items else []
    fields = type.fields.items() if not type.items else ()
    parts += [(field, value[name], f"{place}.{name}") for name, field in fields if value.get(name) is not None]
    return next(filter(None, (_misfit(*part) for part in parts)), "")


@check("actions", "the action that it returns is declared")
def action_is_declared(trial: Trial) -> None:
    action, declared = trial.answer.action, trial.interface.actions
    flags = trial.samples.words.get(declared[0].removeprefix(ONE_OF), ())  # the read that lists the actions
    declared = (*declared, *(flag.partition("=")[2] for flag in flags))
    if action not in declared:
        change = f"declare it: - Actions: {', '.join([*declared, action])}"
        trial.good.fail(f"the action {action!r}", f"one of {', '.join(declared)}", change)


@check("carries", "the pipe carries its [pipe] write")
def pipe_carries_its_write(trial: Trial) -> None:
    write, last = trial.interface.pipe_write, trial.answer.header.get("last")
    if write is not None and write.name not in trial.answer.members:
        return
    expected = write.name if write else trial.samples.pipe
    if last != expected:
        change = "set it to your [pipe] write" if write else "keep it: you have no [pipe] write"
        trial.good.fail(f"last in the header: {last!r}", f"{expected!r}", change)


@check("raw", "--raw prints what the pipe carries; a text ends with a newline")
def raw_is_the_value(trial: Trial) -> None:
    run = trial.run_good("--raw")
    run.expect_exit(0)
    carried = trial.answer.members.get(str(trial.answer.header.get("last")))
    if carried is not None and trial.is_steady and run.stdout != (wanted := raw_form(carried)):
        change = "end a text with a newline unless it is empty or has one; bytes as they are"
        run.fail(shown(run.stdout), f"{shown(wanted)}, the value", change)


@check("quiet", "--quiet prints nothing")
def quiet_is_quiet(trial: Trial) -> None:
    run = trial.run_good("--quiet")
    run.expect_exit(0)
    if run.stdout:
        run.fail(f"on stdout: {shown(run.stdout)}", "nothing")


@check("dry-run", "--dry-run does nothing")
def dry_run_does_nothing(trial: Trial) -> None:
    run = trial.run_good("--dry-run")
    if run.code == 2 and not run.changed:
        raise Skipped("it refuses --dry-run, which is safe")
    run.expect_exit(0, "--dry-run does nothing, or is refused with 2")
    new = run.answer.members.keys() - trial.members_among()
    done = [*run.changed, *(key for key in trial.interface.writes if key in new)]
    if done:
        run.fail(f"it did its work: {', '.join(done)}", "nothing is done, nothing written", "refuse --dry-run")


@check("leftovers", "nothing that it started outlives it")
def nothing_keeps_running(trial: Trial) -> None:
    if trial.good.left_running:
        what = "a process that it started outlived it"
        trial.good.fail(what, "nothing", "wait for the processes you start")


@check("closed-stdout", "a closed stdout ends it silently")
def closed_stdout_ends_it(trial: Trial) -> None:
    _expect_silence(trial.run_good(reader=GONE))


@check("early-reader", "a reader that goes away early ends it silently")
def early_reader_ends_it(trial: Trial) -> None:
    _expect_silence(trial.run_good(stdin=trial.document({"large": "x" * 1_000_000}), reader=EARLY))


def _expect_silence(run: NodeRun) -> None:
    change = "let SIGPIPE end you, or exit with 141 and say nothing"
    if run.code not in (-13, 141):
        run.fail(f"{run.ending}, though nobody read its stdout", "141, or killed by SIGPIPE", change)
    if run.stderr:
        run.fail(f"on stderr: {run.stderr[-120:]!r}", "nothing: head has all that it wanted", change)
