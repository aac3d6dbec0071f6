# Breaks: isolation

import pocketflow


class LooksAround(pocketflow.Node):
    """Count the words of a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Writes: shared["words"]: int [pipe]  # how many words it has
    """

    def prep(self, shared):
        shared.get("verbosity")
        return shared["text"]

    def post(self, shared, text, nothing):
        shared["words"] = len(text.split())
