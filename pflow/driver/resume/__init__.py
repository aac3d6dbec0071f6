"""A run that is resumed."""
