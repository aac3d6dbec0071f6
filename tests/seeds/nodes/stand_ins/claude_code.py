"""A stand-in for claude-code, with the keys that seeds 001 and 004 name: its report is what it was told."""

from pflow import Node


class ClaudeCode(Node):
    """Have code written.

    Interface:
    - Reads: shared["prompt"]: str [own]  # what to do
    - Writes: shared["code_report"]: str [pipe]  # what was done
    """

    def post(self, shared, prepared, result):
        shared["code_report"] = f"done: {shared['prompt']}"
