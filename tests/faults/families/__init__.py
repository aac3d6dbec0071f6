"""Families of faults, one a file: a docstring, NEEDS, WEIGHT (points of 2,000) and points(share, seed)."""
