"""Running a click command with our exit codes and our one line of error."""

from __future__ import annotations

import click

from pflow.errors import USAGE, PflowError


def run_click(command: click.Command, name: str, words: list[str]) -> int:
    """Run the command. Raises PflowError for wrong flags (2)."""
    try:
        result = command.main(args=words, prog_name=f"pflow {name}", standalone_mode=False)
    except click.UsageError as error:
        raise PflowError(
            f"cannot run {name}: {error.format_message()}", hint=f"pflow {name} --help", exit=USAGE
        ) from None
    return result if isinstance(result, int) else 0
