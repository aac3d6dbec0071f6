"""A node to start from, in several languages: the .txt files are its text, with @name@ and @Class@ to be filled in."""

from __future__ import annotations
