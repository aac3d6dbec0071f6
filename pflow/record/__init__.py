"""The record of a run: its log, trace, snapshot and journal."""
