"""Names, text that may be shown, and the words for what models took."""
