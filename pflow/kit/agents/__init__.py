"""Coding agents as programs: how each is called, run and judged."""
