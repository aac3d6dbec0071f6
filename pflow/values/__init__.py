"""Values: JSON text, paths, templates, types, digests and secrets."""
