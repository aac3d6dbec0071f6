from pflow import Node, flow_safe


@flow_safe
class CountWords(Node):
    """Count the words of a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Writes: shared["words"]: int [pipe]  # how many words it has
    """

    version = "1.0.0"

    def prep(self, shared):
        return len(shared["text"].split())

    def post(self, shared, found, _):
        shared["words"] = found
