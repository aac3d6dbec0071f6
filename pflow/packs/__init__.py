"""Packs of nodes and flows from elsewhere: fetched, shown, pinned, compared and removed."""
