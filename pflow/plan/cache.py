"""Plans that were made: the same sentence for the same nodes, flows and model gives the same flow."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pflow.atomic import cache_directory, read_cached, replace
from pflow.errors import PflowError
from pflow.flow.load import write_json
from pflow.jsontext import decode, encode

_FORM = "plan 1"
_MOST = 500
"""Plans that are kept; the oldest go first."""


class CachedPlan:
    """The place of one plan, by what it was made of: `blocks` is the digest of the nodes and saved flows."""

    def __init__(self, sentence: str, blocks: str, model: str, prompt: int) -> None:
        self._made_of = {"pflow": _FORM, "sentence": sentence, "nodes": blocks, "model": model, "prompt": prompt}
        folder = cache_directory()
        name = hashlib.sha256(encode(self._made_of)).hexdigest() + ".json"
        self.file = Path(folder, "plans", name) if folder else None
        """None where the environment names no cache."""

    def read(self) -> dict[str, Any] | None:
        """The plan's IR; None where the file is missing, damaged or somebody else's."""
        data = read_cached(str(self.file)) if self.file else None
        try:
            value = decode(data) if data else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or {key: value.get(key) for key in self._made_of} != self._made_of:
            return None
        ir = value.get("ir")
        return ir if isinstance(ir, dict) else None

    def write(self, ir: dict[str, Any]) -> None:
        """Keep a plan. A cache that cannot be written is left alone."""
        if self.file is None:
            return
        try:
            data = write_json({**self._made_of, "ir": ir}).encode()
            self.file.parent.mkdir(0o700, parents=True, exist_ok=True)
            replace(str(self.file), data, mode=0o600)
            _prune(self.file.parent)
        except (OSError, UnicodeEncodeError, PflowError):
            return


def _prune(folder: Path) -> None:
    files = [file for file in folder.glob("*.json") if len(file.stem) == 64]
    for file in sorted(files, key=lambda file: file.lstat().st_mtime_ns)[: max(len(files) - _MOST, 0)]:
        file.unlink(missing_ok=True)
