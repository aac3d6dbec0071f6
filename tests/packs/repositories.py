"""Repositories with trees that git itself would not make, and a git daemon on 127.0.0.1 that can break off."""

import os
import socket
import subprocess
import threading
import zlib
from contextlib import suppress
from hashlib import sha1
from pathlib import Path

from tests.peers.repository import git

FILE, PROGRAM, FOLDER, LINK, SUBMODULE = "100644", "100755", "40000", "120000", "160000"


Entry = tuple[str, str | bytes, str | bytes]
"""An entry of a tree: its mode, its name, and the name of its object or the bytes of its file."""


class Bare:
    """A bare repository of hand-made objects."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        git(place, "init", "--quiet", "--bare", "--initial-branch=main", "--template=", ".")

    def add(self, kind: str, data: bytes) -> str:
        """Add an object, valid or not, and return its name."""
        whole = f"{kind} {len(data)}\0".encode() + data
        name = sha1(whole).hexdigest()
        file = self.place / "objects" / name[:2] / name[2:]
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(whole, 1))
        return name

    def tree(self, *entries: Entry) -> str:
        """Add a tree, sorted as git does it."""
        rows = []
        for mode, name, content in entries:
            name = name.encode() if isinstance(name, str) else name
            shown = content if isinstance(content, str) else self.add("blob", content)
            rows.append((name + b"/" * (mode == FOLDER), mode.encode() + b" " + name + b"\0" + bytes.fromhex(shown)))
        return self.add("tree", b"".join(row for _, row in sorted(rows)))

    def commit(self, *entries: Entry, ref: str = "refs/heads/main") -> str:
        """Commit a tree of these entries, point a ref to it, and return the commit."""
        made = git(self.place, "commit-tree", "-m", "x", self.tree(*entries))
        git(self.place, "update-ref", ref, made)
        return made

    def pack(self, *entries: Entry, ref: str = "refs/heads/main") -> str:
        """Commit nodes/ with these entries."""
        return self.commit((FOLDER, "nodes", self.tree(*entries)), ref=ref)


class Daemon:
    """`git daemon` for the repositories in a directory; a connection ends, or stalls, after `most` bytes of answer."""

    def __init__(self, folder: Path) -> None:
        self.most, self.stalls, self.env = 1 << 40, False, dict(os.environ)
        self.words = ["git", "daemon", "--inetd", "--export-all", f"--base-path={folder}", str(folder)]
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"git://127.0.0.1:{self.listener.getsockname()[1]}"
        self.ended = threading.Event()

    def __enter__(self) -> "Daemon":
        self.serving = threading.Thread(target=self._serve, daemon=True)
        self.serving.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.listener.shutdown(socket.SHUT_RDWR)  # close() alone would let another socket get its number
        self.serving.join()
        self.listener.close()

    def _serve(self) -> None:
        with suppress(OSError):  # the end
            while True:
                threading.Thread(target=self._answer, args=self.listener.accept()[:1], daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        words = {"stdin": client, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "env": self.env}
        with client, subprocess.Popen(self.words, **words) as program, suppress(OSError):  # the client may have gone
            left = self.most
            while left and (part := program.stdout.read1(min(left, 1 << 16))):
                client.sendall(part)
                left -= len(part)
            if self.stalls and not left:
                self.ended.wait(60)
            program.kill()
            client.shutdown(socket.SHUT_RDWR)
