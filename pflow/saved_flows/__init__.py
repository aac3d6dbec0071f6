"""Saved flows: kept, listed, found by their purpose."""
