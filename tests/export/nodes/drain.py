from pflow import Node


class Drain(Node):
    """Take every item off a list of its own.

    Interface:
    - Reads: shared["items"]: list  # which
    - Reads: shared["note"]: str = null  # what to say of it
    - Writes: shared["drained"]: any  # how many there were, and the note
    """

    def post(self, shared, prepared, done):
        count = 0
        while shared["items"]:
            shared["items"].pop()
            count += 1
        shared["drained"] = {"count": count, "note": shared.get("note")}
