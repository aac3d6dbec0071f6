"""The derived snapshot: what a run changes in the params of its flow, and what it puts into the store."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.binding.resolve import from_environment
from pflow.binding.sources import Constant, find
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.reaching import is_stored
from pflow.record.kept import directory_of, here
from pflow.stage.document import NOTHING, RAW, STORE
from pflow.values.jsontext import encode, text_or_bytes
from pflow.values.masks import MASK
from pflow.values.paths import parse_path, write_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pflow.driver.inputs import RunInputs
    from pflow.flow.flow import FlowSpec
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.interface.interface import Item
    from pflow.stage.document import Intake
    from pflow.values.masks import Secrets
    from pflow.values.paths import Path

MOST_PIPED = 10_000_000
"""Bytes of piped input that are kept."""


PLACE = ("directory", "flow_directory", "file", "script")
"""Where a run began, where the relative paths of flows in its flow begin, and the file, or the script, of the flow."""


class Snapshot:
    """With the flow, all that it takes to run a run again. No secret ever gets into it."""

    def __init__(self, secrets: Secrets | None = None) -> None:
        """`secrets` are masked in what comes through the pipe, wherever they stand in it."""
        self.flow_hash = ""
        self.config_overrides: dict[str, dict[str, Any]] = {}
        self.cli_injections: dict[str, Any] = {}
        self.place: dict[str, Any] = {}
        self.piped: dict[str, Any] = {"as": NOTHING, "last": None, "paths": [], "again": []}
        """What came through the pipe: `as` raw, store or json, carrying `last`; which `paths` it is injected at, and
        which of these are to be piped `again`, since they are secret or too large to be kept.
        """
        self._size = 0
        self._secrets = secrets

    def note_inputs(self, inputs: RunInputs) -> None:
        """Note what flags and answers give, and the params of variables, which a later run could not know of."""
        if inputs.wired.flow.dialect == "pipe":
            self._note_flags_of_steps(inputs)
        for id, params in inputs.params.items():
            for name, value in params.items():
                if name != "config":  # which holds the others once more
                    self.override(id, name, value)
        for id, data in inputs.data.items():
            for key, value in data.items():
                self.inject((id, key), value)
        for path, value in inputs.stored().items():
            if path != inputs.piped_path:
                self.inject(path, value)
        for id, key, item in environment_params(inputs.wired, inputs.params):
            if os.environ.get(item.env):
                self.override(id, key, MASK if "secret" in item.marks else from_environment(item))

    def _note_flags_of_steps(self, inputs: RunInputs) -> None:
        """Note the flags inside pipe syntax, where no other stands for them: those with a template are wiring."""
        for step in inputs.wired.steps.values():
            for key, source in step.params.items():
                if isinstance(source, Constant):
                    self.override(step.id, key, source.value)
            for key in step.step.inputs.keys() - inputs.data.get(step.id, {}).keys():
                source = step.sources[key]
                if isinstance(source, Constant):
                    self.inject(self._place_of_flag(step, key), source.value)

    def _place_of_flag(self, step: WiredStep, key: str) -> Path:
        """Where the store gets a flag's value; below the step's id where it counts for this step alone."""
        item, place = step.interface.reads.get(key), step.data_place(key)
        is_own = not is_stored(step, key) or (item is not None and "explicit" in item.marks)
        return (step.id, key) if is_own or write_path(place) in self.cli_injections else place

    def note_place(self, flow: FlowSpec) -> None:
        """Note where this process is, and whose flow it runs."""
        file = os.path.abspath(os.path.join(here(), flow.file)) if flow.file else ""
        place = zip(PLACE, (here(), directory_of(flow), file, flow.script), strict=True)
        self.place = {name: kept(path) for name, path in place}

    def note_piped(self, wired: WiredFlow, intake: Intake, store: dict[str, Any]) -> None:
        """Note raw input; of a store, the keys that the flow may look at (`store`), and what the first step took."""
        document = intake.document
        secret = {str(path[0]) for step in wired.steps.values() for path in step.secret_paths()}
        secret |= {str(each.path[0]) for each in wired.inputs.values() if each.secret}
        last = "stdin" if intake.kind == RAW else document.header.get("last")
        if last is not None and _is_pipe_secret(wired):
            secret.add(str(parse_path(last)[0]))
        self.piped |= {"as": "json" if intake.kind == STORE and document.own else intake.kind, "last": last}
        if intake.kind == RAW:
            self._inject_unless(secret, ("stdin",), document["stdin"], "stdin")
            return
        for key, value in store.items():
            self._inject_unless(secret, (key,), value, key)
        if last is not None and wired.first_read is not None:
            id, key = wired.first_read
            source = wired.steps[id].sources.get(key)
            if source is not None and source.paths == (parse_path(last),):
                self._inject_unless(secret, (id, key), find(document, parse_path(last)), str(parse_path(last)[0]))

    def follow(self, other: Snapshot) -> None:
        """Add what the run had that this one replays. Raises PflowError (65) where another thing came through the pipe
        than what that had.
        """
        for path in other.piped["paths"] if other.piped["again"] else ():
            if self.cli_injections.get(path) != other.cli_injections[path]:
                what = f"cannot replay the run: what comes through the pipe as '{path}' is not what came"
                raise PflowError(what, hint="pflow run begins another run", exit=BAD_DATA)
        self.cli_injections = {**other.cli_injections, **self.cli_injections}
        for id, params in other.config_overrides.items():
            self.config_overrides[id] = {**params, **self.config_overrides.get(id, {})}

    def override(self, step: str, param: str, value: Any) -> None:
        """Note that a param of a step has this value, whatever the flow says."""
        self.config_overrides.setdefault(step, {})[param] = kept(value)

    def inject(self, path: Path, value: Any) -> None:
        """Note that this value is put at a path of the store, in place of what came through the pipe."""
        text = write_path(path)
        self.cli_injections[text] = kept(value)
        for name in ("paths", "again"):
            if text in self.piped[name]:
                self.piped[name].remove(text)

    def _inject_unless(self, secret: set[str], path: Path, value: Any, key: str) -> None:
        """Note what came through the pipe under a key, with the secrets masked."""
        shown = MASK if key in secret else _masked(value, secret) if key == "stdin" else value
        if self._secrets:
            shown = self._secrets.masked(shown)
            shown = MASK if self._secrets.are_in(shown) else shown  # in a key, bytes or a number
        self.inject_piped(path, shown, is_whole=shown == value)

    def inject_piped(self, path: Path, value: Any, *, is_whole: bool = True) -> None:
        """Note what came through the pipe; of what exceeds 10 MB with all that came before it, only the digest.

        Bytes that are UTF-8 are text, as they are in the store. What is not whole is to be piped again.
        """
        text = write_path(path)
        data = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else encode(value)
        is_kept = self._size + len(data) <= MOST_PIPED
        self._size += len(data) if is_kept else 0
        self.inject(path, _as_text(value) if is_kept else _digest(data))
        self.piped["paths"].append(text)
        self.piped["again"] += [] if is_kept and is_whole else [text]

    def as_json(self) -> dict[str, Any]:
        """As RunLog.write_snapshot takes it: there bytes become {"$bytes": …}."""
        return {
            "flow_hash": self.flow_hash,
            "config_overrides": self.config_overrides,
            "cli_injections": self.cli_injections,
            **({"piped": self.piped} if self.piped["paths"] else {}),
            **self.place,
        }


def environment_params(wired: WiredFlow, given: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Item]]:
    """Each param that only a variable sets: its step, its name, as `inner.param` in a flow within, and itself.

    `given` are the params that are set otherwise, by step and name.
    """
    for step in wired.steps.values():
        there = {**step.params, **given.get(step.id, {})}
        yield from ((step.id, name, item) for name, item in own_params(step) if item.env and name not in there)


def own_params(step: WiredStep) -> Iterator[tuple[str, Item]]:
    """The params of a step; of a flow those that its steps do not set."""
    if step.subflow is None:
        yield from step.interface.params.items()
        return
    for inner in step.subflow.steps.values():
        yield from ((f"{inner.id}.{name}", item) for name, item in own_params(inner) if name not in inner.params)


def _digest(data: bytes) -> dict[str, Any]:
    import hashlib

    return {"$digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}


def _as_text(value: Any) -> Any:
    return text_or_bytes(value) if isinstance(value, bytes) else value


def _is_pipe_secret(wired: WiredFlow) -> bool:
    """Whether what the pipe carries is taken as a secret."""
    if wired.first_read is not None and wired.steps[wired.first_read[0]].is_secret(wired.first_read[1]):
        return True
    return any(each.secret and each.pipe for each in wired.inputs.values())


def _masked(value: Any, secret: set[str]) -> Any:
    """What a pipe carries: a user's own object holds once more what its members brought in as keys."""
    if not isinstance(value, dict):
        return value
    return {key: MASK if key in secret else member for key, member in value.items()}


def kept(value: Any) -> Any:
    """A copy, which no step can change; a path whose bytes are not UTF-8 as those bytes."""
    if isinstance(value, list):
        return [kept(item) for item in value]
    if isinstance(value, dict):
        return {key: kept(item) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return os.fsencode(value)
    return value
