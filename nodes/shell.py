"""The shell node: run a shell command."""

import errno
import os

from pflow.errors import BAD_DATA, CANNOT_WRITE, PflowError, check_natural, encode_text, no_memory, shorten
from pflow.node import Any, Node, Shared
from pflow.terminal.messages import say, write_stderr
from pflow.values.jsontext import encode, text_of, text_or_bytes
from pflow.values.templates import uses_arguments

Text = str | bytes
Ran = tuple[Text, Text, int]


_TAIL_LINES, _TAIL_LENGTH = 3, 300
_USE_STDIN = "long or binary data goes to the command's stdin, by the read 'input'"


class Shell(Node):
    """Run a command with /bin/sh.

    No templates are expanded in the command: it gets values as its arguments, "$1", "$2", …, and on its stdin. Its
    stderr is shown as it comes. It has no terminal, and it ends when its shell does, without waiting for background
    processes. --cache compares the command, its arguments, its stdin and the directory, but not the files and variables
    that it reads itself: --refresh runs it again.

    Interface:
    - Reads: shared["command"]: str [explicit] [word] [verbatim]  # the command
    - Reads: shared["args"]: list[str] = [] [own] [word]  # its arguments, from $1 on
    - Reads: shared["input"]: any = null [pipe]  # its stdin: text and bytes exactly, anything else as a line of JSON
    - Writes: shared["stdout"]: any [pipe]  # its output: text, or bytes if it is not UTF-8
    - Writes: shared["stderr"]: any  # its output on stderr
    - Writes: shared["exit_code"]: int  # its exit code, 128+n if signal n killed it
    - Params: check: bool = true  # fail if the command fails, with its exit code; --no-check: take the action error
    - Params: max_output: int = 1000000000 [natural]  # the maximum output in bytes; with more the command is ended (73)
    - Actions: default, error  # error if the command failed, with --no-check
    - Effects: runs commands

    Examples:
        pflow-shell --command='uname -s'
        pflow-read-file --path=examples/notes.txt | pflow-shell --command='wc -l'
        pflow-shell 'grep -c "$1" "$2"' 'Zoë' examples/notes.txt
        pflow-shell --command='exit 3' --no-check | pflow-get exit_code
    """

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        """Return the directory of the command. It stands for the files that the command reads, which nobody knows."""
        return {"directory": os.fsencode(os.getcwd())}

    def prep(self, shared: Shared) -> tuple[str, list[bytes], bytes | None]:
        command = shared["command"]
        if "\0" in command:
            raise PflowError(f"cannot run {command!r}: a command cannot contain NUL", exit=BAD_DATA)
        check_natural("--max-output", self.params["max_output"])
        args = [_argument(n, value) for n, value in enumerate(shared.get("args") or [], 1)]
        if args and not uses_arguments(command):
            remedy = 'put the whole command in quotes; "$1" is its first argument'
            say("warning", f"'{_short(command)}' does not use its arguments; {remedy}")
        return command, args, _input(shared.get("input"))

    def exec(self, prepared: tuple[str, list[bytes], bytes | None]) -> Ran:
        from pflow.process.children import run
        from pflow.process.start import environment

        command, args, input = prepared
        stdout, stderr = bytearray(), bytearray()  # a list of parts would take many times their size
        most = self.params["max_output"]

        def taker(printed: bytearray, show: Any) -> Any:
            def take(part: bytes) -> None:
                if len(stdout) + len(stderr) + len(part) > most:
                    raise _too_much(command, most)
                printed.extend(part)
                show(part)

            return take

        try:
            # -- for a command that begins with a dash.
            argv: list[str | bytes] = ["/bin/sh", "-c", "--", os.fsencode(command), "sh", *args]
            env = {**environment()}
            env.pop("CDPATH", None)  # by which cd would go elsewhere, and print
            taking, showing = taker(stdout, self.emit), taker(stderr, write_stderr)
            code = run(argv, input=input, env=env, on_stdout=taking, on_stderr=showing)
            code = 128 - code if code < 0 else code
            if code and self.params["check"]:
                raise _failure(command, code, stderr)
            return text_or_bytes(stdout), text_or_bytes(stderr), code
        except OSError as error:
            raise (_too_long(command) if error.errno == errno.E2BIG else error) from None
        except MemoryError as error:
            raise no_memory(f"cannot keep what '{_short(command)}' prints", error, len(stdout) + len(stderr)) from error

    def post(self, shared: Shared, prepared: object, ran: Ran) -> str:
        shared["stdout"], shared["stderr"], shared["exit_code"] = ran
        return "error" if shared["exit_code"] else "default"


def _argument(number: int, value: Any) -> bytes:
    argument = _as_bytes(f"argument {number}", value if isinstance(value, bytes) else text_of(value))
    if b"\0" in argument:
        raise PflowError(
            f"cannot pass argument {number}: an argument cannot contain NUL", hint=_USE_STDIN, exit=BAD_DATA
        )
    return argument


def _input(value: Any) -> bytes | None:
    if value is None or isinstance(value, str | bytes):
        return None if value is None else _as_bytes("the input", value)
    return encode(value) + b"\n"


def _as_bytes(what: str, value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else encode_text(value, f"cannot pass {what}", "surrogateescape")


def _too_long(command: str) -> PflowError:
    return PflowError(f"cannot run '{_short(command)}': its arguments are too long", hint=_USE_STDIN, exit=BAD_DATA)


def _too_much(command: str, most: int) -> PflowError:
    what = f"cannot finish '{_short(command)}': it printed more than {most:,} bytes"
    return PflowError(what, hint="--max-output allows more", exit=CANNOT_WRITE, is_permanent=True)


def _failure(command: str, code: int, stderr: bytearray) -> PflowError:
    text = stderr[-2000:].decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = " / ".join(lines[-_TAIL_LINES:])[-_TAIL_LENGTH:]
    return PflowError(
        f"cannot finish '{_short(command)}': exit code {code}" + (f": {said}" if said else ""),
        hint="with --no-check it goes on with the action error",
        exit=code,
        is_permanent=False,
    )


def _short(command: str) -> str:
    return shorten(" ".join(command.split()))
