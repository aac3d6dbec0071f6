"""Running the steps of a flow: edges, loops, forks, batches and subflows, in one process or several."""
