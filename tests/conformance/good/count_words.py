"""A node as a class."""

from pflow import Node, flow_safe


@flow_safe
class CountWords(Node):
    """Count the words of a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Reads: shared["weights"]: dict{a: int, b: float} = null  # what is not used
    - Writes: shared["words"]: int [pipe]  # how many words it has
    - Writes: shared["kind"]: short|long  # whether there are many
    - Params: minimum: int = 1  # letters that make a word
    - Params: loud: bool = false  # count them twice
    - Actions: default, none  # none when there are no words
    """

    version = "2.0.0"

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        count = sum(len(word) >= self.params["minimum"] for word in text.split())
        return count * 2 if self.params["loud"] else count

    def post(self, shared, text, words):
        shared["words"] = words
        shared["kind"] = "long" if words > 9 else "short"
        return "default" if words else "none"
