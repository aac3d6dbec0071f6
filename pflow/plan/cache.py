"""Plans that were made, kept: the same sentence for the same nodes, flows and model gives the same flow."""

from __future__ import annotations

import os

from pflow.xdg import cache_directory, read_cached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FORM = "plan 1"
_MOST = 500
"""Plans that are kept; the oldest go first."""


class Kept:
    """The place of one plan: what it was made of decides it."""

    def __init__(self, sentence: str, nodes: str, model: str, version: int) -> None:
        self._about = {"pflow": _FORM, "sentence": sentence, "nodes": nodes, "model": model, "prompt": version}
        folder = cache_directory()
        self._folder = os.path.join(folder, "plans") if folder else None

    @property
    def file(self) -> str | None:
        """None where the environment names no place."""
        import hashlib

        from pflow.jsontext import encode

        if self._folder is None:
            return None
        return os.path.join(self._folder, hashlib.sha256(encode(self._about)).hexdigest() + ".json")

    def read(self) -> dict[str, Any] | None:
        """The plan's IR; None where there is none, or what is there is not ours or not whole."""
        from pflow.jsontext import decode

        file = self.file
        data = read_cached(file) if file else None
        if not data:
            return None
        try:
            value = decode(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or {key: value.get(key) for key in self._about} != self._about:
            return None
        ir = value.get("ir")
        return ir if isinstance(ir, dict) else None

    def write(self, ir: dict[str, Any]) -> None:
        """Keep a plan, where that can be done."""
        from pflow.atomic import replace
        from pflow.errors import PflowError
        from pflow.flow.jsonfile import write_json

        file = self.file
        if file is None or self._folder is None:
            return
        try:
            data = write_json({**self._about, "ir": ir}).encode()
            os.makedirs(self._folder, 0o700, exist_ok=True)
            replace(file, data, mode=0o600)
            _prune(self._folder)
        except (OSError, UnicodeEncodeError, PflowError):
            return


def _prune(folder: str) -> None:
    with os.scandir(folder) as listed:
        files = [(each.stat(follow_symlinks=False).st_mtime_ns, each.path) for each in listed if _is_plan(each.name)]
    for _, path in sorted(files)[: max(len(files) - _MOST, 0)]:
        try:
            os.unlink(path)
        except OSError:
            continue


def _is_plan(name: str) -> bool:
    return name.endswith(".json") and len(name) == 64 + len(".json")
