import pathlib

from pocketflow import Node


class Flaky(Node):
    """Fail at first.

    Interface:
    - Writes: shared["tries"]: int [pipe]  # how many it took
    """

    def exec(self, prepared):
        seen = pathlib.Path("seen")
        seen.write_text((seen.read_text() if seen.exists() else "") + "x")
        if len(seen.read_text()) < 3:
            raise RuntimeError("not yet")
        return len(seen.read_text())

    def post(self, shared, prepared, tries):
        shared["tries"] = tries
