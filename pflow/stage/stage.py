"""One node as a process in a pipe: from a command's words to its exit code."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, __version__
from pflow.binding.flag_value import unfilled
from pflow.binding.resolve import Binding
from pflow.binding.secrets import secret_values, secret_writes
from pflow.binding.sources import PathSource, has
from pflow.binding.store import OWN, check_changes
from pflow.errors import BAD_STDIN, CANNOT_WRITE, PflowError, node_error
from pflow.interface.interface import with_keys
from pflow.node import interface_of, version_of
from pflow.process.signals import ClosedPipe, Interrupted, end_in_order
from pflow.stage.document import EMPTY, RAW, Document, empty_pipe, take_in
from pflow.stage.flags import flags_of
from pflow.stage.output import Outcome, Output, pretended_places
from pflow.stage.trace import add_step, enter_span, step_id, write_event
from pflow.stage.tries import run_node
from pflow.terminal.messages import say, say_error
from pflow.values.paths import parse_path, write_path

if TYPE_CHECKING:
    from typing import Any

    from pflow.binding.store import NodeStore
    from pflow.cache.use import CachedNode
    from pflow.interface.interface import Interface
    from pflow.stage.document import Intake
    from pflow.stage.flags import Flags


class Stage:
    """A node, its interface and flags, the store that came in, and where its output goes."""

    def __init__(self, name: str, *, file: str | None = None) -> None:
        self.name = name
        self.file = file
        self.program = "pflow-" + name
        self.step = name
        self.document: Document | None = None
        self.debug = False
        self.secrets: list[Any] = []
        self.untaken = 0
        self.entry: dict[str, Any] = {"id": name, "node": name}
        self.spent: list[dict[str, Any]] = []
        self.cached: CachedNode | None = None

    def run(self, words: list[str]) -> int:
        """Everything, and the exit code. Nothing gets out but the end of the process by a signal."""
        self.output = Output(words)
        self.debug = "--debug" in words  # for a failure before the flags are known
        return end_in_order(lambda: self._run(words), self._fail)

    def _run(self, words: list[str]) -> int:
        node_class = self._load()
        interface = interface_of(node_class)
        self.entry["version"] = version_of(node_class)
        flags = flags_of(words, interface)
        self.output.choose_form(
            quiet=flags.quiet, raw=flags.raw, json=flags.json, stream=flags.stream, exact=flags.exact
        )
        self.debug = flags.debug
        known = {name: value.value for name, value in flags.params.items() if not value.references}
        interface = flags.interface = with_keys(interface, known)
        if interface.pipe_write is not None:  # where the pipe will find it, for pflow-catch after a failure
            self.entry["carries"] = write_path(flags.place_of(interface.pipe_write.name))
        if self.output.is_closed and not flags.quiet:
            raise PflowError("cannot write to stdout: it is closed", hint="-q if nothing is wanted", exit=CANNOT_WRITE)
        if flags.help or flags.describe or flags.version:
            return self._tell(interface, node_class, flags)
        for warning in flags.warnings:
            self._warn(f"{warning}, and stays as it is")
        if interface.fault:
            self._warn(f"any key and flag may pass; pflow nodes {self.name} says why")
        if flags.cache or flags.refresh:  # its code is what was just loaded, however long the input takes to come
            from pflow.stage.cached import cached_node

            self.cached = cached_node(self.name, self.file, node_class, flags)
        intake = take_in(
            no_stdin=flags.no_stdin,
            source=getattr(flags, "from"),
            allow_empty=flags.allow_empty,
            warm=None if flags.dry_run or flags.cache else getattr(node_class, "warm", None),
        )
        self.document = document = intake.document
        if intake.ended_with is not None:  # nothing is done, and it goes on as it came
            return self.output.pass_on(intake)
        document.start()
        self.step = self.entry["id"] = step_id(document, self.name, flags.id)
        if flags.skip_empty and intake.is_empty():
            return self._skip(document, flags)
        self.untaken = check_stdin(interface, flags, intake)
        self._bind(node_class, flags, document)
        return 0

    def _skip(self, document: Document, flags: Flags) -> int:
        self.entry.pop("carries", None)
        self._trace("end", {"exit": 0, "skipped": True})
        return self.output.skip(self.program, document, self.entry, is_told=flags.verbose or flags.dry_run)

    def _bind(self, node_class: Any, flags: Flags, document: Document) -> None:
        """Find all that the node starts with; then run it, or say what it would do."""
        binding = bind(flags.interface, flags, document)
        for key, item in flags.interface.reads.items():
            text = flags.data[key].value if key in flags.data else ""
            for doubt in unfilled(item, flags.interface, text, lambda path: has(document, path)):
                self._warn("; ".join(doubt))
        self.secrets += secret_values(binding, document)
        view = binding.open(document)
        params = binding.find_params(document)
        outcome = Outcome(document, flags, binding, view)
        keys = [*document, *(str(path[0]) for path in binding.pretended)]
        self.entry["reads"] = origins = binding.origins_in_words(keys)
        if flags.verbose:
            for name, origin in origins.items():
                say(self.program, f"reads {name} from {origin}")
        outcome.check()
        if flags.dry_run or "dry" in document.header:
            add_step(document, {**self.entry, **outcome.pretend(self.step, origins)})
            self.output.write_document(document)
        else:
            self._work(node_class, params, flags, outcome)

    def _load(self) -> Any:
        if self.file and not self.file.endswith(".py"):
            from pflow.catalog.interfaces import program_interface
            from pflow.process.start import refuse_itself
            from pflow.stage.program import program_class

            refuse_itself(self.name)
            return program_class(self.file, self.name, program_interface(self.file)[0])
        from pflow.catalog import registry

        return registry.load_file(self.file, self.name) if self.file else registry.load_bundled(self.name)

    def _tell(self, interface: Interface, node_class: Any, flags: Flags) -> int:
        if flags.version:
            text = f"{self.program} {version_of(node_class)} (pflow-shell {__version__})\n"
        elif flags.describe:
            from pflow.catalog.lines import describe
            from pflow.values.jsontext import encode
            from pflow.words.printable import clean_json

            flow_safe = bool(getattr(node_class, "flow_safe", False))
            about = describe(self.name, interface, version=version_of(node_class), flow_safe=flow_safe)
            text = clean_json(str(encode(about), "utf-8")) + "\n"
        else:
            from pflow.help.text import help_text
            from pflow.help.usage import usage_of_node

            text = help_text(usage_of_node(self.name, interface), is_whole=bool(flags.verbose))
        self.output.write([text.encode()])
        return 0

    def _work(self, node_class: Any, params: dict[str, Any], flags: Flags, outcome: Outcome) -> None:
        interface, view = flags.interface, outcome.view
        enter_span(outcome.document)
        self._trace("start", {})
        begun = time.monotonic()
        visit = used = None
        try:
            node = self._make_node(node_class, params)
            if self.cached:
                self.cached.secrets.add(self.secrets)
                visit = self.cached.begin(node, view, self._warn)
            is_kept = visit is not None and visit.found is not None
            action = visit.apply(view) if visit and is_kept else self._run_node(node, flags, view)
            changes = view.changes(outcome.binding.is_watched)
            used = None if is_kept else changes.get("usage")
        finally:
            self.entry["ms"] = int((time.monotonic() - begun) * 1000 + 0.5)
            self.secrets += secret_writes(interface, view)
            undeclared = [key for key, source in view.reads.items() if source == OWN and key not in interface.reads]
            self.entry["reads"] = {**self.entry["reads"], **{key: key for key in undeclared}}
            self._note_usage(used, is_said=flags.verbose)
        check_changes(interface, changes)
        self.document, self.entry["writes"] = outcome.put(changes)
        if visit is not None:
            visit.keep(node, action, changes, view)
            self.entry["cache"] = visit.about()
            if flags.verbose:
                say(self.program, f"cache: {visit.verdict}")
        self.entry.pop("carries", None)
        if action not in (None, "default"):
            self.entry["action"] = str(action)
        add_step(self.document, self.entry)
        self._trace("end", {"exit": 0})
        if self.untaken and "stdin" not in view.reads:
            self._warn(f"the node did not look at the {self.untaken:,} bytes of stdin; -n leaves them to others")
        self.output.finish(self.document, shows=interface.carried_of(self.entry["writes"]) is not None)

    def _warn(self, text: str) -> None:
        say(self.program, f"warning: {text}")

    def _make_node(self, node_class: Any, params: dict[str, Any]) -> Any:
        try:
            node = node_class()
            node.set_params(params)
            return node
        except PflowError:
            raise
        except Exception as error:
            raise node_error(self.name, error) from error

    def _run_node(self, node: Any, flags: Flags, view: NodeStore) -> Any:
        try:
            return run_node(
                node,
                view,
                retries=flags.retries if "retries" in flags.given else None,
                wait=flags.wait if flags.given & {"retries", "wait"} else getattr(node, "wait", 0),
                timeout=flags.timeout,
                sink=self.output.emit if self.output.is_streamed else None,
                spent=self.spent.append,
            )
        except (PflowError, ClosedPipe, Interrupted):
            raise
        except BaseException as error:
            raise node_error(self.name, error) from error

    def _note_usage(self, of_answer: Any, *, is_said: bool) -> None:
        """Note what models were asked, for nothing and for the answer."""
        if not (self.spent or of_answer):
            return
        from pflow.words.usage import Usage

        usage = Usage()
        for each in self.spent:
            usage.add(each)
        usage.add_answer(of_answer)
        self.entry |= usage.members()
        if is_said and usage.calls:
            self.output.end_line()
            say(self.program, f"used {', '.join(usage.words())}")

    def _trace(self, event: str, about: dict[str, Any]) -> None:
        if os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):
            header = self.document.header if self.document else {}
            context: dict[str, Any] = {name: header[name] for name in ("run", "traceparent") if name in header}
            write_event(self.program, event, {**context, **self.entry, **about})

    def _fail(self, error: PflowError) -> int:
        """Say it on stderr, hand an error document on, and give the exit code."""
        if self.secrets:
            from pflow.values.masks import masked

            masked(error, *self.secrets)
        say_error(self.program, error, debug=self.debug)
        document = self.document or Document()
        add_step(document, {**self.entry, "exit": error.exit})
        self._trace("end", {"exit": error.exit})
        if not self.output.has_begun:
            self.output.write_error(document, self.step, self.name, error)
        return error.exit


def bind(interface: Interface, flags: Flags, document: Document) -> Binding:
    """Where each value of a stage comes from: its flags, its --map-in, what the pipe carries, the store."""
    last = document.last_for(interface)
    return Binding(
        interface,
        flags={name: value.source() for name, value in flags.data.items()},
        mappings={name: PathSource(path) for name, path in flags.map_in.items()},
        params={name: value.source() for name, value in flags.params.items()},
        carried=None if last is None else PathSource(parse_path(last)),
        pretended=pretended_places(document),
    )


def check_stdin(interface: Interface, flags: Flags, intake: Intake) -> int:
    """Refuse an empty pipe that the node was to work on (66), and raw input that nothing here takes (64).

    The number of raw bytes of which nobody knows whether the node will look at them.
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
