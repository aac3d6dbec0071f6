from pocketflow import Node


class Judge(Node):
    """Judge a text.

    Interface:
    - Reads: shared["text"]: str  # what to judge
    - Writes: shared["verdict"]: str [pipe]  # good or bad
    - Actions: good, bad
    """

    def post(self, shared, prepared, done):
        shared["verdict"] = "good" if "please" in shared["text"] else "bad"
        return shared["verdict"]
