"""Putting man pages and completions where man and the shells look, and taking exactly that away again."""
