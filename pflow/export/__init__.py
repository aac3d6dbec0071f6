"""A flow in other languages: one file a target."""
