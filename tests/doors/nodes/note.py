"""A node with an interface, whose runs are counted."""

import os
import signal
from pathlib import Path

from pflow import Node, PflowError


class Note(Node):
    """Note that a step runs, and say what it reads.

    Interface:
    - Reads: shared["text"]: any [pipe]  # what to note
    - Reads: shared["tone"]: str = "plain" [own]  # how
    - Reads: shared["extra"]: int = 0  # a number
    - Writes: shared["noted"]: any [pipe]  # all that it reads
    - Writes: shared["size"]: int  # the length of it
    - Params: me: str = "note"  # the name of its step
    - Params: keep: bool = false  # write the text alone, as it is
    - Params: fail: str = ""  # fail, with this word
    - Params: key: str = "" [secret] [env DOORS_KEY]  # a secret
    - Effects: writes files
    - Repeats: yes
    """

    def prep(self, shared):
        return shared["text"], shared["tone"], shared["extra"]

    def exec(self, reads):
        halt = Path("../halt")
        if halt.exists() and halt.read_text() == self.params["me"]:
            halt.unlink()
            os.killpg(0, signal.SIGKILL)
        with open("../ran", "a") as ran:
            ran.write(f"{self.params['me']}\n")
        if self.params["fail"] == "bug":
            raise ValueError(f"a word and {self.params['key']}")
        if self.params["fail"] not in ("", "tell"):
            raise PflowError(f"cannot note: {self.params['fail']}", exit=66)
        if self.params["fail"] == "tell":
            raise PflowError(f"cannot note: {self.params['key']}", exit=77)
        return reads[0] if self.params["keep"] else f"{reads[0]!r}, {reads[1]}, {reads[2]!r}"

    def post(self, shared, reads, noted):
        shared["noted"], shared["size"] = noted, len(str(noted))
