"""A node in any language: a program that reads a store document and answers with one."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Mapping
from pflow.binding.store import is_same
from pflow.catalog.packs import pack_of, verified
from pflow.errors import BAD_DATA, PflowError
from pflow.interface.interface import Interface, spell_flag
from pflow.node import pocketflow
from pflow.process.start import NODE, start_program
from pflow.stage.document import Document, new_run_id, read_document
from pflow.terminal.messages import write_stderr
from pflow.values.jsontext import text_of
from pflow.values.secrets import Secrets

if TYPE_CHECKING:
    from pflow.catalog.confinement import Confinement
    from pflow.process.confine import Declared

_TAIL = 400
_PATIENCE = 1 << 20
"""The most bytes without the beginning of a store; after them, the program is ended."""
_MOST = 1_000_000_000
"""The most bytes of an answer; after them, the program is ended."""


class ProgramNode(pocketflow.Node):  # type: ignore[misc,unused-ignore]
    """Gives a program its reads in a store and its params as flags, and takes its changes as writes.

    A program with several actions names one in the header of its answer (`"$pflow": {"action": "left"}`) or in the last
    of the header's `steps`. It has failed if it answers with an error document or ends with an exit code other than 0.
    """

    file: str
    name: str
    interface: Interface
    confinement: Confinement | None = None
    """The limits of an installed program; None for a user's own."""
    is_program = True
    said = b""
    """The last bytes that it wrote to stderr."""
    _declared: Declared | None = None

    def enter(self, declared: Declared | None) -> ProgramNode:
        """Verify that the program is as it was installed, and set its limits (None: no limits). Raises PflowError (78).

        Only the program's process is confined, not this one.
        """
        assert self.confinement is not None
        verified(self.confinement.pack, self.file)
        self._declared = declared
        return self

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
        output = _Output(self.name, self._secrets(document))
        try:
            code = self._call(b"".join(document.pieces()), output)
        finally:
            output.show_rest()
            self.said = output.said
        code = 128 - code if code < 0 else code  # a shell's code for a signal
        try:
            answer = read_document(b"".join(output.parts))
        except PflowError as error:
            raise output.ended(code) if code else self._refused(error) from None
        failure = answer.header.get("error") if answer else None
        if failure:
            raise PflowError(str(failure.get("message") or f"{self.name} failed"), exit=int(failure["exit"]))
        if answer is None or code:
            raise output.ended(code) if code else output.no_store()
        return answer

    def _call(self, input: bytes, output: _Output) -> int:
        from pflow.process.children import run

        words, env = self._flags(), self._environment()

        def start(program: list[str]) -> int:
            about = {"input": input, "env": env, "restrict": self._declared and self._declared.restrict}
            return run([*program, *words], on_stdout=output.take, on_stderr=output.show, **about)  # type: ignore[arg-type]

        return start_program(self.file, start)

    def _flags(self) -> list[str]:
        """Return the params that were set, as flags."""
        flags = []
        for name, value in self.params.items():
            field = self.interface.params.get(name)
            is_default = field is not None and not field.required and is_same(field.default, value)
            is_read = field is None and name in self.interface.reads  # the program gets it in the document
            if value is not None and not (is_default or is_read or (field and field.is_secret)):
                flag = spell_flag(name)
                flags.append(f"{flag}={self._without_nul(flag, value)}")
        return flags

    def _environment(self) -> Mapping[str, str]:
        """Return our environment with the node's name and the secrets, which are never flags."""
        secrets = {
            field.env: self._without_nul(field.env, self.params[name])
            for name, field in self.interface.params.items()
            if field.is_secret and self.params.get(name) is not None
        }
        confinement, declared = self.confinement, self._declared
        variables = os.environ if confinement is None or declared is None else confinement.environment(declared)
        return {**variables, NODE: self.name, **secrets}

    def _secrets(self, document: Document) -> Secrets:
        """Return the secrets that the program gets, to be masked in its output."""
        secrets = Secrets()
        for field in self.interface.secrets:
            value = document[field.name] if field.name in document else self.params.get(field.name)
            secrets.add(None if is_same(value, field.default) else value)
        return secrets

    def _without_nul(self, where: str, value: Any) -> str:
        text = text_of(value)
        if "\0" in text:
            raise PflowError(f"cannot give {where} to {self.name}: no argument can hold a NUL", exit=BAD_DATA)
        return text

    def _refused(self, error: PflowError) -> PflowError:
        why = error.message.removeprefix("cannot read the document on stdin: ")
        return PflowError(f"cannot take the answer of {self.name}: {why}", exit=BAD_DATA)

    def post(self, shared: Any, sent: Document, answer: Document) -> str | None:
        """Take the keys that the program set or changed."""
        try:
            values = dict(answer)
        except PflowError as error:
            raise self._refused(error) from None
        for key, value in values.items():
            # jq 1.6 rounds large integers in keys that it only passes on, which is not a change.
            may_be_rounded = key not in self.interface.writes and not self.interface.open
            if key not in sent or not is_same(sent[key], value, is_rounded=may_be_rounded):
                shared[key] = value
        last = (answer.header.get("steps") or [None])[-1]
        action = answer.header.get("action", last.get("action") if isinstance(last, dict) else None)
        return action if isinstance(action, str) else None


class _Output:
    """The output of a program: its answer, and its stderr, which is shown. The last bytes of stderr are kept.

    stderr is shown as it arrives; if there are `secrets`, in whole lines, masked.
    """

    def __init__(self, name: str, secrets: Secrets) -> None:
        self.name = name
        self.secrets = secrets
        self.held = b""
        self.parts: list[bytes] = []
        self.size = 0
        self.said = b""

    def take(self, part: bytes) -> None:
        """Take a part of the answer. Raises PflowError (65) once it cannot become a store or is too long."""
        self.parts.append(part)
        self.size += len(part)
        if self.size > _PATIENCE and not self.parts[0].startswith((b"{", b"[")):
            raise self.no_store()
        if self.size > _MOST:
            what = f"cannot take the answer of {self.name}: it is longer than {_MOST:,} bytes"
            raise PflowError(what, exit=BAD_DATA)

    def show(self, part: bytes) -> None:
        if self.secrets:
            part = self.held + part
            end = max(part.rfind(b"\n"), part.rfind(b"\r")) + 1
            part, self.held = self._masked(part[:end]), part[end:]
        self._say(part)

    def show_rest(self) -> None:
        self._say(self._masked(self.held))

    def _masked(self, data: bytes) -> bytes:
        return self.secrets.mask(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _say(self, part: bytes) -> None:
        self.said = (self.said + part)[-_TAIL:]
        write_stderr(part)

    def no_store(self) -> PflowError:
        return PflowError(
            f"cannot take the answer of {self.name}: its {self.size:,} bytes are not a store",
            hint="it is given a store document on stdin and answers with one",
            exit=BAD_DATA,
        )

    def ended(self, code: int) -> PflowError:
        lines = str(self.said, "utf-8", "replace").strip().splitlines()
        why = f": {lines[-1]}" if lines else ""
        return PflowError(f"cannot run {self.name}: it ended with {code}{why}", exit=code)


def program_class(file: str, name: str, interface: Interface) -> type[ProgramNode]:
    pack = pack_of(file)
    if pack is not None:
        from pflow.catalog.confinement import Confinement
    about = {
        "confinement": Confinement(pack, name, file, interface) if pack is not None else None,
        "file": file,
        "name": name,
        "interface": interface,
        "_pflow_interface": interface,
        "version": interface.version or "1.0.0",
        "flow_safe": interface.flow_safe,
    }
    return type("Program", (ProgramNode,), about)
