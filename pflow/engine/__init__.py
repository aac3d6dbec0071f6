"""The steps of a flow in motion: edges, loops, forks, batches and subflows, in one process or in several."""
