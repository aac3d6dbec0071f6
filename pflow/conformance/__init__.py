"""Holding a node in any language to what DESIGN.md asks of it: run as its users run it, one check after another."""
