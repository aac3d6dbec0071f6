"""Completion of commands, flags and values."""
