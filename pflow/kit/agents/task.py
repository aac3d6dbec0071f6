"""What an agent is told, what it answers, what comes of it, and what there is to know of an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pflow.errors import PflowError


@dataclass(frozen=True)
class AgentTask:
    """What is to be done, where, with what rights and within which limits: seconds, turns, dollars."""

    prompt: str
    directory: str = "."
    allowed_tools: Sequence[str] = ()
    model: str | None = None
    max_turns: int | None = None
    max_budget: float | None = None
    time_limit: float | None = None
    expect: Sequence[str] = ()
    load_settings: bool = False


@dataclass
class AgentReply:
    """What an agent said: its report, and why the work is not done where it is not; its session; `usage` as a node
    writes it.
    """

    report: str = ""
    session: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    failure: PflowError | None = None


@dataclass(frozen=True)
class AgentResult:
    """What an agent did."""

    report: str
    session: str
    usage: dict[str, Any]
    changed_files: list[str | bytes]


@dataclass(frozen=True)
class Agent:
    """A program that is an agent: it gets its prompt on stdin, and writes what `read` takes, in lines.

    `secrets` are the variables that hold its keys, `variables` those that it is to have.
    """

    program: str
    how_to_get: str
    secrets: Sequence[str]
    variables: Mapping[str, str]
    words: Callable[[AgentTask], list[str]]
    prompt: Callable[[str], str]
    read: Callable[[Iterable[bytes]], AgentReply | None]
    """What it answered, None for no whole answer. A `failure` that `ends_run` is of the budget that it was given."""
