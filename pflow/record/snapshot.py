"""The snapshot of a run: the params that it sets in its flow, the values that it puts into the store, its directory."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Iterator, Mapping
from pflow.binding.resolve import from_environment
from pflow.binding.sources import Constant, find
from pflow.errors import BAD_DATA, PflowError, result_of
from pflow.files.beneath import CONFINED
from pflow.flow.flow import FlowSpec
from pflow.flow.references import is_stored
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import Field
from pflow.record.log import SNAPSHOT
from pflow.record.records import UNSOUND
from pflow.stage.document import NOTHING, RAW, STORE, Intake
from pflow.values.digest import bytes_digest
from pflow.values.jsontext import change_texts, encode, path_value, text_or_bytes
from pflow.values.paths import Path, parse_path, write_path
from pflow.values.secrets import MASK, Secrets

if TYPE_CHECKING:
    from pflow.record.runs import RecordedRun

    Values = Mapping[str, Mapping[str, Any]]

MOST_PIPED = 10_000_000
"""The most bytes of piped input that are kept."""

PLACE = ("directory", "flow_directory", "file")
"""The working directory of a run, the one that relative paths in its flow start from, and the flow's file or script."""


class Snapshot:
    """All that a replay needs in addition to the flow. It has no secrets: values from the pipe are masked."""

    def __init__(self, secrets: Secrets | None = None) -> None:
        self.flow_hash = ""
        self.seal: Any = None
        """The seal of the bounds in `place` (pflow.record.journal), read from the file and not checked yet."""
        self.config_overrides: dict[str, dict[str, Any]] = {}
        self.cli_injections: dict[str, Any] = {}
        self.place: dict[str, Any] = {}
        self.piped: dict[str, Any] = {"as": NOTHING, "last": None, "paths": [], "again": []}
        """The piped data: its form (`as`: raw, store or json), the place that the pipe carried (`last`), and the
        `paths` in `cli_injections` that have its values. `again` lists the paths whose values were secret or too large
        to keep, so that a replay needs them from a pipe again.
        """
        self._size = 0
        self._secrets = secrets

    @classmethod
    def of(cls, run: RecordedRun) -> Snapshot | None:
        """Return the snapshot that a run has kept; None if it is missing or damaged."""
        return result_of(lambda: cls._read(run.read_json(SNAPSHOT)), of=UNSOUND, otherwise=None)

    @classmethod
    def _read(cls, members: Any) -> Snapshot:
        snapshot = cls()
        snapshot.seal = members.get("seal")
        snapshot.flow_hash = str(members["flow_hash"])
        snapshot.config_overrides = {id: {**params} for id, params in members["config_overrides"].items()}
        snapshot.cli_injections = {**members["cli_injections"]}
        snapshot.piped |= members.get("piped", {})
        snapshot.place = {name: os.fsdecode(members[name]) for name in PLACE}
        snapshot.place["confined"] = str(members.get("confined", ""))
        snapshot._check_paths()
        return snapshot

    def _check_paths(self) -> None:
        piped = self.piped
        for path in (*self.cli_injections, *filter(None, [piped["last"]])):
            parse_path(path)
        for path in [*piped["paths"], *piped["again"]]:
            self.cli_injections[path]
        if piped["as"] not in (NOTHING, RAW, STORE, "json"):
            raise ValueError(piped["as"])

    def note_inputs(self, wired: WiredFlow, params: Values, data: Values, stored: Mapping[Path, Any]) -> None:
        """Note the values that came from flags, answers and variables: at a replay the variables may have changed.

        `params` and `data` are values by step and name, `stored` are the values that go into the store.
        """
        if wired.flow.dialect == "pipe":
            self._note_flags_of_steps(wired, data)
        for id, values in params.items():
            for name, value in values.items():
                if name != "config":  # a dict of the other params
                    self.override(id, name, value)
        for id, values in data.items():
            for key, value in values.items():
                self.inject((id, key), value)
        for path, value in stored.items():
            self.inject(path, value)
        for id, key, field in environment_params(wired, params):
            if os.environ.get(field.env):
                self.override(id, key, MASK if field.is_secret else from_environment(field))

    def _note_flags_of_steps(self, wired: WiredFlow, data: Values) -> None:
        """Note the constant flags inside pipe syntax that no flag of the run replaces; templates are in the flow."""
        for step in wired.steps.values():
            for key, source in step.params.items():
                if isinstance(source, Constant):
                    self.override(step.id, key, source.value)
            for key in step.step.inputs.keys() - data.get(step.id, {}).keys():
                source = step.sources[key]
                if isinstance(source, Constant):
                    self.inject(self._place_of_flag(step, key), source.value)

    def _place_of_flag(self, step: WiredStep, key: str) -> Path:
        """Return the place of a flag's value in the store: below the step's id if it is for this step alone."""
        field, place = step.interface.reads.get(key), step.data_place(key)
        is_own = not is_stored(step, key) or (field is not None and "explicit" in field.marks)
        return (step.id, key) if is_own or write_path(place) in self.cli_injections else place

    def note_piped(self, wired: WiredFlow, intake: Intake, store: dict[str, Any]) -> None:
        """Note the piped data: raw input, or the keys that the flow may read (`store`) and the first step's read."""
        document = intake.document
        secret = {str(path[0]) for step in wired.steps.values() for path in step.secret_paths()}
        secret |= {str(each.path[0]) for each in wired.inputs.values() if each.secret}
        last = "stdin" if intake.kind == RAW else document.header.get("last")
        if last is not None and _is_pipe_secret(wired):
            secret.add(str(parse_path(last)[0]))
        self.piped |= {"as": "json" if intake.kind == STORE and document.own else intake.kind, "last": last}
        if intake.kind == RAW:
            self._note_piped_value(secret, ("stdin",), document["stdin"], "stdin")
            return
        for key, value in store.items():
            self._note_piped_value(secret, (key,), value, key)
        if last is not None and wired.first_read is not None:
            id, key = wired.first_read
            source = wired.steps[id].sources.get(key)
            if source is not None and source.paths == (parse_path(last),):
                self._note_piped_value(secret, (id, key), find(document, parse_path(last)), str(parse_path(last)[0]))

    def follow(self, other: Snapshot) -> None:
        """Add the values of `other`, the run that is replayed. Raises PflowError (65) if the pipe brings other data."""
        for path in other.piped["paths"] if other.piped["again"] else ():
            if self.cli_injections.get(path) != other.cli_injections[path]:
                what = f"cannot replay the run: '{path}' from the pipe differs from that of the run"
                raise PflowError(what, hint="pflow run begins another run", exit=BAD_DATA)
        self.cli_injections = {**other.cli_injections, **self.cli_injections}
        for id, params in other.config_overrides.items():
            self.config_overrides[id] = {**params, **self.config_overrides.get(id, {})}

    def override(self, step: str, param: str, value: Any) -> None:
        """Note the value of a param, which replaces the flow's."""
        self.config_overrides.setdefault(step, {})[param] = kept(value)

    def inject(self, path: Path, value: Any) -> None:
        """Note a value that is put at a path of the store; it replaces one noted from the pipe."""
        text = write_path(path)
        self.cli_injections[text] = kept(value)
        for name in ("paths", "again"):
            if text in self.piped[name]:
                self.piped[name].remove(text)

    def _note_piped_value(self, secret: set[str], path: Path, value: Any, key: str) -> None:
        """Note a value from the pipe under a key, with its secrets masked.

        Only a digest is noted once the values from the pipe exceed 10 MB. Bytes that are UTF-8 are noted as text.
        """
        shown = MASK if key in secret else _masked(value, secret) if key == "stdin" else value
        shown = self._secrets.without(shown) if self._secrets else shown
        text = write_path(path)
        data = shown if isinstance(shown, bytes) else shown.encode() if isinstance(shown, str) else encode(shown)
        is_kept = self._size + len(data) <= MOST_PIPED
        self._size += len(data) if is_kept else 0
        text_of_bytes = text_or_bytes(shown) if isinstance(shown, bytes) else shown
        digest = {} if is_kept else {"$digest": f"sha256:{bytes_digest(data)}", "size": len(data)}
        self.inject(path, text_of_bytes if is_kept else digest)
        self.piped["paths"].append(text)
        self.piped["again"] += [] if is_kept and shown == value else [text]

    def as_json(self) -> dict[str, Any]:
        """Return the members of its file, in which bytes become {"$bytes": …}."""
        return {
            "flow_hash": self.flow_hash,
            "config_overrides": self.config_overrides,
            "cli_injections": self.cli_injections,
            **({"piped": self.piped} if self.piped["paths"] else {}),
            **{name: each for name, each in self.place.items() if each or name in PLACE},
        }


def place_of(flow: FlowSpec) -> dict[str, Any]:
    """Return the directories and the file in PLACE, and the bounds of the run if it has any."""
    file = os.path.abspath(os.path.join(here(), flow.file)) if flow.file else ""
    place = zip(PLACE, (here(), directory_of(flow), file), strict=True)
    confined = os.environ.get(CONFINED)
    return {name: kept(path) for name, path in place} | ({"confined": confined} if confined else {})


def directory_of(flow: FlowSpec) -> str:
    """Return the absolute path of the directory that a flow's relative paths start from."""
    return here() if flow.directory == "." else os.path.normpath(os.path.join(here(), flow.directory))


def here() -> str:
    """Return the working directory; empty if it is gone."""
    return result_of(os.getcwd, otherwise="")


def environment_params(wired: WiredFlow, given: Values) -> Iterator[tuple[str, str, Field]]:
    """Yield each param that only an environment variable sets: step, name (`inner.param` in a subflow) and field.

    `given` are the params that are set otherwise, by step and name.
    """
    for step in wired.steps.values():
        there = {**step.params, **given.get(step.id, {})}
        yield from ((step.id, name, field) for name, field in own_params(step) if field.env and name not in there)


def own_params(step: WiredStep) -> Iterator[tuple[str, Field]]:
    """Yield the params of a step by name; for a subflow, the params that its steps leave unset, as `inner.param`."""
    if step.subflow is None:
        yield from step.interface.params.items()
        return
    for inner in step.subflow.steps.values():
        yield from ((f"{inner.id}.{name}", field) for name, field in own_params(inner) if name not in inner.params)


def _is_pipe_secret(wired: WiredFlow) -> bool:
    """Return True if the flow reads the piped value as a secret."""
    if wired.first_read is not None and wired.steps[wired.first_read[0]].is_secret(wired.first_read[1]):
        return True
    return any(each.secret and (each.pipe or wired.first_read in each.readers) for each in wired.inputs.values())


def _masked(value: Any, secret: set[str]) -> Any:
    """Mask the secret members of a piped JSON object, whose members become keys of the store."""
    if not isinstance(value, dict):
        return value
    return {key: MASK if key in secret else member for key, member in value.items()}


def kept(value: Any) -> Any:
    """Return a copy that no step can change, with bytes for a path that is not UTF-8."""
    return change_texts(value, path_value)
