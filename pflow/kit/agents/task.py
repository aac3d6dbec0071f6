"""An agent's task, reply and result, and the description of an agent's program."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pflow.errors import PflowError


@dataclass(frozen=True)
class AgentTask:
    """The work to do, where, with which rights and limits: seconds, turns, dollars."""

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
    """An agent's answer: its report, its session, `usage` as a node writes it, and the failure if it is not done.

    `changed_files` are known once its work is finished.
    """

    report: str = ""
    session: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    failure: PflowError | None = None
    changed_files: list[str | bytes] = field(default_factory=list)


@dataclass(frozen=True)
class Agent:
    """A program that is an agent: it reads its prompt from stdin, and `read` parses the lines that it prints.

    `secrets` are the variables with its keys, `variables` are set for it.
    """

    program: str
    how_to_get: str
    secrets: Sequence[str]
    variables: Mapping[str, str]
    words: Callable[[AgentTask], list[str]]
    prompt: Callable[[str], str]
    read: Callable[[Iterable[bytes]], AgentReply | None]
    """Parses the reply, None if it is not whole. A `failure` that `ends_run` means that its budget is used up."""
