"""A node of seed 002's form: it finds its keys through its params."""

from pocketflow import Node


class Bound(Node):
    """Fetch a transcript, in prose."""

    def prep(self, shared):
        return shared[self.params["input_bindings"]["url"]]

    def exec(self, url):
        return f"{url} in {self.params['config']['language']}"

    def post(self, shared, url, transcript):
        shared[self.params["output_bindings"]["transcript"]] = transcript
