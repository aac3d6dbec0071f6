"""Saved flows: kept, listed, found by what they are for."""
