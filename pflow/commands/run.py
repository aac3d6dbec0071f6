"""pflow run: Run a flow as a stage of a pipe."""

# There is no command object: click would double the time of a run, so the driver parses the words (see _dispatch.py).
