"""The help that a command, a tool or a node prints."""

from pflow.help.usage import COMMON, GROUPS, TITLES, CommandUsage, metavar, text_of, words_of
from pflow.interface.interface import Item

_COLUMN = 28


def help_text(usage: CommandUsage, *, is_whole: bool = True) -> str:
    """Write the help: flags by group, writes, actions, effects. The short form has only common flags with letters."""
    parts = [
        "\n".join(("Usage: " if n == 0 else "       ") + line for n, line in enumerate(usage.synopsis)),
        usage.summary,
        usage.description * is_whole,
        *(_group_text(TITLES[group], list(map(flag_row, flags))) for group, flags in usage.groups() if group != COMMON),
        _common_text([flag for flag in usage.flags if GROUPS[flag.kind] == COMMON], is_whole=is_whole),
        _group_text("Writes", usage.writes) if usage.writes else "",
        *usage.notes,
        f"Actions: {usage.actions}" if usage.actions and is_whole else "",
        "" if usage.effects is None or not is_whole else f"Effects: {', '.join(usage.effects) or 'none'}",
        f"Repeats: {usage.repeats}" if usage.repeats and is_whole else "",
        "\n  ".join(["Examples:", *usage.examples]) if usage.examples else "",
        "Exit codes: pflow help exit, or pflow-exit(7)",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _common_text(flags: list[Item], *, is_whole: bool) -> str:
    import textwrap

    shown = [flag for flag in flags if is_whole or flag.letter]
    rows = [_group_text(TITLES[COMMON], list(map(flag_row, shown)))] if shown else []
    if rest := " ".join(flag.names[-1] for flag in flags if flag not in shown):
        rest = f"{rest} (--help -v describes them)"
        rows.append(textwrap.indent(textwrap.fill(rest, 94, break_on_hyphens=False), "  "))
    return "\n".join(rows)


def flag_row(flag: Item) -> tuple[str, str]:
    name = metavar(flag)
    value = f" {name}" if words_of(flag) else f"[={name}]"
    return ", ".join(flag.names) + value * bool(name), text_of(flag)


def _group_text(title: str, rows: list[tuple[str, str]]) -> str:
    lines = [title + ":"]
    for left, right in rows:
        if len(left) > _COLUMN - 3:
            lines += [f"  {left}", f"  {'':{_COLUMN}}{right}"]
        else:
            lines.append(f"  {left:{_COLUMN}}{right}")
    return "\n".join(lines)
