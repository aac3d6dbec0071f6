"""HTML pages: a run as one file with its trace in it, and the list of runs in the same style."""
