"""Running a click command with our exit codes, our one line of error and our stdout."""

from __future__ import annotations

import click

from pflow.errors import USAGE, PflowError
from pflow.stage.stdout import write_pieces


def run_click(command: click.Command, name: str, words: list[str]) -> int:
    """Run the command. Raises PflowError for wrong flags (2) and for what cannot be printed (73)."""
    flags = words[: (*words, "--").index("--")]
    if "--help" in flags or "-h" in flags:
        context = click.Context(command, info_name=f"pflow {name}", **command.context_settings)
        write_pieces(1, [context.get_help().encode() + b"\n"])
        return 0
    try:
        with command.make_context(f"pflow {name}", words) as context:
            result = command.invoke(context)
    except click.UsageError as error:
        raise PflowError(
            f"cannot run {name}: {error.format_message()}", hint=f"pflow {name} --help", exit=USAGE
        ) from None
    return result if isinstance(result, int) else 0
