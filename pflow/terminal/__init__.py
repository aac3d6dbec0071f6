"""The terminal: colour, columns, messages and questions."""
