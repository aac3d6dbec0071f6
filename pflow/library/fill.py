"""Filling the inputs of a saved flow from a sentence."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def fill(inputs: dict[str, dict[str, Any]], sentence: str) -> dict[str, Any]:
    """The values that the sentence names for these inputs (the IR's member), in their types; no guesses."""
    return {}
