"""The output of a stage: the document with its node's changes, in the chosen form."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Mapping
from pflow.binding.resolve import Binding, Places
from pflow.binding.sources import check_place, find, has
from pflow.binding.store import REMOVED, NodeStore
from pflow.errors import USAGE, PflowError, Within
from pflow.interface.common import COMMON
from pflow.process.signals import ClosedPipe, die_of_closed_pipe
from pflow.process.streams import closed_stdout, divert_prints, raw_form, secure_standard_files, write_pieces
from pflow.stage.document import Document, Intake
from pflow.stage.words import flags_in, is_on
from pflow.terminal import messages
from pflow.terminal.messages import say, write_stderr
from pflow.text.printable import clean, encodable
from pflow.values.jsontext import text_of
from pflow.values.paths import write_path

if TYPE_CHECKING:
    from pflow.stage.flags import Flags
    from pflow.stage.layout import Piece


DOCUMENT, RAW, TERMINAL, NOTHING = "document", "raw", "terminal", "nothing"


class Output:
    """The real stdout, the form of the output, and its progress. Text that a node prints goes to stderr."""

    def __init__(self, words: list[str]) -> None:
        self.form = NOTHING
        self.is_closed = 1 in secure_standard_files()
        self.fd = divert_prints()
        self.has_begun = False
        messages.note_output(self.fd)
        self.said = said = flags_in(words, COMMON, is_open=True)
        """The flags that count even if other flags are wrong: the form of the output, and --debug."""
        self.choose_form(quiet=is_on("quiet", said), raw=is_on("raw", said), json=is_on("json", said))

    def choose_form(self, *, quiet: bool, raw: bool, json: bool, stream: bool = False, exact: bool = False) -> None:
        """Choose the form by the flags and the kind of stdout. Raises PflowError (2) for --stream with a document."""
        self.is_exact = exact
        if quiet or self.is_closed:
            self.form = NOTHING
        elif raw:
            self.form = RAW
        else:
            self.form = TERMINAL if os.isatty(self.fd) and not json else DOCUMENT
        self.is_streamed = self.form == TERMINAL or (self.form == RAW and (stream or os.isatty(self.fd)))
        if stream and self.form == DOCUMENT:
            hint = "-r --stream writes what the pipe carries"
            raise PflowError("cannot take --stream: the store document is written whole", hint=hint, exit=USAGE)

    def apply_flags(self, flags: Any) -> None:
        """Choose the form by the flags of a stage or a run. Raises PflowError (2, 73 if stdout is closed)."""
        messages.be_quiet(flags.quiet)
        self.choose_form(quiet=flags.quiet, raw=flags.raw, json=flags.json, stream=flags.stream, exact=flags.exact)
        if self.is_closed and not flags.quiet:
            raise closed_stdout("-q prints nothing")

    def write(self, pieces: list[Piece]) -> None:
        self.has_begun = True
        messages.clear_line()
        write_pieces(self.fd, pieces)

    def emit(self, part: str | bytes) -> None:
        """Show a part of the node's `[pipe]` write as it arrives."""
        data = part.encode("utf-8", "replace") if isinstance(part, str) else part
        self.write([data])
        if data:
            messages.note_output(self.fd, data)

    def write_document(self, document: Document) -> None:
        """Write the store, if documents are the form."""
        if self.form == DOCUMENT:
            self.write(document.pieces())

    def pass_on(self, intake: Intake) -> int:
        """Pass on the document that ended the pipe, unchanged; return its exit code."""
        if self.form == DOCUMENT:
            self.write([intake.data])
        return intake.ended_with or intake.document.exit

    def skip(
        self, program: str, document: Document, entry: dict[str, Any], *, is_told: bool,
        why: str = "nothing comes through the pipe",
    ) -> int:  # fmt: skip
        """Pass on a store that is marked as skipped, so that later stages do nothing; return the exit code."""
        if is_told:
            say(program, f"nothing to do: {why}")
        document.start()
        document.header["skipped"] = True
        document.add_step({**entry, "skipped": True})
        self.write_document(document)
        return document.exit

    def write_error(self, document: Document, step: str, node: str, error: PflowError) -> None:
        """Write the store as an error document, if documents are the form. A failing stdout changes nothing."""
        document.start()
        about = {"step": step, "node": node, "exit": error.exit, "message": encodable(error.message)}
        document.header["error"] = about | {**error.details, **about}
        try:
            self.write_document(document)
        except ClosedPipe:
            die_of_closed_pipe()
        except PflowError:
            pass

    def hand_on_error(self, name: str, error: PflowError, document: Document | None = None) -> None:
        """Write the error document of a program that is not a stage: its input store, marked as failed."""
        document = document or Document()
        document.add_step({"id": document.step_id(name), "node": name, "exit": error.exit})
        self.write_error(document, name, name, error)

    def finish(self, document: Document, *, shows: bool) -> None:
        """Print what was not emitted, in the chosen form; on a terminal, only if this program made it (`shows`)."""
        if self.form in (NOTHING, DOCUMENT):
            self.write_document(document)
        elif self.form == TERMINAL and self.has_begun:
            if messages.unfinished:
                messages.note_output(self.fd)
                self.write([b"\n"])
        elif document.carried and (shows or self.form == RAW):
            value = find(document, document.carried)
            text = raw_form(value, exact=self.is_exact)
            if self.form == TERMINAL:
                self.write([text, b"" if text.endswith(b"\n") else b"\n"])
            elif not self.has_begun:
                self.write([text])
            elif messages.unfinished and isinstance(value, str) and not self.is_exact:
                self.write([b"\n"])


class Destinations:
    """The places of a stage's data flags and writes; `view` is the store as its node sees it."""

    def __init__(self, document: Document, flags: Flags, binding: Binding, view: NodeStore) -> None:
        self.document = document
        self.flags = flags
        self.interface = flags.interface
        self.binding = binding
        self.view = view
        self.data = binding.data(view.found)
        unknown = [key for key in binding.stored if binding.is_pretended(binding.sources[key].paths)]
        self.data_places = [flags.own_place(key) for key in [*self.data, *unknown]]

    def check(self) -> None:
        """Refuse a place that cannot be written (65), unless a dry stage before would have written it.

        For a node without an interface, only mapped writes are known.
        """
        writes = [self.flags.place_of(key) for key in {**self.interface.writes, **self.flags.map_out}]
        for place in [*writes, *self.data_places]:
            if not self.binding.is_pretended([place]):
                check_place(self.document, place)

    def put(self, changes: Mapping[str, Any]) -> tuple[Document, Places]:
        """Return a copy of the store with data flags and changes in it, and the place of each write."""
        document = self.document.copy()
        for key, value in self.data.items():
            place = self.flags.own_place(key)
            if not has(document, place):
                document.put(place, value)
        writes: Places = {}
        for key, value in changes.items():
            place = self.flags.place_of(key)
            if value is REMOVED:
                document.remove(place)
                continue
            with Within(f"cannot store '{key}'"):
                document.put(place, value)
            writes[key] = (write_path(place),)
        self._note_carried(document, writes)
        return document, writes

    def pretend(self, step: str, origins: dict[str, str]) -> dict[str, Any]:
        """Report on stderr what would be done; mark the places that would be written, and return them for the trace."""
        places: Places = {key: (write_path(self.flags.place_of(key)),) for key in self.interface.writes}
        flat = [place for (place,) in places.values()]
        write_stderr(self._report(step, origins, flat))
        header = self.document.header
        stored = map(write_path, self.data_places)
        header["dry"] = list(dict.fromkeys([*header.get("dry", []), *stored, *flat]))
        self._note_carried(self.document, places)
        return {"writes": places, "dry": True}

    def _note_carried(self, document: Document, writes: Places) -> None:
        carried = self.interface.carried_of(writes)
        if carried is not None:
            document.header["last"] = writes[carried][0]

    def _report(self, step: str, origins: dict[str, str], places: list[str]) -> str:
        lines = {
            "← would read": ", ".join(f"{name} from {origin}" for name, origin in origins.items()),
            "→ would write": ", ".join(places),
            "would touch": ", ".join(self.interface.touches),
            **self._targets(),
        }
        return f"{step} (dry run)\n" + "".join(f"    {what}: {text or 'nothing'}\n" for what, text in lines.items())

    def _targets(self) -> dict[str, str]:
        params, values = self.binding.find_params(self.document), {}
        for name, field in self.interface.effect_fields.items():
            source = self.binding.source_of(name)
            value = self.view[name] if name in self.view else params.get(name)
            value = self.interface.default_of(field, params) if value == field.default else value
            values[name] = ... if source is not None and self.binding.is_pretended(source.paths) else value
        return targets_in_words(values, {name: self.binding.led_by_data(name) for name in values})


def targets_in_words(values: Mapping[str, Any], led: Mapping[str, str]) -> dict[str, str]:
    """Return the values that decide a step's effects, as text, with the part that data chooses, such as a directory.

    `...` stands for a value that is not known yet.
    """
    known = {name: value for name, value in values.items() if value not in (None, [])}
    texts = {name: "not known yet" if value is ... else clean(text_of(value)) for name, value in known.items()}
    chosen = {name: f", whose {led[name]} data chooses" if led.get(name) else "" for name in texts}
    return {name: text + chosen[name] for name, text in texts.items()}
