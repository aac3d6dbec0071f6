"""The input of a stage: what stdin holds."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Callable
from pflow.binding.sources import find, has, is_empty
from pflow.errors import BAD_DATA, BAD_STDIN, MISSING, PflowError, no_memory
from pflow.files.reading import limit_input
from pflow.interface.interface import Interface
from pflow.process.signals import Deadline, load
from pflow.process.streams import is_readable, read_all, wait_for
from pflow.stage import VERSION
from pflow.stage.document import Document, read_document, read_json
from pflow.values.jsontext import BYTES, text_or_bytes
from pflow.values.paths import meet

if TYPE_CHECKING:
    from pflow.stage.flags import Flags

STORE, RAW, EMPTY, NOTHING = "store", "raw", "empty", "nothing"


class Intake:
    """The input of a stage: its store, the kind of stdin (a store, raw, empty or not read), and its bytes."""

    def __init__(self, document: Document, kind: str, data: bytes = b"") -> None:
        self.document = document
        self.kind = kind
        self.data = data

    @property
    def ended_with(self) -> int | None:
        """The exit code of a pipe that an earlier stage has ended by failing or by skipping (0); else None."""
        header = self.document.header
        if "error" in header:
            return int(header["error"]["exit"])
        return 0 if header.get("skipped") else None

    def is_empty(self) -> bool:
        """Return True if nothing came: no stdin, no byte, or a store that carries an empty text or list, or null."""
        path = self.document.carried
        if self.kind in (EMPTY, NOTHING) or path is None:
            return self.kind in (EMPTY, NOTHING)
        if not has(self.document, path) or any(meet(path, place) for place in self.document.pretended):
            return False
        return is_empty(find(self.document, path))


def take_in_for(flags: Any, warm: Callable[[], None] | None = None) -> Intake:
    """Read stdin as the flags of a stage or a run say; raises as `take_in`."""
    source = getattr(flags, "from")
    limit_input(flags.max_input)
    if flags.encoding not in (None, "", BYTES):
        from pflow.values.encoding import split_encoding

        split_encoding(flags.encoding)
    about = {"allow_empty": flags.allow_empty, "timeout": flags.timeout, "encoding": flags.encoding or ""}
    return take_in(flags.no_stdin, source, warm=warm, **about)


def take_in(
    no_stdin: bool = False, source: str = "auto", *, allow_empty: bool = False,
    warm: Callable[[], None] | None = None, timeout: float | None = None, encoding: str = "",
) -> Intake:  # fmt: skip
    """Read stdin, if it is to be read, and recognize what it holds.

    `warm` is called while the command before this one still works. Raises PflowError: 64 if stdin cannot be read, 65 if
    it holds a broken store, 124 if it has not ended after `timeout` seconds.
    """
    if no_stdin or not is_readable(source):
        return Intake(Document(), NOTHING)
    with Deadline(timeout, "--timeout", act="cannot read stdin") as limit:
        if warm is not None and not wait_for(0, seconds=0):
            load(warm)
        data = read_all(limit)
    if not data and not allow_empty:
        return Intake(Document(), EMPTY)
    try:
        return _tell(data, source, encoding)
    except MemoryError as error:
        raise no_memory("cannot take stdin", error, len(data)) from error


def _tell(data: bytes, source: str, encoding: str) -> Intake:
    if source in ("auto", "store"):
        document = read_document(data)
        if document is not None:
            return Intake(document, STORE, data)
        if source == "store":
            raise PflowError("cannot read stdin: it is not a store", hint="--from=text", exit=BAD_DATA)
    if encoding not in ("", BYTES):
        from pflow.values.encoding import decode_as

        data = decode_as(encoding, data, "stdin").encode()
    if source == "json" and data:
        return Intake(read_json(data), STORE, data)
    around = Document({"v": VERSION, "last": "stdin"})
    around.set("stdin", data if encoding == BYTES else text_or_bytes(data))
    return Intake(around, RAW, data)


def check_stdin(interface: Interface, flags: Flags, intake: Intake) -> int:
    """Refuse an empty pipe if the node needs one (66), and raw input that nothing here takes (64).

    Return the number of raw bytes that the node may or may not look at.
    """
    pipe = interface.pipe_read
    open_to_pipe = pipe is not None and pipe.name not in flags.data and pipe.name not in flags.map_in
    if intake.kind == EMPTY and open_to_pipe and not flags.allow_empty:
        raise empty_pipe()
    size = len(intake.data)
    is_taken = open_to_pipe or "stdin" in interface.reads or any(path[0] == "stdin" for path in flags.paths())
    if intake.kind != RAW or is_taken:
        return 0
    if size and not interface.may_take_stdin:
        taker = f"{pipe.flag}='… $stdin'" if pipe is not None and pipe.name in flags.data else "a template with $stdin"
        raise PflowError(
            f"cannot use stdin: nothing here takes its {size:,} bytes",
            hint=f"-n leaves stdin to others; {taker} takes it",
            exit=BAD_STDIN,
        )
    return size


def empty_pipe(hint: str = "-n if this step needs no input") -> PflowError:
    return PflowError("stdin was empty: did the command before it fail?", hint=hint, exit=MISSING)
