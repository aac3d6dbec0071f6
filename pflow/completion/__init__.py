"""Completions for bash, zsh and fish, made of how each command is used. On TAB no Python runs: only the shell."""

from __future__ import annotations
