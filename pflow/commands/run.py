"""pflow run: Run a flow as a stage of a pipe."""

# click would double the time of a run, so the driver parses the words itself: see _dispatch.py.
