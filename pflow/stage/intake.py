"""What comes in through stdin, as a store: one of ours, or a new one around raw input."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, BAD_STDIN, MISSING, PflowError
from pflow.process.streams import is_quiet, is_readable, read_all
from pflow.stage.document import Document, read_document, read_members

if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.interface import Interface
    from pflow.stage.flags import Flags

STORE, RAW, EMPTY, NOTHING = "store", "raw", "empty", "nothing"


class Intake:
    """The store that a stage begins with, what stdin was (a store, raw, empty or not read), and its bytes."""

    __slots__ = ("data", "document", "kind")

    def __init__(self, document: Document, kind: str, data: bytes = b"") -> None:
        self.document = document
        self.kind = kind
        self.data = data


def take_in(
    *, no_stdin: bool = False, source: str = "auto", allow_empty: bool = False, warm: Callable[[], None] | None = None
) -> Intake:
    """Read stdin where there is something to read, and tell what it is.

    `warm` is called while the command before this one still works. Raises PflowError: 64 where stdin cannot be read,
    65 where it holds a broken store.
    """
    if no_stdin or not is_readable(source):
        return Intake(Document(), NOTHING)
    if warm is not None and is_quiet(0):
        warm()
    data = read_all()
    if not data and not allow_empty:
        return Intake(Document(), EMPTY)
    return _tell(data, source)


def _tell(data: bytes, source: str) -> Intake:
    if source in ("auto", "store"):
        document = read_document(data)
        if document is not None:
            return Intake(document, STORE, data)
        if source == "store":
            raise PflowError("cannot read stdin as a store: it is none", hint="--from=text", exit=BAD_DATA)
    if source == "json":
        return Intake(read_members(data), STORE, data)
    return Intake(_around(data), RAW, data)


def _around(data: bytes) -> Document:
    """A new store that carries raw input as `stdin`: text where it is UTF-8, else bytes."""
    document = Document()
    try:
        document.set("stdin", str(data, "utf-8"))
    except UnicodeDecodeError:
        document.set("stdin", data)
    document.header["last"] = "stdin"
    return document


def empty_pipe() -> PflowError:
    return PflowError(
        "stdin was empty: did the command before it fail?", hint="-n if this step takes none", exit=MISSING
    )


def check_stdin(interface: Interface, flags: Flags, intake: Intake) -> None:
    """Refuse an empty pipe that the node was to work on (66), and raw input that nothing here takes (64)."""
    pipe = interface.pipe_read
    open_to_pipe = pipe is not None and pipe.name not in flags.data and pipe.name not in flags.map_in
    if intake.kind == EMPTY and open_to_pipe and not flags.allow_empty:
        raise empty_pipe()
    size = len(intake.data)
    if intake.kind != RAW or not size or open_to_pipe or interface.open or "stdin" in interface.reads:
        return
    if not any(path[0] == "stdin" for path in flags.paths()):
        raise PflowError(
            f"cannot use stdin: nothing here takes its {size:,} bytes",
            hint="-n leaves stdin to others; a template with $stdin takes it",
            exit=BAD_STDIN,
        )
