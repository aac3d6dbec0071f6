"""Putting man pages and completions where the shells look, and taking exactly that away again."""

from __future__ import annotations
