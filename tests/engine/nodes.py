"""Nodes that the engine's tests run, in a directory of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.catalog.find import forget_types

_HAND_ON = '''
        """Hand a value on.

        Interface:
        - Reads: shared["{read}"]: {type} [pipe]  # {what}
        - Writes: shared["{write}"]: {type} [pipe]  # the same
        """

        def post(self, shared, prepared, result):
            shared["{write}"] = shared["{read}"]
    '''

NODES = {
    "count": '''
        """Add one.

        Interface:
        - Reads: shared["n"]: int = 0  # so far
        - Writes: shared["n"]: int  # one more
        - Params: by: int = 1  # how many
        - Params: enough: int = null  # from here on the action is done
        - Actions: default, done
        """

        def post(self, shared, prepared, result):
            shared["n"] = shared["n"] + self.params["by"]
            return "done" if self.params["enough"] and shared["n"] >= self.params["enough"] else None
    ''',
    "echo": _HAND_ON.format(read="value", write="echoed", type="any", what="any value"),
    "text": _HAND_ON.format(read="text", write="out", type="str", what="a text"),
    "fail": '''
        """Fail.

        Interface:
        - Reads: shared["unless"]: any = null  # the value that is taken as it is
        - Writes: shared["passed"]: any  # it
        - Params: exit: int = 1  # the exit code
        - Params: message: str = "cannot do it"  # why
        """

        def post(self, shared, prepared, result):
            from pflow.errors import PflowError

            if shared.get("unless") is None or shared.get("unless") == "bad":
                raise PflowError(self.params["message"], exit=self.params["exit"])
            shared["passed"] = shared["unless"]
    ''',
    "bill": '''
        """Take what it costs, a cent or nobody knows what.

        Interface:
        - Reads: shared["cost"]: any = 0.01 [pipe]  # it, and a failure where it is a text
        - Writes: shared["usage"]: dict [pipe]  # the bill
        """

        def prep(self, shared):
            return shared["cost"]

        def exec(self, cost):
            from pflow.errors import PflowError

            if isinstance(cost, str):
                error = PflowError(cost)
                error.usage = {"model": "m", "cost": 0.01}
                raise error
            return {"model": "m", "cost": cost}

        def post(self, shared, prepared, bill):
            shared["usage"] = bill
    ''',
    "branch": '''
        """Return an action.

        Interface:
        - Reads: shared["action"]: any = "default"  # it
        - Actions: default, left, right
        """

        def post(self, shared, prepared, result):
            return shared["action"]
    ''',
    "wait_for": '''
        """Wait until a file is there.

        Interface:
        - Reads: shared["file"]: path [explicit]  # the file
        - Writes: shared["seen"]: bool  # true
        - Params: touch: path = null  # a file to make first
        - Effects: reads files
        """

        def post(self, shared, prepared, result):
            import os, time
            if self.params["touch"]:
                open(self.params["touch"], "w").close()
            while not os.path.exists(shared["file"]):
                time.sleep(0.005)
            shared["seen"] = True
    ''',
}


@pytest.fixture(autouse=True)
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that PFLOW_NODES names, with the nodes above."""
    folder = tmp_path / "nodes"
    folder.mkdir()
    for name, body in NODES.items():
        title = "".join(part.title() for part in name.split("_"))
        (folder / f"{name}.py").write_text(f"from pflow import Node\n\n\nclass {title}(Node):{_dedented(body)}")
    monkeypatch.setenv("PFLOW_NODES", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    forget_types()
    return folder


def _dedented(body: str) -> str:
    return "\n".join(line[4:] if line.startswith("        ") else line for line in body.splitlines()) + "\n"
