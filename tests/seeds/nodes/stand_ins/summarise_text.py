"""A stand-in for seed 003's summarise-text, whose `prep` alone it prints."""

from pflow import Node


class SummariseText(Node):
    """Summarise a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # what to summarise
    - Writes: shared["summary"]: str [pipe]  # the gist of it
    - Params: temperature: float = 0.7  # how freely the model chooses its words
    """

    version = "2.1.0"

    def prep(self, shared):
        return shared["text"]  # Natural interface - but wait, where's "text"?

    def exec(self, text):
        return "Summary: The video discusses..."

    def post(self, shared, text, summary):
        shared["summary"] = summary
