"""Executables that are not nodes: each works on a store document and does one small thing to it."""
