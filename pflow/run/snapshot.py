"""The derived snapshot: what this run changes in the params of its flow, and what it puts into the store."""

from __future__ import annotations

import os

from pflow.jsontext import encode
from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.paths import Path

SECRET = "***"
MOST_PIPED = 10_000_000
"""Bytes of piped input that are kept."""


class Snapshot:
    """With the flow, all that it takes to run a run again. No secret ever gets into it."""

    def __init__(self) -> None:
        self.config_overrides: dict[str, dict[str, Any]] = {}
        self.cli_injections: dict[str, Any] = {}
        self._piped = 0

    def override(self, step: str, param: str, value: Any, *, secret: bool = False) -> None:
        """Note that a param of a step has this value, whatever the flow says: of a flag, a variable, a choice."""
        self.config_overrides.setdefault(step, {})[param] = SECRET if secret else _kept(value)

    def inject(self, path: Path | str, value: Any, *, secret: bool = False) -> None:
        """Note that this value is put at a path of the store: of a flag, an answer, what a person typed."""
        self.cli_injections[_text(path)] = SECRET if secret else _kept(value)

    def inject_piped(self, path: Path | str, value: Any) -> None:
        """Note what came through the pipe; of what exceeds 10 MB with all that came before it, only the digest.

        Bytes that are UTF-8 are text, as they are in the store.
        """
        data = _bytes(value)
        if self._piped + len(data) > MOST_PIPED:
            self.cli_injections[_text(path)] = {"$digest": f"sha256:{_digest(data)}", "size": len(data)}
        else:
            self._piped += len(data)
            self.inject(path, _as_stored(value))

    def as_json(self, flow_hash: str) -> dict[str, Any]:
        """As RunLog.write_snapshot takes it: there bytes become {"$bytes": …}."""
        return {
            "flow_hash": flow_hash,
            "config_overrides": self.config_overrides,
            "cli_injections": self.cli_injections,
        }


def _text(path: Path | str) -> str:
    return path if isinstance(path, str) else write_path(path)


def _kept(value: Any) -> Any:
    """A copy, which no step can change; a path whose bytes are not UTF-8 as those bytes."""
    if isinstance(value, list):
        return [_kept(item) for item in value]
    if isinstance(value, dict):
        return {key: _kept(item) for key, item in value.items()}
    if not isinstance(value, str) or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return os.fsencode(value)
    return value


def _as_stored(value: Any) -> Any:
    try:
        return str(value, "utf-8") if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _bytes(value: Any) -> bytes:
    """What is digested: bytes as they are, text in UTF-8, anything else as its JSON text."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else encode(value)


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()
