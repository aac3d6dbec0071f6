"""A run that goes on: what is restored of it, what has to be decided first, and what has changed since it began."""
