from pflow import Node


class Say(Node):
    """Say a value.

    Interface:
    - Reads: shared["value"]: any = null [pipe]  # what
    - Reads: shared["tone"]: str = "plain" [own]  # how
    - Writes: shared["said"]: any [pipe]  # what was said
    - Params: loud: bool = false
    """

    def post(self, shared, prepared, done):
        value = shared.get("value")
        shared["said"] = {"value": value, "tone": shared["tone"]} if not self.params["loud"] else str(value).upper()
