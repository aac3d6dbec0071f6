"""A node in any language as a step: a program that gets a store document and answers with one."""

from __future__ import annotations

import os

from pflow.errors import BAD_DATA, PflowError
from pflow.jsontext import text_of
from pflow.node import pocketflow
from pflow.stage.document import Document, new_run_id, read_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.plan import Wired
    from pflow.interface import Item

_TAIL = 400


class ProgramNode(pocketflow.Node):  # type: ignore[misc,unused-ignore]
    """Hands the step's reads to a program as a store, its params as flags, and takes what it changed as writes.

    A program that answers with an error document, or ends with another exit code than 0, has failed with that code.
    """

    def __init__(self, wired: Wired) -> None:
        super().__init__()
        assert wired.kind is not None
        self.file = wired.kind.file
        self.name = wired.kind.name
        self.interface = wired.interface

    def prep(self, shared: Any) -> Document:
        keys = list(shared) if self.interface.open else [key for key in self.interface.reads if key in shared]
        document = Document({"v": 1, "run": new_run_id()})
        for key in keys:
            value = shared[key]
            if value is not None or self.interface.open:
                document.set(key, value)
        carried = self.interface.pipe_read
        if carried is not None and carried.name in document:
            document.header["last"] = carried.name
        return document

    def exec(self, document: Document) -> Document:
        from pflow.children import run

        stdout: list[bytes] = []
        stderr: list[bytes] = []

        def show(part: bytes) -> None:
            stderr[:] = [(b"".join(stderr) + part)[-_TAIL:]]
            _show(part)

        code = run(
            [self.file, *self._flags()],
            input=b"".join(map(bytes, document.pieces())),
            on_stdout=stdout.append,
            on_stderr=show,
            env=self._environment(),
        )
        code = 128 - code if code < 0 else code
        answer = self._read(stdout, code, b"".join(stderr))
        error = answer.header.get("error")
        if error:
            raise PflowError(str(error.get("message", f"{self.name} failed")), exit=int(error["exit"]))
        if code:
            raise self._ended(code, b"".join(stderr))
        return answer

    def _flags(self) -> list[str | bytes]:
        """The params that were set, as a person would give them."""
        flags: list[str | bytes] = []
        for name, value in self.params.items():
            item = self.interface.params.get(name)
            if value is None or (item is not None and ("secret" in item.marks or _is_default(item, value))):
                continue
            flag = "--" + name.replace("_", "-")
            flags.append(f"{flag}={text_of(value)}")
        return flags

    def _environment(self) -> dict[str, str]:
        """Ours, and the secrets, which are never flags."""
        secrets = {
            item.env: text_of(self.params[name])
            for name, item in self.interface.params.items()
            if "secret" in item.marks and item.env and self.params.get(name) is not None
        }
        return {**os.environ, **secrets}

    def _read(self, stdout: list[bytes], code: int, stderr: bytes) -> Document:
        try:
            answer = read_document(stdout)
        except PflowError as error:
            if code:
                raise self._ended(code, stderr) from error
            why = error.message.removeprefix("cannot read the document on stdin: ")
            raise PflowError(f"cannot take the answer of {self.name}: {why}", exit=BAD_DATA) from None
        if answer is None:
            if code:
                raise self._ended(code, stderr)
            size = sum(map(len, stdout))
            raise PflowError(
                f"cannot take the answer of {self.name}: its {size:,} bytes are no store",
                hint="it is given a store document on stdin and answers with one",
                exit=BAD_DATA,
            )
        return answer

    def _ended(self, code: int, stderr: bytes) -> PflowError:
        said = str(stderr, "utf-8", "replace").strip().splitlines()
        why = f": {said[-1]}" if said else ""
        return PflowError(f"cannot run {self.name}: it ended with {code}{why}", exit=code)

    def post(self, shared: Any, sent: Document, answer: Document) -> str | None:
        """Take what the program set or changed."""
        keys = answer.keys()
        for key in keys:
            value = answer.get(key)
            if key not in sent or not _is_same(sent.get(key), value):
                shared[key] = value
        steps = answer.header.get("steps", [])
        action = steps[-1].get("action") if steps and isinstance(steps[-1], dict) else answer.header.get("action")
        return action if isinstance(action, str) else None


def _is_default(item: Item, value: Any) -> bool:
    return not item.required and _is_same(item.default, value)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, as some tools write them; 1 and true, unlike in Python, not."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _show(part: bytes) -> None:
    try:
        os.write(2, part)
    except OSError:
        pass
