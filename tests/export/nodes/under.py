"""A node whose code does not show what it writes."""

from pocketflow import Node


class Under(Node):
    """Put a word under the name that a param says."""

    def post(self, shared, prepared, done):
        shared[self.params.get("name", "word")] = "under"
