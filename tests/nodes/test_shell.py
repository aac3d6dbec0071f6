"""shell: a command, what it gets and what becomes of it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.nodes.shell import Shell
from pflow.process import children
from pflow.process.signals import Deadline, Interrupted, TimedOut, catch_signals, stop_timer

LONG = 5_000_000
LIMIT = 20
"""Seconds after which a process that should have ended counts as left over."""


def run(command: str, *, node: Shell | None = None, check: bool = True, **reads: object) -> dict[str, object]:
    node = node or Shell()
    node.set_params({"check": check})
    shared: dict[str, object] = {"command": command, **reads}
    action = node.run(shared)
    assert action == ("error" if shared["exit_code"] else "default")
    return {key: shared[key] for key in ("stdout", "stderr", "exit_code")}


def refuse(command: str, **reads: object) -> PflowError:
    with pytest.raises(PflowError) as caught:
        run(command, **reads)
    return caught.value


@contextmanager
def no_process_left() -> Iterator[None]:
    """Whatever is started here has ended soon after: it all holds the one end of a pipe, and the other end says so."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        yield
    finally:
        os.close(writer)
        ended, _, _ = select.select([reader], [], [], LIMIT)
        os.close(reader)
        assert ended, "a process is left"


@contextmanager
def stopped() -> Iterator[None]:
    """The stage's way: a handler that raises out of exec."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    before = {each: signal.getsignal(each) for each in numbers}
    catch_signals()
    try:
        with pytest.raises(Interrupted):
            yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def another_thread() -> Iterator[threading.Thread]:
    """A thread beside ours, to which the system may give the signals that ours has blocked."""
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait)
    thread.start()
    try:
        yield thread
    finally:
        is_over.set()
        thread.join()


@contextmanager
def told_of_signals() -> Iterator[int]:
    """A descriptor that gets a byte once Python knows of a signal, and is about to call the handler."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    old = signal.set_wakeup_fd(writer)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(old)
        os.close(reader)
        os.close(writer)


def signalling(signum: int = signal.SIGTERM) -> Shell:
    """A node that gets a signal as soon as its command has printed something."""
    node = Shell()
    node.sink = lambda part: os.kill(os.getpid(), signum)
    return node


@pytest.mark.parametrize(
    ("command", "stdout", "stderr", "code"),
    [
        ("echo out; echo err >&2", "out\n", "err\n", 0),
        ("printf 'dos\\r\\n\\n\\n'", "dos\r\n\n\n", "", 0),
        (r"printf '\377\000'; printf '\376' >&2", b"\xff\0", b"\xfe", 0),
        ('echo "$0 $#"', "sh 0\n", "", 0),
        ("kill -9 $$", "", "", 137),
        ("test -c /dev/stdin && echo device", "device\n", "", 0),
        ("(cat < /dev/tty) 2>/dev/null || echo no terminal", "no terminal\n", "", 0),
        ("echo '${HOME}' '$x' $((1+1))", "${HOME} $x 2\n", "", 0),
    ],
)
def test_a_command_gives_its_output_and_its_exit_code(command, stdout, stderr, code):
    assert run(command, check=False) == {"stdout": stdout, "stderr": stderr, "exit_code": code}


@pytest.mark.parametrize("command", ["sleep 60 & yes", "(yes & yes >&2) ; wait", "trap '' TERM; yes x | cat"])
def test_a_command_that_prints_more_than_it_may_is_ended_with_all_that_it_started(command):
    node = Shell()
    node.set_params({"check": True, "max_output": 100_000})
    with no_process_left(), pytest.raises(PflowError) as caught:
        node.run({"command": command})
    assert (caught.value.exit, caught.value.is_permanent) == (73, True)
    assert caught.value.message.endswith("it printed more than 100,000 bytes")


def test_a_command_may_print_as_much_as_it_may_in_whatever_parts():
    node, shared = Shell(), {"command": "head -c 600 /dev/zero; head -c 400 /dev/zero >&2"}
    node.set_params({"check": True, "max_output": 1000})
    node.run(shared)
    assert (len(shared["stdout"]), len(shared["stderr"])) == (600, 400)
    assert Shell().params["max_output"] == 10**9


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("exit 7", 7, "cannot finish 'exit 7': exit code 7"),
        ("printf '1\\n\\n2\\n 3\\n4\\n' >&2\nfalse", 1, "2 / 3 / 4"),
        ("printf '\\377' >&2; false", 1, "exit code 1: �"),
        ("no-such-command-here", 127, "not found"),
        ("false # " + "x" * 100, 1, f"cannot finish 'false # {'x' * 51}…': exit code 1"),
    ],
)
def test_a_command_that_fails_fails_the_node_with_its_code(command, code, message):
    error = refuse(command)
    assert error.exit == code
    assert error.message.endswith(message)
    assert "\n" not in error.message
    assert "--no-check" in error.hint


@pytest.mark.parametrize(
    ("args", "got"),
    [
        (None, ""),
        ([1, 2.5, True, False, None], "1|2.5|true|false||"),
        ([["a", 1], {"k": "ä"}], '["a",1]|{"k":"ä"}|'),
        ([b"bytes \xff", "escaped \udcff"], b"bytes \xff|escaped \xff|"),
    ],
)
def test_an_argument_that_is_no_text_is_its_json_and_bytes_are_themselves(args, got):
    assert run('[ $# = 0 ] || printf "%s|" "$@"', args=args)["stdout"] == got


@given(args=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=5))
def test_any_text_is_an_argument(args):
    assert run('printf "%s\\0" "$@"', args=args)["stdout"] == "".join(arg + "\0" for arg in args)


@pytest.mark.parametrize(
    ("reads", "words"),
    [
        ({"command": "a\0b"}, "a command cannot contain NUL"),
        ({"command": "true", "args": ["fine", "a\0b"]}, "cannot pass argument 2: an argument cannot contain NUL"),
        ({"command": "true", "args": ["\ud800"]}, "cannot pass argument 1: the text has a lone surrogate"),
        ({"command": "true", "args": ["x" * LONG]}, "cannot run 'true': its arguments are too long"),
        ({"command": "true", "input": "\ud800"}, "cannot pass the input: the text has a lone surrogate"),
    ],
)
def test_what_a_command_cannot_take_is_65(reads, words):
    error = refuse(**reads)
    assert error.exit == 65
    assert words in error.message


@pytest.mark.parametrize(
    ("input", "stdin"),
    [
        ("text", "text"),
        (b"bytes\0\xff", b"bytes\0\xff"),
        (None, ""),
        ({"k": "ä"}, '{"k":"ä"}\n'),
    ],
)
def test_the_input_is_its_stdin(input, stdin):
    assert run("cat", input=input)["stdout"] == stdin


def test_it_works_where_stdin_and_stdout_and_stderr_are_closed(tmp_path):
    program = (
        "import os; from pflow.nodes.shell import Shell; s = {'command': 'cat; echo err >&2', 'input': 'in'}\n"
        "for fd in (0, 1, 2): os.close(fd)\n"
        "Shell().run(s); os._exit(s['stdout'] == 'in' and s['stderr'] == 'err\\n')"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    assert subprocess.run([sys.executable, "-c", program], env=env, check=False).returncode == 1


def test_much_input_and_much_output_pass_each_other():
    text = "0123456789\n" * (LONG // 11)
    got = run("tee /dev/stderr", input=text)
    assert got["stdout"] == text
    assert got["stderr"] == text


def test_no_variable_of_a_shell_changes_what_a_command_does(tmp_path, monkeypatch):
    (tmp_path / "here" / "sub").mkdir(parents=True)
    (tmp_path / "there" / "sub").mkdir(parents=True)
    (tmp_path / "rc").write_text("echo read")
    for name, value in {"CDPATH": f"{tmp_path}/there", "BASH_ENV": f"{tmp_path}/rc", "ENV": f"{tmp_path}/rc"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path / "here")
    assert run("cd sub && pwd")["stdout"] == f"{tmp_path}/here/sub\n"


def test_our_own_stdin_is_never_its_stdin():
    program = "from pflow.nodes.shell import Shell; s = {'command': 'cat'}; Shell().run(s); print(s['stdout'] == '')"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], input=b"ours", env=env, capture_output=True, check=True)
    assert done.stdout == b"True\n"


@pytest.mark.parametrize(
    ("command", "stdout"),
    [
        ("exec <&-; echo closed", "closed\n"),
        ("head -c 3", "xxx"),
        ("head -c 1000000 /dev/zero | wc -c | tr -d ' '", "1000000\n"),
    ],
)
def test_a_command_need_not_read_its_input(command, stdout):
    assert run(command, input="x" * LONG)["stdout"] == stdout


def test_a_command_may_close_its_output_and_go_on(tmp_path):
    run('exec >&- 2>&-; cat > "$1"', args=[str(tmp_path / "file")], input="x" * LONG)
    assert (tmp_path / "file").stat().st_size == LONG


@pytest.mark.parametrize("has_pidfd", [True, False])
def test_what_is_left_in_the_background_is_not_waited_for(tmp_path, monkeypatch, has_pidfd):
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with no_process_left():
        got = run('{ read x < "$1"; } & echo started', args=[str(gate)])
        assert got["stdout"] == "started\n"
        gate.write_text("go\n")  # it was not killed either: somebody reads here


def test_all_that_was_written_before_the_end_is_read():
    for _ in range(5):
        got = run("head -c 60000 /dev/zero | tr '\\0' x; exec head -c 60000 /dev/zero >&2")
        assert (len(got["stdout"]), len(got["stderr"])) == (60000, 60000)


def test_stdout_is_emitted_while_the_command_runs(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    node, parts = Shell(), []

    def open_gate(part: bytes) -> None:
        parts.append(part)
        if part == b"one\n":
            gate.write_text("go\n")

    node.sink = open_gate
    assert run('echo one; read x < "$1"; echo two', node=node, args=[str(gate)])["stdout"] == "one\ntwo\n"
    assert parts == [b"one\n", b"two\n"]


def test_stderr_is_shown_while_the_command_runs(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    shown, theirs = os.pipe()
    parts = []

    def watch() -> None:
        parts.append(os.read(shown, 100))
        gate.write_text("go\n")

    watcher, ours = threading.Thread(target=watch), os.dup(2)
    watcher.start()
    os.dup2(theirs, 2)
    try:
        assert run('echo one >&2; read x < "$1"', args=[str(gate)])["stderr"] == "one\n"
    finally:
        os.dup2(ours, 2)
        watcher.join()
        for fd in (shown, theirs, ours):
            os.close(fd)
    assert parts == [b"one\n"]


def test_a_command_ignores_what_we_were_told_to_ignore_and_nothing_that_python_does():
    assert refuse("kill -PIPE $$").exit == 141
    masks = dict(line.split(":") for line in run("cat /proc/self/status")["stdout"].splitlines())
    blocked, ignored = int(masks["SigBlk"], 16), int(masks["SigIgn"], 16)
    own = {signum for signum in signal.valid_signals() if signal.getsignal(signum) == signal.SIG_IGN}
    told = own - {signal.SIGPIPE, signal.SIGXFSZ}
    assert blocked == 0
    assert {n for n in range(1, 32) if ignored >> (n - 1) & 1} == {int(signum) for signum in told}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()


def test_an_ignored_sigchld_loses_no_exit_code():
    old = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert run("exit 3", check=False)["exit_code"] == 3
    finally:
        signal.signal(signal.SIGCHLD, old)


def test_no_descriptor_is_left_open():
    before = os.listdir("/proc/self/fd")
    run("cat", input="x")
    refuse("false")
    refuse("true", args=["x" * LONG])
    with stopped():
        run("echo; cat", node=signalling(), input="x" * LONG)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(
    "command",
    [
        "echo; exec sleep 1000",
        "sleep 1000 | sleep 1000 & echo; exec sleep 1000",
        "echo; kill -STOP $$",
        "sh -c 'sh -c \"sleep 1000 & sleep 1000\" & sleep 1000' & echo; wait",
        "set -m; sleep 1000 & echo; wait",
    ],
)
def test_a_signal_ends_the_command_and_all_that_it_started(command):
    with no_process_left(), stopped():
        run(command, node=signalling())


@pytest.mark.parametrize("has_proc", [True, False])
@pytest.mark.parametrize(
    "command",
    [
        "trap '' TERM; echo; while :; do sleep 1000; done",
        "(trap '' TERM; while :; do sleep 1000; done) & echo; wait",
    ],
)
def test_what_ignores_sigterm_is_killed(monkeypatch, command, has_proc):
    monkeypatch.setattr(children, "GRACE", 0.05)
    if not has_proc:
        monkeypatch.setattr(os.path, "exists", lambda path: False)
    with no_process_left(), stopped():
        run(command, node=signalling())


def test_a_command_may_clean_up_on_sigterm(tmp_path):
    command = """
        trap 'wait; echo parent >> "$1"; exit' TERM
        (trap 'echo child >> "$1"; exit' TERM; echo; while :; do read x < "$2"; done) &
        wait
    """
    os.mkfifo(tmp_path / "never")
    with no_process_left(), stopped():
        run(command, node=signalling(), args=[str(tmp_path / "log"), str(tmp_path / "never")])
    assert (tmp_path / "log").read_text() == "child\nparent\n"


def test_a_time_limit_ends_it():
    with no_process_left(), pytest.raises(TimedOut), Deadline(0.01):
        run("sleep 1000 & sleep 1000")
    stop_timer()


def test_a_signal_while_it_starts_leaves_no_process(monkeypatch):
    def spawn_and_signal(*args: object, **kwargs: object) -> int:
        pid = spawn(*args, **kwargs)
        signal.pthread_kill(thread.ident, signal.SIGTERM)
        os.read(told, 1)
        return pid

    spawn = os.posix_spawnp
    monkeypatch.setattr(os, "posix_spawnp", spawn_and_signal)
    with no_process_left(), another_thread() as thread, told_of_signals() as told, stopped():
        run("sleep 1000")


def test_a_listener_that_fails_ends_it():
    def fail(part: object) -> None:
        raise BrokenPipeError

    node = Shell()
    node.sink = fail
    with no_process_left(), pytest.raises(BrokenPipeError):
        run("echo; sleep 1000", node=node)
