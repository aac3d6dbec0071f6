"""A plan in front of a person: shown, edited, offered, saved, run."""
