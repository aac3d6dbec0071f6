"""Pipe syntax: a flow as a person writes it in a line, read and written."""
