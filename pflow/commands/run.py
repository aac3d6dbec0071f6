"""pflow run: run a flow as a stage of a pipe."""

from __future__ import annotations


def main(words: list[str]) -> int:
    """Run the flow that the words name. It takes its words apart itself: click alone would double the time it takes."""
    from pflow.driver.driver import Driver

    return Driver().run(words)
