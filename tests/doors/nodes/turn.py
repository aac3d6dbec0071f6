"""A node that chooses an edge."""

from pflow import Node


class Turn(Node):
    """Lengthen a text, and go round until it is long enough.

    Interface:
    - Reads: shared["text"]: any [pipe]  # what to lengthen
    - Writes: shared["turned"]: str [pipe]  # the same, longer
    - Params: me: str = "turn"  # the name of its step
    - Params: until: int = 0  # the length
    - Actions: default, again
    - Effects: writes files
    - Repeats: yes
    """

    def exec(self, prepared):
        with open("../ran", "a") as ran:
            ran.write(f"{self.params['me']}\n")

    def post(self, shared, prepared, done):
        shared["turned"] = f"{shared['text']}..."
        return "again" if len(shared["turned"]) < self.params["until"] else None
