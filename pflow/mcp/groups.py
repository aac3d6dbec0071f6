"""What went wrong in a group of tasks: the one exception that matters."""

from __future__ import annotations


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first exception of a group, however deep the groups are in one another."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first
