"""Values: JSON text, paths, templates, types, digests and secrets; and the usage of models, with its budget."""
