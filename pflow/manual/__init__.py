"""Man pages, made of how each command is used."""

from __future__ import annotations
