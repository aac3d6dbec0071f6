"""A run as one HTML file, which holds the trace; the list of runs in the same dress."""
