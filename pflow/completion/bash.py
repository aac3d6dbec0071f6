"""What completes pflow in bash: one file a command."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.usage.usage import Usage


def files(usages: list[Usage]) -> dict[str, str]:
    """The files by name, for these commands."""
    return {}
