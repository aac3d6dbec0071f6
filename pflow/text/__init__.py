"""Names, and text that is safe to print."""
