from pocketflow import Node


class Count(Node):
    """Count up.

    Interface:
    - Reads: shared["count"]: int = 0  # so far
    - Writes: shared["count"]: int  # one more
    - Params: limit: int = 3  # where to stop
    - Actions: default, again  # again below the limit
    """

    def prep(self, shared):
        return shared["count"]

    def exec(self, count):
        return count + 1

    def post(self, shared, before, count):
        shared["count"] = count
        return "again" if count < self.params["limit"] else None
