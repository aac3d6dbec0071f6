"""The kept answers of nodes: an entry under each key, and a blob named after its content."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, Any, Callable, Collection, Iterable, Iterator
from pflow.cache.directory import BLOBS, ENTRIES, directory, files, remove, save, touch
from pflow.cache.key import Key
from pflow.errors import BAD_DATA, Ignoring, PflowError, result_of
from pflow.files.directories import read_cached
from pflow.values.digest import bytes_digest
from pflow.values.jsontext import decode, encode, quote

if TYPE_CHECKING:
    from pflow.cache.key import Facts

    PartDigests = dict[tuple[str, str], str]
    """The digests of a key's parts, by kind and name."""

_LARGEST = 1 << 40
_MOMENT = 30
"""Seconds after which a use is noted again; files used within twice this time are not pruned."""


class KeptAnswer:
    """One kept answer: `node` and `key`, when it was `made` and `used` (seconds), the `run` that made it, its `parts`.

    Raises ValueError if the file is damaged, OSError if it is missing.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.node, self.key = path.rsplit("/", 2)[1:]
        about = decode(_read_file(path))
        self.used = os.stat(path).st_mtime
        try:
            self.made, self.run, self.blob = float(about["made"]), str(about["run"]), str(about["blob"])
            self.parts: PartDigests = {(kind, name): digest for kind, name, digest in about["parts"]}
            if about["key"] != self.key or not self.blob.isalnum():
                raise ValueError("it has another key")
        except (TypeError, KeyError) as error:
            raise ValueError("it is not an entry") from error

    @property
    def facts(self) -> list[Facts]:
        """The facts of its key's parts, from the digests that it has."""
        return [{"kind": kind, "name": name, "digest": digest} for (kind, name), digest in self.parts.items()]

    @property
    def blob_path(self) -> str:
        return f"{self.path.rsplit('/', 3)[0]}/{BLOBS}/{self.blob}"

    def read(self) -> Any:
        """Read the answer. Raises ValueError if it is damaged, OSError if it is missing."""
        data = _read_file(self.blob_path)
        if bytes_digest(data) != self.blob:
            raise ValueError("its bytes have changed")
        return decode(data)


def _read_file(path: str) -> bytes:
    data = read_cached(path, _LARGEST)
    if data is None:
        raise FileNotFoundError(path)
    return data


def find(key: Key, warn: Callable[[str], None]) -> tuple[Any, KeptAnswer] | None:
    """Return the answer kept under a key, with its entry; None if there is none. Drop a damaged one, with a warning."""
    path = _path(key)
    try:
        entry = KeptAnswer(path)
        answer = entry.read()
    except OSError:
        return None
    except ValueError as why:
        warn(f"the cached answer of '{key.node}' is damaged and made anew: {why}")
        with Ignoring(OSError):  # on a read-only disk it stays, and the node runs nevertheless
            drop(path)
        return None
    if entry.used < time.time() - _MOMENT:
        touch(entry.path)
        touch(entry.blob_path)
    return answer, entry


def keep(key: Key, answer: Any, run: str = "") -> None:
    """Keep a JSON answer under its key, replacing an earlier one.

    Raises PflowError: 73 if it cannot be written, 65 if it is not JSON or contains the path of a file.
    """
    data = encode(answer)
    if key.files and _contains_path(data, key.files):
        raise PflowError("it contains the path of a file, which may differ the next time", exit=BAD_DATA)
    blob = bytes_digest(data)
    parts = [[part.kind, part.name, part.digest] for part in key.parts]
    about = {"key": key.digest, "made": time.time(), "run": run, "blob": blob, "parts": parts}
    # The blob is saved first: a kill in between must not leave an entry whose answer is missing.
    save(os.path.join(directory(BLOBS), blob), data)
    directory(os.path.join(ENTRIES, key.node))
    save(_path(key), encode(about))


def _contains_path(data: bytes, files: Iterable[str]) -> bool:
    """Return True if JSON contains the absolute path of one of these files, or a text that begins with its folder."""
    texts = data.replace(b'\\"', b"'")
    found = (result_of(os.path.abspath, file, otherwise="") for file in files)  # "" if the working directory is gone
    for path in filter(None, found):
        whole, folder = (quote(each).encode("utf-8", "surrogatepass") for each in (path, os.path.dirname(path)))
        if whole[1:-1] in data or (folder != b'"/"' and folder[:-1].replace(b'\\"', b"'") in texts):
            return True
    return False


def _path(key: Key) -> str:
    return f"{directory()}/{ENTRIES}/{key.node}/{key.digest}"


def drop(path: str) -> None:
    """Remove an entry, and its blob if the entry can be read."""
    if entry := _read(path):
        remove(entry.blob_path)
    remove(path)


def _read(path: str) -> KeptAnswer | None:
    return result_of(KeptAnswer, path, of=(OSError, ValueError), otherwise=None)


def clear(nodes: Collection[str] | None) -> int:
    """Remove the entries of these nodes and the blobs that no other entry needs, or everything; return the number."""
    removed = [path for path in paths() if nodes is None or path.rsplit("/", 2)[1] in nodes]
    for path in removed:
        remove(path)
    kept = set() if nodes is None else {entry.blob for entry in map(_read, paths()) if entry}
    for path, _ in files():
        folder, name = path.rsplit("/", 2)[1:]
        if nodes is None or (folder == BLOBS and name not in kept):
            remove(path)
    return len(removed)


def paths(node: str | None = None) -> Iterator[str]:
    """Yield the files of all entries, or of one node's."""
    place = os.path.join(directory(), ENTRIES)
    for name in sorted(os.listdir(place)) if node is None and os.path.isdir(place) else [node or ""]:
        folder = os.path.join(place, name)
        if name and os.path.isdir(folder):
            yield from (os.path.join(folder, file) for file in os.listdir(folder) if not file.startswith("."))


def nearest(key: Key) -> KeptAnswer | None:
    """Return the node's entry that shares most parts with a key, the newest of several; None if it has none."""
    digests = {(part.kind, part.name): part.digest for part in key.parts}
    kept = [entry for entry in map(_read, paths(key.node)) if entry]
    return max(kept, key=lambda entry: (len(digests.items() & entry.parts.items()), entry.made), default=None)
