"""One node as a process in a pipe, from the words of its command to its exit code."""

from __future__ import annotations

import os
import sys

from pflow import TYPE_CHECKING, Any, Callable, __version__
from pflow.binding.flag_value import unfilled
from pflow.binding.resolve import Binding, Places, failure_in
from pflow.binding.sources import PathSource, TemplateSource, has
from pflow.binding.store import NodeStore
from pflow.errors import PflowError, node_error
from pflow.interface.interface import Interface
from pflow.node import interface_of, load_bundled, version_of
from pflow.process.signals import ClosedPipe, Interrupted, end_in_order
from pflow.stage.document import Document, check_stdin, take_in_for
from pflow.stage.flags import Flags, add_keys, flags_of, map_keys
from pflow.stage.output import Destinations, Output
from pflow.stage.visit import NodeRunner, Visit, runs_confined
from pflow.stage.words import is_on
from pflow.terminal.messages import say, say_error
from pflow.text.printable import clean_json
from pflow.values.jsontext import encode
from pflow.values.paths import write_path

if TYPE_CHECKING:
    from pflow.cache.use import CachedNode
    from pflow.process.worker import Parent


class Stage(NodeRunner):
    """A node with its flags, its input and its output."""

    def __init__(self, name: str, *, file: str | None = None, member: tuple[str, str] | None = None) -> None:
        """Take the `file` of a user's own node, or as `member` a pack's name and the path of its node."""
        self.name = self.id = name
        self.file = file
        self.member = member
        self.program = "pflow-" + name
        self.document: Document | None = None
        self.debug = False
        self.secrets: list[Any] = []
        self.untaken = 0
        self.entry: dict[str, Any] = {"id": name, "node": name}
        self.visited: Visit | None = None
        self.cached: CachedNode | None = None
        self.parent: Parent | None = None

    def run(self, words: list[str]) -> int:
        """Run the stage and return its exit code. Raise nothing; only a signal ends the process earlier."""
        self.output = Output(words)
        self.debug = is_on("debug", self.output.said)  # a failure may come before the flags are known
        return end_in_order(lambda: self._run(words), self._fail)

    def _run(self, words: list[str]) -> int:
        pack = self._pack()
        if pack is not None:
            self.entry["pack"] = pack.label
        node_class = self._load()
        interface = interface_of(node_class)
        self.entry["version"] = version_of(node_class)
        flags = flags_of(words, interface)
        self.debug = flags.debug
        self.output.apply_flags(flags)
        interface = add_keys(flags)
        if interface.pipe_write is not None:  # pflow-catch needs the place after a failure
            self.entry["carries"] = write_path(flags.place_of(interface.pipe_write.name))
        if flags.unconfined:
            from pflow.catalog.confinement import set_free

            set_free(flags.unconfined)
        if flags.help or flags.describe or flags.version:
            return self._print_about(interface, node_class, flags, pack)
        for warning in flags.warnings:
            self.warn(f"{warning}, and stays as it is")
        if interface.fault:
            self.warn(f"any key and flag is accepted; pflow nodes {self.name} says why")
        if flags.cache or flags.refresh:  # before the wait for stdin, in which the file of the loaded code may change
            self.cached = self._cached(node_class, flags)
        warm = None if flags.dry_run or flags.cache else getattr(node_class, "warm", None)
        intake = take_in_for(flags, warm)
        self.document = document = intake.document
        if intake.ended_with is not None:
            return self.output.pass_on(intake)
        document.start()
        self.entry["id"] = document.step_id(self.name, flags.id)
        if flags.skip_empty and intake.is_empty():
            return self._skip(document, flags)
        self.untaken = check_stdin(interface, flags, intake)
        self._bind(node_class, flags, document)
        return document.exit

    def _skip(self, document: Document, flags: Flags) -> int:
        self.entry.pop("carries", None)
        self._trace("end", {"exit": 0, "skipped": True})
        return self.output.skip(self.program, document, self.entry, is_told=flags.verbose or flags.dry_run)

    def _bind(self, node_class: Any, flags: Flags, document: Document) -> None:
        """Find the values for the node; then run it, or report what it would do (--dry-run)."""
        self.flags, self.interface = flags, flags.interface
        self.binding = binding = bind(flags.interface, flags, document)
        given = {} if flags.verbatim else {**flags.data, **flags.params}
        for field, value in ((flags.fields[key], each.value) for key, each in given.items() if key in flags.fields):
            for doubt in unfilled(field, flags.interface, value, lambda path: has(document, path)):
                self.warn("; ".join(doubt))
        view = self.open(document)
        params = binding.find_params(document)
        map_keys(flags, params)
        destinations = Destinations(document, flags, binding, view)
        keys = [*document, *(str(path[0]) for path in binding.pretended)]
        origins = binding.origins_in_words(keys)
        self.entry["reads"] = {name: (origin,) for name, origin in origins.items()}
        if over := document.passed_over(flags.interface, binding.sources, binding.places()):
            self.warn(over)
        if flags.verbose:
            for name, origin in origins.items():
                say(self.program, f"reads {name} from {origin}")
        destinations.check()
        if flags.dry_run or "dry" in document.header:
            document.add_step({**self.entry, **destinations.pretend(self.entry["id"], origins)})
            self.output.write_document(document)
        else:
            self._work(node_class, params, flags, destinations)

    def _pack(self) -> Any:
        """Return the pack of the node; None if it is not from a pack. For a `member`, also set the file.

        Raises PflowError (78) if the file has changed since it was installed.
        """
        if self.file is None and self.member is None:
            return None
        from pflow.catalog.packs import file_in_pack, pack_of, verified

        if self.member is not None:
            self.file = file_in_pack(*self.member)
        file = os.path.abspath(str(self.file))
        pack = pack_of(file)
        if pack is not None:
            verified(pack, file)
        return pack

    def _load(self) -> Any:
        if self.file and not self.file.endswith(".py"):
            from pflow.catalog.node_type import program_interface
            from pflow.process.start import refuse_itself
            from pflow.stage.program import program_class

            refuse_itself(self.name)
            return program_class(self.file, self.name, program_interface(self.file)[0])
        if not self.file:
            return load_bundled(self.name)
        from pflow.catalog.node_type import PYTHON, NodeType

        return NodeType(self.name, PYTHON, self.file).node_class()

    def _print_about(self, interface: Interface, node_class: Any, flags: Flags, pack: Any) -> int:
        if flags.version:
            text = f"{self.program} {version_of(node_class)} (pflow-shell {__version__})\n"
        elif flags.describe:
            from pflow.interface.account import account_of

            about = {"name": self.name, "version": version_of(node_class), **account_of(interface)}
            about |= {"pack": pack.about} if pack else {}
            text = clean_json(str(encode(about), "utf-8")) + "\n"
        else:
            from pflow.help.spec import help_text, spec_of_node

            text = help_text(spec_of_node(self.name, interface), is_whole=bool(flags.verbose))
        self.output.write([text.encode()])
        return 0

    def _cached(self, node_class: Any, flags: Flags) -> CachedNode | None:
        """Return the node for the cache; None if the cache is off. Raises PflowError (78) if it is off but required."""
        from pflow.cache.policy import CachePolicy
        from pflow.catalog.node_type import BUNDLED, PROGRAM, PYTHON, NodeType

        origin = BUNDLED if self.file is None else PYTHON if self.file.endswith(".py") else PROGRAM
        node_type = NodeType(self.name, origin, self.file or str(sys.modules[node_class.__module__].__file__))
        policy = CachePolicy(flags.cache, bool(flags.refresh))
        return policy.of_step(self.name, node_type, flags.interface, node_class, own_mode=flags.cache or True)

    def _work(self, node_class: Any, params: dict[str, Any], flags: Flags, destinations: Destinations) -> None:
        """Run the node, put its changes into the document and write the document."""
        if "TRACEPARENT" in os.environ or "traceparent" in destinations.document.header:
            from pflow.stage.trace import enter_span

            enter_span(destinations.document)
        self._trace("start", {})
        visit = self.visited = Visit()
        visit.reads = self.entry["reads"]
        view = destinations.view
        node = self._make_node(node_class, params)
        if self.cached:
            self.cached.secrets.add(self.secrets)
            self.is_apart = runs_confined(node)  # a confined process could not write to the cache
        try:
            changes, lookup = self.visit(node, view, destinations.document, visit)
        finally:
            if flags.verbose and visit.spent:
                from pflow.values.usage import usage_words

                say(self.program, f"used {', '.join(usage_words(visit.usage()))}")
        self.document, visit.writes = destinations.put(changes)
        if lookup is not None:
            visit.more["cache"] = lookup.keep(node, visit.action, changes, view)
            if flags.verbose:
                say(self.program, f"cache: {lookup.verdict}")
        self.entry.pop("carries", None)
        self.entry |= visit.entry()
        self.document.add_step(self.entry)
        self._trace("end", {"exit": 0})
        if self.untaken and "stdin" not in view.reads:
            self.warn(f"the node did not use the {self.untaken:,} bytes of stdin; -n leaves them to others")
        self.output.finish(self.document, shows=flags.interface.carried_of(visit.writes) is not None)

    def warn(self, text: str) -> None:
        say(self.program, f"warning: {text}")

    def places_read(self, view: NodeStore, store: Any) -> Places:
        """Return the places of all declared reads, and of other keys that the node read."""
        known, places = self.entry["reads"], self.binding.origins(view, store)
        undeclared = [key for key in view.reads if key not in known and key not in self.interface.reads]
        return {**known, **{key: places[key] for key in undeclared}}

    def act(self, node: Any, view: NodeStore, visit: Visit) -> Any:
        flags = self.flags
        try:
            return self.try_node(
                node,
                view,
                visit,
                retries=flags.retries if "retries" in flags.given else None,
                wait=flags.wait if "wait" in flags.given else None,
                timeout=flags.timeout,
                sink=self.sink(),
            )
        except (PflowError, ClosedPipe, Interrupted):
            raise
        except BaseException as error:
            raise self.as_failure(error) from error

    def as_failure(self, error: BaseException) -> PflowError:
        return failure_in(self.name, self.interface, error)

    def sink(self) -> Callable[[Any], None] | None:
        return (self.parent.take if self.parent else self.output.emit) if self.output.is_streamed else None

    def enter_child(self, parent: Parent) -> None:
        self.parent = parent

    def answer(self, name: str, question: Any, reply: Callable[[Any], None]) -> None:
        reply(None)

    def _make_node(self, node_class: Any, params: dict[str, Any]) -> Any:
        try:
            node = node_class()
            node.set_params(params)
            return node
        except PflowError:
            raise
        except Exception as error:
            raise node_error(self.name, error) from error

    def _trace(self, event: str, about: dict[str, Any]) -> None:
        if os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):
            from pflow.stage.trace import event_line, write_line

            header = self.document.header if self.document else {}
            context: dict[str, Any] = {name: header[name] for name in ("run", "traceparent") if name in header}
            write_line(self.program, event_line(event, {"pid": os.getpid(), **context, **self.entry, **about}))

    def learn(self, secrets: list[Any]) -> None:
        from pflow.values.secrets import all_secrets

        self.secrets += secrets
        all_secrets.add(secrets)

    def _fail(self, error: PflowError) -> int:
        """Report the error on stderr, pass on an error document, and return the exit code."""
        if self.secrets:
            from pflow.values.secrets import masked

            masked(error, *self.secrets)
        say_error(self.program, error, debug=self.debug)
        document = self.document or Document()
        failure = {"exit": error.exit}
        self.entry = self.entry | (self.visited.entry(failure) if self.visited else failure)
        document.add_step(self.entry)
        self._trace("end", {})
        if not self.output.has_begun:
            self.output.write_error(document, self.entry["id"], self.name, error)
        return error.exit


def bind(interface: Interface, flags: Flags, document: Document) -> Binding:
    """Bind each value of a stage to its source: flags, --map-in, the pipe, the store."""
    carried = document.carried_to(interface) if () not in flags.map_in.values() else None
    data, params = ({name: value.source() for name, value in each.items()} for each in (flags.data, flags.params))
    for source in [*data.values(), *params.values()]:
        if isinstance(source, TemplateSource):
            source.from_steps = [path for path in source.leads() if document.is_written(path)]
    return Binding(
        interface,
        flags=data,
        mappings={name: PathSource(path) for name, path in flags.map_in.items() if path},
        params=params,
        carried=PathSource(carried) if carried else None,
        pretended=document.pretended,
    )
