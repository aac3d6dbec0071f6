"""The initial state of a run: its inputs, flow and store; made once, kept in the journal, and read back."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Iterator, Mapping
from pflow.binding.sources import find, has
from pflow.binding.store import NodeStore
from pflow.cache.code import code_of
from pflow.driver.arguments import RunFlags
from pflow.driver.inputs import RunInputs
from pflow.engine.step import bind
from pflow.errors import BAD_DATA, MISSING, Attempt, Ignoring, PflowError
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_hash, flow_to_ir
from pflow.flow.load import load_text, read_text
from pflow.flow.subflow import FlowCatalog, load_named, python_source
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.record.journal import text_bytes
from pflow.record.log import FLOW
from pflow.record.snapshot import Snapshot, kept, place_of
from pflow.stage.document import Document, Intake
from pflow.values.digest import digest_of
from pflow.values.jsontext import encode
from pflow.values.secrets import Secrets
from pflow.values.templates import check_keyless

if TYPE_CHECKING:
    Facts = dict[str, Any]
    """The facts that a resumed run is compared by: `flow` (a digest), and `nodes`: for each step its type, version and
    code (digests by file, versions by distribution).
    """

    Record = dict[str, Any]
    """The first record of a journal: store {kind, header, keys (all, in their order), values (of keys with a secret),
    own (the members of a user's own JSON object)}, texts (the JSON of all other keys, byte for byte as it was piped),
    inputs {values, params, data}, environment (the variables that set params), secrets (digests by variable), flags,
    place {directory, flow_directory, file, confined}, and the Facts; bounds: a keyed digest of the run and of
    `confined`; sealed: the path and the digest of each value with a secret, which is null or empty in the record; key:
    a digest by which a resume notices that the user's key has changed.
    """

_INPUTS = ("values", "params", "data")
_FLAGS = ("jobs", "isolate", "timeout", "allow_empty", "keep_store", "cache", "refresh", "max_visits", "encoding")


class InitialState:
    """The inputs of a run, its flow wired to the piped data, and its store with the inputs in it.

    The run's snapshot and the first record of its journal are two renderings of this state. `secrets` has all secret
    values in it.
    """

    def __init__(self, inputs: RunInputs, intake: Intake, secrets: Secrets) -> None:
        self.inputs = inputs
        self.wired = inputs.wired
        self.intake = intake
        self.secrets = secrets
        self.ir = flow_to_ir(self.wired.flow)
        self.place = place_of(self.wired.flow)
        for step in self.wired.all_steps():  # refuse an address with a key in it before it is written to the disk
            if field := step.interface.params.get("model"):
                given = inputs.params.get(step.id, {}).get("model"), os.environ.get(field.env)
                check_keyless(*given, step.step.params.get("model"))
        self.store = NodeStore(intake.document, has_copies=False)
        secrets.add([*known_secrets(inputs, self.store)])
        self.snapshot = self._snapshot()
        inputs.fill(self.store)  # the inputs and defaults may have further secrets
        secrets.add([*known_secrets(inputs, self.store)])

    def _snapshot(self) -> Snapshot:
        snapshot = Snapshot(self.secrets)
        snapshot.flow_hash = flow_hash(self.wired)
        snapshot.place = self.place
        snapshot.note_piped(self.wired, self.intake, self._piped())
        snapshot.note_inputs(self.wired, self.inputs.params, self.inputs.data, self.inputs.stored_by_flags())
        if self.inputs.replayed is not None:
            snapshot.follow(self.inputs.replayed)
        return snapshot

    def _piped(self) -> dict[str, Any]:
        """Return the keys that came through the pipe and that the flow may look at."""
        document, keys = self.intake.document, used_keys(self.wired)
        taken = document.carried[0] if document.carried and self.inputs.piped_path is not None else None
        return {key: self.store[key] for key in document if keys is None or key in keys or key == taken}

    def record(self, flags: RunFlags) -> Record:
        """Return the first record of the journal."""
        document = self.intake.document
        store = {
            "kind": self.intake.kind,
            "header": dict(document.header),
            "keys": document.keys(),
            "own": list(document.own),
            "values": {},
        }
        return {
            "store": kept(store),
            "inputs": kept({name: getattr(self.inputs, name) for name in _INPUTS}),
            "environment": {name: os.environ.get(name) for name in _variables(self.wired)},
            "secrets": dict.fromkeys(_variables(self.wired, are_secret=True)),
            "flags": {name: getattr(flags, name) for name in _FLAGS},
            "place": self.place,
            **self.facts(),
            "texts": {key: document.json(key) for key in document},
        }

    def facts(self) -> Facts:
        """Return the facts that a resume compares."""
        nodes = {}
        for id, wired in self.wired.steps.items():
            assert wired.node_type is not None
            nodes[id] = {
                "type": wired.step.type,
                "version": wired.node_type.version,
                "code": code_of(wired.node_type).parts,
            }
        return {"flow": digest_of(self.ir), "nodes": nodes}

    def flow_text(self) -> bytes:
        """Return the flow as the log keeps it."""
        return encode(self.ir) + b"\n"


def is_same(one: Record, other: Record) -> bool:
    """Return True if two runs have the same flow, store, inputs and directories."""
    stores = [{**each["store"], "header": each["store"]["header"].get("last")} for each in (one, other)]
    texts = [{key: text_bytes(text) for key, text in each["texts"].items()} for each in (one, other)]
    parts = ("inputs", "flow", "place", "sealed")
    return stores[0] == stores[1] and texts[0] == texts[1] and all(one.get(part) == other.get(part) for part in parts)


def _variables(flow: WiredFlow, *, are_secret: bool = False) -> list[str]:
    """Return the environment variables that set params of a flow: the secret ones, or all others."""
    fields = (field for step in flow.all_steps() for field in step.interface.params.values())
    return sorted({field.env for field in fields if field.env and (field.is_secret) is are_secret})


def used_keys(wired: WiredFlow) -> set[str] | None:
    """Return the top-level keys of a store that a flow may look at; None for all of them."""
    keys = {str(path[0]) for source in wired.sources() for path in source.paths}
    for step in wired.steps.values():
        if step.interface.open:
            return None
        keys |= {step.id, *step.interface.reads}
        keys |= {str(step.place_of(key)[0]) for key in [*step.interface.writes, *step.targets]}
    return keys | {str(each.path[0]) for each in wired.inputs.values()}


def known_secrets(inputs: RunInputs, store: Any) -> Iterator[Any]:
    """Yield the values of secret inputs, reads, params and variables, also those of subflows."""
    paths = [each.path for each in inputs.wired.inputs.values() if each.secret]
    yield from (find(store, path) for path in paths if has(store, path))
    for id, step in inputs.wired.steps.items():
        yield from _secrets_of(step, store, inputs.params.get(id, {}), inputs.data.get(id, {}))


def _secrets_of(step: WiredStep, store: Any, params: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Any]:
    with Ignoring(PflowError):  # a missing value will fail its step when that runs
        if step.interface.secrets:
            yield from bind(step, params, data).secrets(store)
        if step.over is not None and step.has_secret_items:
            yield step.over.find(store)
    for inner in step.subflow.steps.values() if step.subflow is not None else ():
        yield from _secrets_of(inner, {}, {}, {})


def restore_intake(record: Record) -> Intake:
    """Return the data that came through stdin."""
    store = record["store"]
    document = Document(store["header"])
    for key in store["keys"]:
        if key in record["texts"]:
            document.set_json(key, text_bytes(record["texts"][key]))
        else:
            document.set(key, store["values"][key])
    document.own = store["own"]
    return Intake(document, store["kind"])


def restore_inputs(record: Record, wired: WiredFlow, intake: Intake) -> RunInputs:
    """Return the inputs for the newly wired flow, without the value from the pipe, which `with_pipe` adds again."""
    inputs = RunInputs(wired)
    for name in _INPUTS:
        getattr(inputs, name).update(record["inputs"][name])
    for name, value in RunInputs(wired).with_pipe(intake, allow_empty=True).values.items():
        if inputs.values.get(name) == value:
            del inputs.values[name]
    inputs.confined = record["place"].get("confined", "")
    inputs.origins = {name: wired.inputs[name].flag for name in inputs.values if name in wired.inputs}
    return inputs


def restore_environment(record: Record) -> None:
    """Set the environment variables of params as they were when the run began; unset those that were not set."""
    for name, value in record["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def restore_flow(directory: str, place: Mapping[str, Any], text: str = "") -> FlowSpec:
    """Return a run's flow from `text`, else from the run's `directory`. Raises PflowError (66, 65 if damaged).

    `place` has the flow's file, and the directory that relative paths in the flow start from. A flow in Python is
    loaded from its own file again.
    """
    if python_source(os.fsdecode(place["file"])):
        return load_named([os.fsdecode(place["file"])], is_run_here=True)
    file = os.path.join(directory, FLOW)
    catalog = FlowCatalog(os.fsdecode(place["flow_directory"]))
    if os.path.exists(file) and not os.path.isfile(file):  # opening a named pipe would wait for a writer
        raise PflowError(f"cannot read the flow '{file}': not a regular file", exit=BAD_DATA)
    flow = load_text(text or read_text(file, f"the flow '{file}'"), file, catalog).usable()
    flow.file = os.fsdecode(place["file"])
    return flow


def enter(directory: str | bytes, act: str) -> None:
    """Go to the directory that a run began in. Raises PflowError (66) if it is gone."""
    with Attempt(f"cannot {act} in '{os.fsdecode(directory)}', where the run was", exit=MISSING):
        os.chdir(directory)
