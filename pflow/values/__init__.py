"""JSON text, paths, templates, types, digests and masks: values, strictly."""
