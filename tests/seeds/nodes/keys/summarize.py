"""Seed 000's node, as it is printed."""

from pocketflow import Node


def call_llm(text):
    return f"Summary of {text}"


class Summarize(Node):
    def prep(self, shared):
        key = self.params["input_key"]
        return shared[key]

    def exec(self, text):
        return call_llm(text)

    def post(self, shared, _, summary):
        key = self.params["output_key"]
        shared[key] = summary
