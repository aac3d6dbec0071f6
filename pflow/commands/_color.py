"""The --color of the commands that print for people."""

from __future__ import annotations

import click

from pflow.terminal.colour import AUTO, WHEN

color_option = click.option(
    "--color",
    "when",
    type=click.Choice(WHEN),
    default=AUTO,
    help="Print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set.",
)
"""Gives a command `when`, for `pflow.terminal.colour.colour_of`."""
