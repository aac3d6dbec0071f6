"""The man pages of section 1: one for each executable, and for each command of the driver."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.usage.usage import Usage


def files(usages: list[Usage]) -> dict[str, str]:
    """The pages by name, for these commands."""
    return {}
