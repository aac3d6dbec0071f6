"""Executables that are not nodes: each does one small thing with a store document."""
