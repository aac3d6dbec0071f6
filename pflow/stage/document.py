"""The store document, which travels from stage to stage; and the input of a stage, which may be one."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, Any, Callable, Collection, Iterable, Iterator
from pflow.binding.sources import assign, check_place, find, has, is_empty, is_whole_object, remove
from pflow.errors import BAD_DATA, BAD_STDIN, FAILED, MISSING, OK, Attempt, PflowError, no_memory
from pflow.files.reading import limit_input
from pflow.interface.interface import Interface, fresh
from pflow.process.signals import Deadline, warm_up
from pflow.process.streams import is_readable, read_all, wait_for
from pflow.stage import VERSION, WRITER
from pflow.values.jsontext import BYTES, LONG, decode, encode, quote, text_or_bytes
from pflow.values.paths import Path, are_nested, parse_path, write_path

if TYPE_CHECKING:
    from pflow.stage.flags import Flags
    from pflow.stage.layout import Members, Piece


class Document:
    """A store and its header. A member stays in its original bytes until its value is needed."""

    def __init__(self, header: dict[str, Any] | None = None, members: Members | None = None) -> None:
        self.header: dict[str, Any] = header if header is not None else {"v": VERSION}
        self._members: Members = members or {}
        self._values: dict[str, Any] = {}
        self.own: Collection[str] = ()
        """The members of a user's own object (`--from=json`)."""

    def __contains__(self, key: object) -> bool:
        return key in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def keys(self) -> list[str]:
        return list(self._members)

    def __getitem__(self, key: str) -> Any:
        """Return the value of a key, decoded once. Raises KeyError, and PflowError (65) if it does not parse."""
        if key not in self._values:
            json = self._members[key]
            with Attempt(f"cannot read '{key}' of the store", of=ValueError, exit=BAD_DATA):
                self._values[key] = _decoded(json)
        return self._values[key]

    def json(self, key: str) -> Piece:
        return self._members[key]

    @property
    def carried(self) -> Path | None:
        """The place in the store of the value that the pipe carries."""
        return parse_path(self.header["last"]) if "last" in self.header else None

    def carried_to(self, interface: Interface) -> Path | None:
        """Return the place of the value that the pipe carries to a node; None if it gets nothing from the pipe.

        An inferred `[pipe]` read takes a key of its own name in the store first, and never the whole object that
        `--from=json` has read.
        """
        place = self.carried
        if place is None or not interface.inferred:
            return place
        read = interface.read_fed(place[-1])
        is_own = read is not None and place != (read.name,) and (read.name in self or (read.name,) in self.pretended)
        return None if is_own or is_whole_object(self, place) else place

    def passed_over(self, interface: Interface, given: Collection[str], used: Iterable[Path]) -> str:
        """Return a warning if a node takes the store's own key, and nothing uses the carried value; else "".

        `given` are the reads with a flag or a mapping, `used` all places that are read. There is no warning for a node
        that reads another value of the step that wrote the carried one, since it uses that step.
        """
        place = self.carried
        if place is None or self.carried_to(interface) or not has(self, place) or is_whole_object(self, place):
            return ""
        read, last = interface.read_fed(place[-1]), write_path(place)
        beside = [written for written in self._written() if last in written] or [[last]]
        if read is None or read.name in given or any(write_path(path) in beside[-1] for path in used):
            return ""
        return f"takes '{read.name}' from the store; --map-in {read.name}={last} takes what is carried"

    def _written(self) -> Iterator[list[str]]:
        """Yield the places that each earlier step wrote, as far as the trace says."""
        for step in self.header.get("steps", []):
            writes = step.get("writes") if isinstance(step, dict) else None
            if isinstance(writes, dict):
                yield [place for places in writes.values() if isinstance(places, list) for place in places]

    @property
    def exit(self) -> int:
        """The exit code of a stage that has done its work: 1 if items of an earlier batch failed."""
        return FAILED if self.header.get("failed") else OK

    @property
    def pretended(self) -> list[Path]:
        """The places that earlier dry stages would have written."""
        return [parse_path(path) for path in self.header.get("dry", [])]

    def set(self, key: str, value: Any) -> None:
        """Set a key at its place, or at the end. Raises PflowError (65) if JSON cannot hold the value."""
        self.set_json(key, _encoded(value))
        self._values[key] = value

    def set_json(self, key: str, json: Piece) -> None:
        """Set a key to a JSON text of one line."""
        if key.startswith("$"):
            raise PflowError(f"cannot write '{key}': keys that begin with $ are reserved", exit=BAD_DATA)
        encode(key)  # refuses half of a surrogate pair, which no other program could read
        self._members[key] = json
        self._values.pop(key, None)

    def put(self, path: Path, value: Any) -> None:
        """Set the place at a path and make objects on the way. Raises PflowError (65) if something is in the way."""
        key = str(path[0])
        if len(path) > 1:
            check_place(self, path)
            top = {key: fresh(self[key]) if key in self else {}}
            assign(top, path, value)
            value = top[key]
        self.set(key, value)

    def remove(self, path: Path) -> None:
        """Remove the value at a path, if there is one."""
        key = str(path[0])
        if len(path) == 1:
            self._members.pop(key, None)
            self._values.pop(key, None)
        elif has(self, path):
            top = {key: fresh(self[key])}
            remove(top, path)
            self.set(key, top[key])

    def is_written(self, path: Path) -> bool:
        """Return True if an earlier step wrote at this place, as far as the trace says."""
        return any(are_nested(path, parse_path(place)) for written in self._written() for place in written)

    def copy(self) -> Document:
        return Document(dict(self.header), dict(self._members))

    def start(self) -> None:
        """Give the run its id if this is its first stage."""
        self.header.setdefault("run", new_run_id())

    def step_id(self, name: str, given: str | None = None) -> str:
        """Return the id of a new step: the given id, else its node's name, numbered if it is taken: llm, llm-2."""
        if given:
            return given
        taken = [step.get("id") for step in self.header.get("steps", []) if isinstance(step, dict)]
        ids = [name, *(f"{name}-{number}" for number in range(2, len(taken) + 2))]
        return next(id for id in ids if id not in taken)

    def add_step(self, entry: dict[str, Any]) -> None:
        self.header.setdefault("steps", []).append(entry)

    def pieces(self) -> list[Piece]:
        """Return the document in the line layout, in pieces to write one after another."""
        header = {"v": VERSION, "by": WRITER, **self.header, "members": len(self._members)}
        header["by"] = WRITER
        pieces: list[Piece] = [b'{"$pflow":', encode(header, escape=False)]
        for key, json in self._members.items():
            pieces += [b",\n" + quote(key).encode() + b":", json]
        pieces.append(b"\n}\n")
        return pieces


def _decoded(json: Piece) -> Any:
    if len(json) >= LONG:
        from pflow.values.fast_json import decode_long

        text = decode_long(json)
        if text is not None:
            return text
    return decode(json)


def _encoded(value: Any) -> Piece:
    if isinstance(value, str) and len(value) >= LONG:
        from pflow.values.fast_json import encode_long

        return encode_long(value)
    return encode(value)


_MARK = b"\xef\xbb\xbf"
"""The byte order mark that programs on Windows write before UTF-8."""
BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_run_id() -> str:
    """Make a ULID: 48 bits of milliseconds, 80 random bits, in Crockford's base 32."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join([BASE32[number >> shift & 31] for shift in range(125, -1, -5)])


def read_document(data: bytes) -> Document | None:
    """Read the store in the bytes of stdin; None if they are raw. Raises PflowError (65) for a broken store."""
    from pflow.stage.layout import read_store

    found = read_store(data.removeprefix(_MARK))
    return None if found is None else Document(*found)


def read_json(data: bytes) -> Document:
    """Make a store that carries a user's own JSON value (`--from=json`); the members of an object are keys too.

    Raises PflowError (65) for a store, and for data that is not one JSON value.
    """
    from pflow.stage.layout import parse_value, parse_whole

    data = data.strip().removeprefix(_MARK).lstrip()
    value = parse_value(data)
    members = parse_whole(data) if data.startswith((b"{", b"[")) else {}
    if "$pflow" in members:
        raise PflowError("cannot take stdin as JSON: it is a store", hint="leave --from=json out", exit=BAD_DATA)
    keys = {key: each for key, each in members.items() if not key.startswith("$") and key != "stdin"}
    document = Document({"v": VERSION, "last": "stdin"}, {**keys, "stdin": value})
    document.own = keys
    return document


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
        if not has(self.document, path) or any(are_nested(path, place) for place in self.document.pretended):
            return False
        return is_empty(find(self.document, path))


def take_in_for(flags: Any, warm: Callable[[], None] | None = None) -> Intake:
    """Read stdin as the flags of a stage or a run say. Raises as `take_in` does."""
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
    """Read stdin unless `no_stdin`, and recognize its kind.

    `warm` loads slow libraries while the command before this one still runs. Raises PflowError: 64 if stdin cannot be
    read, 65 if it holds a broken store, 124 if it has not ended after `timeout` seconds.
    """
    if no_stdin or not is_readable(source):
        return Intake(Document(), NOTHING)
    with Deadline(timeout, "--timeout", act="cannot read stdin") as limit:
        if warm is not None and not wait_for(0, seconds=0):
            warm_up(warm)
        data = read_all(limit)
    if not data and not allow_empty:
        return Intake(Document(), EMPTY)
    try:
        return _parse_stdin(data, source, encoding)
    except MemoryError as error:
        raise no_memory("cannot take stdin", error, len(data)) from error


def _parse_stdin(data: bytes, source: str, encoding: str) -> Intake:
    from pflow.stage.layout import split_rows

    rows, mark = split_rows(data)
    if "error" in mark:  # the map has stopped, so no rows will follow
        document = Document({**mark, "last": "stdin"})
        document.set("stdin", text_or_bytes(rows))
        return Intake(document, STORE, b"".join(document.pieces()))
    intake = _recognize(rows or data, source, encoding)
    intake.document.header |= mark
    return intake


def _recognize(data: bytes, source: str, encoding: str) -> Intake:
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
    """Refuse an empty pipe that would fill a read of the node (66), and raw input that nothing here takes (64).

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
