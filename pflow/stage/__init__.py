"""One node as a process: it loads nothing that only the driver needs."""

from pflow import __version__

WRITER = f"pflow-shell {__version__}"
VERSION = 1
"""The writer and the version of the store documents that stages exchange."""
