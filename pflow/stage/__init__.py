"""One node as a process: it loads nothing that only the driver needs."""
