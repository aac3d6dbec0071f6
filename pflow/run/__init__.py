"""A flow in motion: the engine on pocketflow, the trace, the log of a run."""
