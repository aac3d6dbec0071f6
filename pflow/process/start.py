"""Starting a program in a session of its own, and the guard that ends the session once this process is gone."""

from __future__ import annotations

import errno
import os

from pflow import TYPE_CHECKING, Any, Callable, Mapping, Sequence
from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, Ignoring, PflowError, exit_code, reason_of
from pflow.files.beneath import CONFINED
from pflow.process.signals import HeldSignals

if TYPE_CHECKING:
    import signal as _signal
    from typing import TypeVar

    T = TypeVar("T")
else:
    import _signal  # signal's C part, as in pflow.process.signals

NODE = "PFLOW_NODE"
"""The variable that holds a program's own name while it runs as a node's body. Run in any other way, the program hands
itself to pflow by its guard: `[ "${PFLOW_NODE-}" = shout ] || exec pflow "$0" "$@"; unset PFLOW_NODE`.
"""

# posix_spawn cannot start a program in another directory.
_IN_DIRECTORY = ("/bin/sh", "-c", 'cd -- "$1" && shift && exec "$@"', "sh")


def spawn(
    argv: Sequence[str | bytes],
    files: Sequence[int],
    env: Mapping[str, str] | None = None,
    directory: str | None = None,
    *,
    is_ours: bool = False,
    restrict: Callable[[], None] | None = None,
) -> int:
    """Start a program in its own session: without a terminal, since reading from one in the background would stop it.

    `files` become its stdin, stdout and stderr; -1 stands for /dev/null. Inheritable files stay open in it, as with any
    shell. In a run within bounds it is confined to those bounds, unless it `is_ours`. A stranger's program is confined
    by `restrict`, and inherits no other file that is open for writing. Return its process id. Raises OSError.
    """
    actions: list[Any] = [
        (os.POSIX_SPAWN_DUP2, fd, n) if fd >= 0 else (os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0)
        for n, fd in enumerate(files)
    ]
    words = [*_IN_DIRECTORY, os.path.abspath(directory), *argv] if directory is not None else [*argv]

    def start() -> int:
        return os.posix_spawnp(
            words[0],
            words,
            environment() if env is None else env,
            file_actions=actions,
            setsid=True,
            setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ),  # Python ignores them, and exec hands that down
        )

    if restrict is None and (is_ours or not os.environ.get(CONFINED)):
        return start()
    from pflow.process import confine

    if restrict is not None:  # Landlock does not touch what is open already
        actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in confine.open_for_writing()]
    return confine.start_restricted(start, restrict or confine.restrict)


# The guard reads the session's number and waits for the end of its stdin, which the kernel closes when we are gone;
# then it does what `end` in children.py does. Linux's parent-death signal would end only the program, not its children.
# PATH may have no sed; without it the shell reads /proc byte by byte, which takes longer. In /proc/PID/stat the fields
# after the last bracket are state, parent, process group and session: a program's name may hold brackets too.
_GUARD_SCRIPT = r"""
read -r session || exit
read -r _
find_groups() {
    groups=
    if command -v sed && command -v sort; then
        groups=$(sed -n "s/.*) [^ZX] [0-9]* \([0-9]*\) $session .*/-\1/p" /proc/[0-9]*/stat | sort -u)
    else
        for stat in /proc/[0-9]*/stat; do
            line=
            while read -r part; do line=$part; done <"$stat"
            set -- ${line##*) }
            case $1/$4/$groups- in
                [ZX]* | *-"$3"[!0-9]*) ;;
                */"$session"/*) groups="$groups -$3" ;;
            esac
        done
    fi
    [ -e /proc/self/stat ] || ! kill -s 0 -- "-$session" || groups=-$session
    [ "$groups" ]
}
find_groups
kill -s TERM -- $groups
kill -s CONT -- $groups
rounds=0
while [ "$((rounds += 1))" -le 100 ]; do
    find_groups || exit
    sleep 0.02
done
kill -s KILL -- $groups
"""


class Guard:
    """A shell in a session of its own, out of reach of signals to ours. If it does not start, there is no guard."""

    def __init__(self) -> None:
        theirs, self.pipe = os.pipe()
        path = {"PATH": os.environ.get("PATH", os.defpath)}  # other variables may be secret, and `ps e` shows them
        try:
            self.pid = spawn(["/bin/sh", "-c", _GUARD_SCRIPT], [theirs, -1, -1], path, is_ours=True)
        except OSError:
            self.pid = 0
        finally:
            os.close(theirs)

    def watch(self, session: int) -> None:
        """Tell it the session to end once we are gone."""
        with Ignoring(BrokenPipeError):  # somebody killed the guard; the program runs without it
            os.write(self.pipe, b"%d\n" % session)

    def close(self, *, ends_session: bool = False) -> None:
        """End the guard. With `ends_session` let it first end what a second signal kept us from ending."""
        with HeldSignals():
            with Ignoring(ProcessLookupError):  # end_orphans may have collected it
                if self.pid and not ends_session:
                    os.kill(self.pid, _signal.SIGKILL)
            os.close(self.pipe)
            with Ignoring(ChildProcessError):
                if self.pid:
                    os.waitpid(self.pid, 0)


def environment() -> Mapping[str, str]:
    """Return our environment without the LC_CTYPE that Python sets when it is started in the C locale."""
    if os.environ.get("LC_CTYPE") != "C.UTF-8":
        return os.environ
    try:
        with open("/proc/self/environ", "rb") as environ:
            was_set = b"\0LC_CTYPE=" in b"\0" + environ.read()
    except OSError:
        was_set = True
    return os.environ if was_set else {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}


def start_program(file: str, start: Callable[[list[str]], T]) -> T:
    """Call `start` with the words that run a file: the file, after /bin/sh if it is a script without a #!.

    Raises PflowError: 77 if it may not be run, 78 if its interpreter is missing.
    """
    try:
        try:
            return start([file])
        except OSError as error:
            # The kernel refuses a script without a #!; shells and execvp run it with sh all the same.
            if error.errno != errno.ENOEXEC or b"\0" in first_bytes(file):
                raise
            return start(["/bin/sh", file])
    except OSError as error:
        raise _not_started(file, error) from None


def programs_of(file: str) -> list[str]:
    """Return the files that the kernel executes to start a program: it, the interpreters behind a #!, their loaders.

    Landlock asks for the right to execute each of them.
    """
    found = list[str]()
    todo = [file, *([] if first_bytes(file).startswith((b"#!", _ELF)) else ["/bin/sh"])]  # as start_program does
    while todo:
        path = os.path.realpath(todo.pop())
        if path in found:
            continue
        found.append(path)
        begin = first_bytes(path, 4096)
        words = os.fsdecode(begin).partition("\n")[0].removeprefix("#!").split() if begin.startswith(b"#!") else []
        todo += words[:1]
        if words and os.path.basename(words[0]) == "env":
            name = next((word for word in words[1:] if word[0] != "-" and "=" not in word), "")
            places = os.environ.get("PATH", os.defpath).split(os.pathsep) if name else []
            todo += [each for place in places if os.access(each := os.path.join(place, name), os.X_OK)][:1]
        todo += _loaders(begin)
    return found


_ELF = b"\x7fELF"
_INTERPRETER = 3


def _loaders(begin: bytes) -> list[str]:
    """Return the loader that a compiled program names in its program headers (elf(5)), if it does."""
    order: Any = "little" if begin[5:6] == b"\1" else "big"

    def at(place: int, size: int) -> int:
        return int.from_bytes(begin[place : place + size], order)

    is_wide = begin[4:5] == b"\2"
    first, size, count = (at(32, 8), at(54, 2), at(56, 2)) if is_wide else (at(28, 4), at(42, 2), at(44, 2))
    headers = range(first, first + size * count, size) if begin.startswith(_ELF) and size else ()
    for header in [each for each in headers if at(each, 4) == _INTERPRETER]:
        place, length = (at(header + 8, 8), at(header + 32, 8)) if is_wide else (at(header + 4, 4), at(header + 16, 4))
        name = os.fsdecode(begin[place : place + length].rstrip(b"\0"))
        return [name] if name.startswith("/") and "/ld" in name else []
    return []


def mark_as_body(file: str, name: str) -> None:
    """Set PFLOW_NODE for a program that checks it; else it would hand itself to pflow, which would call it again."""
    if NODE.encode() in first_bytes(file, 1 << 26):  # in a compiled program the name may be anywhere
        refuse_itself(name)
        os.environ[NODE] = name


def refuse_itself(name: str) -> None:
    """Raise PflowError (78) if a program that runs as a node's body calls itself again, which would never end."""
    if os.environ.get(NODE) == name:
        hint = f"its guard must compare {NODE} with '{name}', then unset it"
        raise PflowError(f"cannot run {name} inside itself", hint=hint, exit=BAD_CONFIG)


def _not_started(file: str, error: OSError) -> PflowError:
    what, hint, exit = reason_of(error), "", exit_code(error)
    if error.errno == errno.ENOENT and os.path.isfile(file):
        interpreter = os.fsdecode(first_bytes(file).partition(b"\n")[0].removeprefix(b"#!").strip())
        what, hint, exit = f"its interpreter '{interpreter}' is missing", "install it", BAD_CONFIG
    elif error.errno == errno.ENOEXEC:
        what, exit = "it is not a program for this machine", BAD_CONFIG
    elif error.errno == errno.EACCES:
        hint, exit = "chmod +x makes it a program", DENIED
    elif error.errno == errno.E2BIG:
        what, hint, exit = "its flags are too long", "a read may have any size", BAD_DATA
    return PflowError(f"cannot run '{file}': {what}", hint=hint, exit=exit)


def first_bytes(file: str, size: int = 256) -> bytes:
    """Return the first bytes of a file; none if it cannot be read."""
    try:
        with open(file, "rb") as program:
            return program.read(size)
    except OSError:
        return b""
