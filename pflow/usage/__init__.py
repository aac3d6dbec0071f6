"""What a person can type after a command's name: declared once, for its help, its man page and its completions."""

from __future__ import annotations
