"""pflow run: Run a flow as a stage of a pipe."""


def main(words: list[str]) -> int:
    """Run the flow that the words name. click would double the time of a run, so the driver parses the words itself."""
    from pflow.driver.driver import Driver

    return Driver().run(words)
