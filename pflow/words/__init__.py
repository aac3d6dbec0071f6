"""Names, printable text, the usage of models and its budget."""
