"""A command's help, as text."""

from __future__ import annotations

from pflow.errors import EXIT_CODES
from pflow.help.usage import TITLES, Flag, Usage

_COLUMN = 28


def help_text(usage: Usage) -> str:
    """The help of a node or tool: its flags in their groups, what it writes, its actions, effects and exit codes."""
    head = "\n".join(("Usage: " if n == 0 else "       ") + line for n, line in enumerate(usage.synopsis))
    parts = [f"{head}\n\n{usage.summary}\n"]
    if usage.description:
        parts.append(f"{usage.description}\n")
    parts += [group_text(TITLES[group], list(map(flag_row, flags))) for group, flags in usage.groups()]
    parts.append(group_text("Writes", usage.writes))
    parts += [f"{note}\n" for note in usage.notes]
    if usage.actions:
        parts.append(f"Actions: {usage.actions}\n")
    if usage.effects is not None:
        parts.append(f"Effects: {', '.join(usage.effects) or 'none'}\n")
    if usage.examples:
        parts.append("Examples:\n" + "\n".join([f"  {line}" for line in usage.examples]) + "\n")
    parts.append(exit_codes_text())
    return "\n".join(part for part in parts if part)


def flag_row(flag: Flag) -> tuple[str, str]:
    names = ", ".join(flag.names) if flag.is_typed else flag.names[0].removeprefix("--").replace("-", "_")
    return names + (f" {flag.metavar}" if flag.metavar else ""), flag.text


def group_text(title: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    lines = [title + ":"]
    for left, right in rows:
        if len(left) > _COLUMN - 3:
            lines += [f"  {left}", f"  {'':{_COLUMN}}{right}"]
        else:
            lines.append(f"  {left:{_COLUMN}}{right}")
    return "\n".join(lines) + "\n"


def exit_codes_text() -> str:
    import textwrap

    codes = [f"{code} {words}" for code, words in EXIT_CODES.items()]
    return (
        "Exit codes: "
        + textwrap.fill(" · ".join([*codes, "128+n ended by signal n"]), 96, subsequent_indent="  ")
        + "\n"
    )
