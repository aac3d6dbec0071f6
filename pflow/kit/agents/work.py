"""Running a coding agent: it gets a prompt, ends with pflow or at its time limit, and is judged by its results."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pflow.errors import BAD_CONFIG, BAD_DATA, FAILED, MISSING, TRY_AGAIN, USAGE, PflowError, encode_text, shorten
from pflow.files.reading import file_state
from pflow.kit.git.program import Git
from pflow.process.children import run
from pflow.process.signals import Deadline
from pflow.process.start import environment
from pflow.terminal.messages import write_stderr
from pflow.values.jsontext import text_or_bytes
from pflow.values.secrets import Secrets
from pflow.values.usage import Call, Calls, answer_members

_TAIL = 2000
"""The number of bytes at the end of a program's stderr that are shown."""


@dataclass(frozen=True)
class AgentTask:
    """The work to do: the prompt, the directory, the rights, and limits in seconds, turns and dollars."""

    prompt: str
    directory: str = "."
    allowed_tools: Sequence[str] = ()
    model: str | None = None
    max_turns: int | None = None
    max_budget: float | None = None
    time_limit: float | None = None
    expect: Sequence[str] = ()
    load_settings: bool = False
    allow_no_answer: bool = False


@dataclass
class AgentReply:
    """An agent's report on its work, with `usage` as a node writes it; `failure` is set if the work is not done."""

    report: str = ""
    session: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    failure: PflowError | None = None
    changed_files: list[str | bytes] = field(default_factory=list)


@dataclass(frozen=True)
class Agent:
    """A program that is an agent. It reads its prompt from stdin, and `read` parses the lines that it prints.

    `secrets` are the names of the variables with its keys; `variables` are set in its environment.
    """

    program: str
    how_to_get: str
    secrets: Sequence[str]
    variables: Mapping[str, str]
    arguments: Callable[[AgentTask], list[str]]
    prompt: Callable[[str], str]
    read: Callable[[Iterable[bytes]], AgentReply | None]
    """Return the reply; None if it is incomplete. A `failure` with `ends_run` says that the agent's budget is spent."""


def run_agent(agent: Agent, task: AgentTask, calls: Calls) -> AgentReply:
    """Have an agent do a task, once the budget behind `calls` allows it.

    Raises PflowError; the agent's changes stay.
    """
    _check(agent, task)
    while True:
        most = {"cost": task.max_budget} if task.max_budget else {}
        with Call(calls, task.model or agent.program, most=most, is_capped=True) as call:
            reply = _run_once(agent, task, call.reserved().get("cost"))
            call.usage = answer_members(reply.usage)
            return reply


def _run_once(agent: Agent, task: AgentTask, reserved: float | None) -> AgentReply:
    """Do a task once. `reserved` are the dollars that it may take in a run whose money is limited, else None."""
    is_by_run = reserved is not None and (task.max_budget is None or reserved < task.max_budget)
    if is_by_run:
        task = replace(task, max_budget=reserved)
    secrets = Secrets()
    for name in agent.secrets:
        secrets.add(os.environ.get(name))
    before = _states_in(task.directory)
    expected = {name: _state_of(task.directory, name) for name in map(str, task.expect)}
    reply = AgentReply(usage={"model": task.model or agent.program})
    try:
        with Deadline(task.time_limit, "--time-limit", act=f"cannot wait for '{agent.program}'"):
            reply = _run_program(agent, task, secrets)
            if reply.failure:
                raise reply.failure
            if not (reply.report.strip() or task.allow_no_answer):
                what = f"cannot finish '{agent.program}': it reported nothing"
                raise PflowError(what, hint="its changes stay", exit=TRY_AGAIN)
            for name, state in expected.items():
                _check_expected(task, name, state, secrets)
    except PflowError as error:
        error.usage = answer_members(reply.usage)
        error.ends_run = error.ends_run and is_by_run
        if error.ends_run:
            error.hint = "--max-cost allows more"
        secrets.hide(error)
        raise
    return replace(reply, report=secrets.mask(reply.report), changed_files=_changed_files(task.directory, before))


def _check(agent: Agent, task: AgentTask) -> None:
    if not all(name.removeprefix("!").strip() for name in map(str, task.expect)):
        hint = "--expect=FILE names a file, --expect='!COMMAND' a command"
        raise PflowError("cannot expect nothing of the work: an --expect is empty", hint=hint, exit=USAGE)
    if not os.path.isdir(task.directory):
        raise PflowError(f"cannot work in '{task.directory}': there is no such directory", exit=MISSING)
    if shutil.which(agent.program) is None:
        raise PflowError(f"cannot run '{agent.program}': it is not installed", hint=agent.how_to_get, exit=BAD_CONFIG)


def _run_program(agent: Agent, task: AgentTask, secrets: Secrets) -> AgentReply:
    """Run the agent and return its reply. Its stdout is a file: a pipe was seen to cut it at 65,536 bytes."""
    program, said = os.path.abspath(shutil.which(agent.program) or agent.program), bytearray()
    with tempfile.TemporaryFile() as output:
        ended = run(
            [program, *agent.arguments(task)],
            input=encode_text(agent.prompt(task.prompt), "cannot hand on the prompt"),
            on_stdout=output.fileno(),
            on_stderr=partial(_keep_end, said),
            env={**environment(), **agent.variables},
            directory=task.directory,
        )
        output.seek(0)
        try:
            reply = agent.read(output)
        # What another program prints may have any shape, and to check each member of it would take more code than this.
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            what = f"cannot read the answer of '{agent.program}': its result or its usage is malformed"
            raise PflowError(what, exit=BAD_DATA) from error
    code = 128 - ended if ended < 0 else ended
    stderr = secrets.mask(said.decode(errors="replace"))
    write_stderr(stderr)
    if reply is None:
        why = f": {shorten(stderr.strip().splitlines()[-1])}" if stderr.strip() else ""
        what = f"cannot read the answer of '{agent.program}': it ended with {code} and without a result{why}"
        raise PflowError(what, exit=code or FAILED, is_permanent=False)
    if code and reply.failure is None:
        what = f"cannot accept the result of '{agent.program}': it ended with {code}"
        reply.failure = PflowError(what, exit=code, is_permanent=False)
    return reply


def _keep_end(said: bytearray, part: bytes) -> None:
    said += part
    del said[:-_TAIL]


def _check_expected(task: AgentTask, name: str, state: object, secrets: Secrets) -> None:
    """Raise PflowError unless the file `name` has another `state` than before, or the command `!NAME` succeeds."""
    if not name.startswith("!"):
        now = _state_of(task.directory, name)
        if now is None or now == state:
            why = "it is not there" if now is None else "it has not changed"
            raise PflowError(f"cannot find '{name}' as expected: {why}", exit=FAILED)
        return
    said = bytearray()
    keep, command = partial(_keep_end, said), ["/bin/sh", "-c", "--", name[1:]]
    code = run(command, on_stdout=keep, on_stderr=keep, directory=task.directory)
    if code:
        write_stderr(secrets.mask(said.decode(errors="replace")))
        raise PflowError(f"cannot accept the work: '{shorten(name[1:])}' ended with {code}", exit=FAILED)


_State = tuple[int, ...]


def _states_in(directory: str) -> dict[str, _State]:
    """Return the state of each file below a directory, without those in a .git and those that git ignores."""
    return {name: state for name in _names(directory) if (state := _state_of(directory, name))}


def _changed_files(directory: str, before: dict[str, _State]) -> list[str | bytes]:
    """Return the files that are new, changed or deleted since `before`, as paths from pflow's working directory."""
    now = _states_in(directory)
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    paths = (os.path.normpath(os.path.join(directory, name)) for name in names)
    return [text_or_bytes(os.fsencode(path)) for path in paths]


def _state_of(directory: str, name: str) -> _State | None:
    return file_state(os.path.join(directory, name), follow=False)


def _names(directory: str) -> Iterator[str]:
    try:
        git = Git(directory, "list files", reads=True)
        listed = git.run("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except PflowError:  # not a repository, or git is not installed
        for folder, folders, files in os.walk(directory):
            folders[:] = [name for name in folders if name != ".git"]
            yield from (os.path.relpath(os.path.join(folder, name), directory) for name in files)
        return
    yield from map(os.fsdecode, filter(None, listed.split(b"\0")))
