"""Completion: what may stand at the cursor of a command line, asked by a shim in each shell."""
