from pocketflow import AsyncNode


class Slow(AsyncNode):
    """Double a number, some time later.

    Interface:
    - Reads: shared["number"]: int [pipe]  # which
    - Writes: shared["double"]: int [pipe]  # twice that
    """

    async def prep_async(self, shared):
        return shared["number"]

    async def exec_async(self, number):
        return 2 * number

    async def post_async(self, shared, number, double):
        shared["double"] = double
