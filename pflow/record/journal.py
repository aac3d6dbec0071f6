"""The journal of a run: a file beside its log that says after each step what it changed, so that a resume can go on.

It also seals, with the user's key, the secrets in the first record and the bounds of the run.
"""

from __future__ import annotations

import os
from binascii import crc32

from pflow import TYPE_CHECKING, Any, Callable, Iterator, Mapping
from pflow.binding.sources import assign
from pflow.errors import BAD_DATA, CANNOT_WRITE, Ignoring, PflowError, Within, reason_of, result_of
from pflow.files.atomic import failpoint, open_private, write_all
from pflow.files.reading import open_regular, read_regular
from pflow.files.state_key import state_key
from pflow.process.signals import HeldSignals
from pflow.record.records import JOURNAL, Records, compacted
from pflow.values.digest import keyed_digest
from pflow.values.fast_json import decode, encode, holds_long, json_parts
from pflow.values.jsontext import quote
from pflow.values.secrets import Secrets

if TYPE_CHECKING:
    from pflow.record.records import Record

    Begin = dict[str, Any]

_SMALL = 256 << 10
"""Bytes up to which a journal is not compacted."""

_PIECE = 1 << 20

_DRAFT = ".tmp"

NO_JOURNAL_HINT = "--no-journal runs without one, and nothing can resume it"

UNSEALED = "the list of files that it may touch has changed, or belongs to another run"
NEW_RUN_HINT = "pflow run, or pflow map, begins another one"


class Journal:
    """The file with the records of a run, one a line, written by its driver's process; `key` seals the secrets in them.

    `records` are the records in the file when it was opened; None if it was new, or had no whole line.
    """

    def __init__(self, directory: str, secrets: Secrets, key: bytes) -> None:
        """Open or make the journal, and cut off a torn last line. The caller has the run's lock.

        Raises PflowError: 73 if that fails, 65 if it is damaged.
        """
        self.path = os.path.join(directory, JOURNAL)
        self.secrets = secrets
        self.key = key
        self.records: Records | None = None
        self._has_begun = False
        self._fd = -1
        self._note_size(0)
        try:
            self._fd = open_private(self.path, os.O_APPEND)
            unlink(self.path + _DRAFT)  # left by a process that was killed while it compacted
            self._recover()
        except OSError as error:
            raise self._cannot_keep(error) from error

    def _recover(self) -> None:
        if not os.fstat(self._fd).st_size:
            return
        self._has_begun = True
        data = read_regular(self.path)
        records, size = read_lines(data)
        self.records = Records(records) if records else None
        if size < len(data):
            os.ftruncate(self._fd, size)
        elif not data.endswith(b"\n"):
            write_all(self._fd, b"\n")
        self._note_size(os.fstat(self._fd).st_size)

    def _note_size(self, size: int) -> None:
        """Note the file's size, and set the size at which it is compacted next."""
        self._size = size
        self._limit = max(2 * size, _SMALL)  # at twice the size, the average cost of a record stays the same

    def write(self, record: Record) -> None:
        """Add a record, which survives kill -9. Raises PflowError (73); after a failure every later call fails too."""
        if self.secrets and "changes" in record:
            record = {**record, "changes": [self._sealed(change) for change in record["changes"]]}
        pieces = pieces_of(record)
        name = f"journal.{next(iter(record))}"
        with HeldSignals():  # ^C between two pieces would leave a torn record, with more behind it
            try:
                failpoint(name)
                before = self._size
                for piece in pieces:
                    write_all(self._fd, piece)
                    self._size += len(piece)
                self._limit = max(self._limit, 3 * (self._size - before))  # one large record has nothing to drop
                failpoint(f"{name}.written")
                if "begin" in record:
                    self._has_begun = True
                    self._note_size(self._size)  # however large, it has nothing to drop yet
                elif self._size > self._limit:
                    self._compact()
            except OSError as error:
                self._close()
                raise self._cannot_keep(error) from error

    def _compact(self) -> None:
        """Rewrite the journal without the values that later records replace.

        It is written as a draft first, so that a full disk leaves the journal unchanged.
        """
        draft = self.path + _DRAFT
        records = compacted(read_lines(read_regular(self.path))[0])
        data = b"".join(piece for record in records for piece in pieces_of(record))
        self._note_size(self._size)
        fd = -1
        try:
            fd = open_private(draft, os.O_TRUNC | os.O_APPEND)
            write_all(fd, data)
            failpoint("journal.compact")
            os.rename(draft, self.path)
        except OSError:
            unlink(draft)
            if fd >= 0:
                os.close(fd)
            return
        self._close()
        self._fd = fd
        self._note_size(len(data))
        failpoint("journal.compact.written")

    def _sealed(self, change: list[Any]) -> list[Any]:
        """Return a change, with a digest in place of a value that has a secret in it."""
        if len(change) == 1 or not self.secrets.are_in(change[1]):
            return change
        return [change[0], None, keyed_digest(self.key, change[1])]

    def _cannot_keep(self, error: OSError) -> PflowError:
        what = f"cannot keep the journal '{self.path}': {reason_of(error)}"
        run = os.path.basename(os.path.dirname(self.path))
        hint = f"make room, then pflow resume {run}" if self._has_begun else NO_JOURNAL_HINT
        failure = PflowError(what, hint=hint, exit=CANNOT_WRITE)
        failure.ends_run = failure.is_cut = True
        return failure

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def finish(self, *, is_kept: bool) -> None:
        """Close the journal of a run that has ended, and remove it unless it `is_kept`."""
        self._close()
        if not is_kept:
            failpoint("journal.remove")
            unlink(self.path)
            failpoint("journal.remove.written")


def unlink(path: str) -> None:
    with Ignoring(OSError):  # it is gone if the user has removed the directory of the run
        os.unlink(path)


def pieces_of(record: Record) -> Iterator[bytes]:
    """Yield the line of a record; with a long text in its `changes`, or with `texts` (bytes by key), in several pieces.

    `texts` are JSON strings with one character for each byte; `text_bytes` returns the bytes. Raises PflowError (65)
    for what JSON cannot hold.
    """
    if "texts" not in record and not holds_long(record.get("changes")):
        data = encode(record)
        yield b"%08x %s\n" % (crc32(data), data)
        return
    checksum = 0
    for piece in _data_of(record):
        checksum = crc32(piece, checksum)
    yield b"%08x " % checksum
    yield from _data_of(record)
    yield b"\n"


def _data_of(record: Record) -> Iterator[bytes]:
    yield encode({name: value for name, value in record.items() if name not in ("texts", "changes")})[:-1]
    if "changes" in record:
        yield b',"changes":'
        yield from json_parts(record["changes"])
    if "texts" not in record:
        yield b"}"
        return
    yield b',"texts":{'
    for number, (key, text) in enumerate(record["texts"].items()):
        yield b"," * (number > 0) + quote(key).encode() + b':"'
        for at in range(0, len(text), _PIECE):
            yield quote(str(text_bytes(text[at : at + _PIECE]), "latin-1"))[1:-1].encode()
        yield b'"'
    yield b"}}"


def text_bytes(text: str | bytes | memoryview) -> bytes:
    """Return the bytes of one of a record's `texts`: a str if the record was read, bytes if it is to be written."""
    return text.encode("latin-1") if isinstance(text, str) else bytes(text)


def read_lines(data: bytes) -> tuple[list[Record], int]:
    """Return the records in a journal, and the size of its whole lines; a torn end is left out.

    Raises PflowError (65) for any other line that is damaged, with its number.
    """
    *lines, rest = data.split(b"\n")
    records = []
    for number, line in enumerate(lines, 1):
        record = _record_in(line)
        if record is None:
            raise PflowError(f"cannot read the journal: its line {number} is damaged", exit=BAD_DATA)
        records.append(record)
    last = _record_in(rest)
    return (records, len(data) - len(rest)) if last is None else ([*records, last], len(data))


def first_record(directory: str) -> Record | None:
    """Return a run's first record; None if it has none. Raises PflowError (65) if the journal is damaged."""
    try:
        with open(open_regular(os.path.join(directory, JOURNAL)), "rb") as file:  # one line: a journal may be long
            line = file.readline()
    except OSError:
        return None
    with Within(f"cannot resume the run {os.path.basename(directory)}"):
        return next(iter(read_lines(line)[0]), None)


def _record_in(line: bytes) -> Record | None:
    checksum, data = line[:9], line[9:]
    if checksum != b"%08x " % crc32(data):
        return None
    record = result_of(decode, data, of=ValueError, otherwise=None)
    return record if isinstance(record, dict) else None


def bounds_seal(run: str, about: Mapping[str, Any]) -> str:
    """Return the seal of a run's bounds, `about["confined"]`. Each run and each set of bounds has its own seal.

    Raises PflowError (73, 78) without a key.
    """
    return keyed_digest(state_key(), ["bounds", run, about.get("confined") or ""])


def seal(begin: Begin, secrets: Secrets, key: bytes) -> None:
    """Replace each value with a secret in it by a digest; a record that is sealed already stays."""
    if "sealed" in begin:
        return
    sealed = begin["sealed"] = []

    def without(value: Any, path: list[str]) -> Any:
        if isinstance(value, dict) and not secrets.are_in([*value]):
            return {name: without(member, [*path, name]) for name, member in value.items()}
        if value is None or isinstance(value, bool) or not secrets.are_in(value):
            return value
        sealed.append([path, keyed_digest(key, value)])
        return None

    if secrets:
        sealed += [[["texts", name], digest] for name, digest in _find_in_texts(begin, secrets, key)]
        begin |= {name: without(begin[name], [name]) for name in ("store", "inputs")}
    set_ones = {name: os.environ[name] for name in begin["secrets"] if os.environ.get(name)}
    begin["secrets"] = {name: keyed_digest(key, value) for name, value in set_ones.items()}
    begin["key"] = keyed_digest(key, "")  # a resume compares it, to notice that the user's key has changed


def _find_in_texts(begin: Begin, secrets: Secrets, key: bytes) -> Iterator[tuple[str, str]]:
    """Move texts with a secret in them, decoded, to the store's values, where the secret can be sealed and put back.

    A text that cannot be decoded is emptied: yield its name, and the digest to keep in its place.
    """
    for name, text in list(begin["texts"].items()):
        data = text_bytes(text)
        try:
            value = decode(data)
        except ValueError:
            if secrets.are_in(_unescaped(data)):
                begin["texts"][name] = b""
                yield name, keyed_digest(key, str(data, "utf-8", "replace"))
            continue
        if secrets.are_in(value):
            begin["store"]["values"][name] = value
            del begin["texts"][name]


def _unescaped(data: bytes) -> str | bytes:
    """Return JSON that pflow refuses (NaN, a number too large) as a text without escapes; else return `data` itself."""
    import json

    refused = (ValueError, RecursionError)
    return result_of(lambda: json.dumps(json.loads(data), ensure_ascii=False), of=refused, otherwise=data)


def unseal(begin: Begin, find: Callable[[str], str], key: bytes) -> list[str]:
    """Put back the secrets, which `find` returns by name; return the names of secrets that have changed."""
    texts: dict[str, str] = {}
    others = []
    for path, digest in begin.get("sealed", ()):
        is_text = path[0] == "texts"
        name = ".".join(map(str, path[1 if is_text else 2 :]))
        text = texts[name] = texts[name] if name in texts else find(name)
        value = next((each for each in _possible_values(text) if keyed_digest(key, each) == digest), None)
        others += [name] if value is None else []
        value = text if value is None else value
        assign(begin, path, value.encode() if is_text else value)
    return list(dict.fromkeys(others))


def _possible_values(text: str) -> Iterator[Any]:
    """Yield the values that a secret's text may stand for: the text, the text with a newline, the JSON in it."""
    yield from (text, f"{text}\n")
    with Ignoring(ValueError):
        yield decode(text.encode())
