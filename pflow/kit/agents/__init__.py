"""Coding agents as programs: one table of them, and how one is run and judged."""
