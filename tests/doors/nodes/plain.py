"""A node of plain pocketflow, whose interface is read off its code."""

from pocketflow import Node


class Plain(Node):
    def prep(self, shared):
        return shared["draft"]

    def exec(self, draft):
        with open("../ran", "a") as ran:
            ran.write(f"{self.params.get('me')}\n")
        return f"<{draft}{self.params.get('draft', '')}>"

    def post(self, shared, draft, done):
        shared["plainly"] = done
