"""Running a stage in a child process of the test: what it prints and how it ends."""

import json
import os
import stat
import tempfile
import traceback
from typing import NamedTuple

from pflow.stage.stage import Stage
from pflow.stage.visit import NodeRunner, Visit


class Ended(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def header(self):
        first_line = self.out.partition(b"\n")[0]
        return json.loads(first_line.removesuffix(b",") + b"}")["$pflow"]

    @property
    def store(self):
        return {key: value for key, value in json.loads(self.out).items() if key != "$pflow"}


def run_node(node, store, *, retries=None, wait=0, **more):
    """Run a node as stages and steps do; return its action."""
    return NodeRunner().try_node(node, store, Visit(), retries=retries, wait=wait, **more)


def run(file: str | None, words: list[str], stdin: bytes | None = None, name: str = "echo") -> Ended:
    """Run a stage in a child process that has its own directory; without `stdin` there is none."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, "." + each) for each in ("in", "out", "err")]
        with open(paths[0], "wb") as source:
            source.write(stdin or b"")
        pid = os.fork()
        if pid == 0:
            _be_the_stage(file, name, words, folder, paths, has_stdin=stdin is not None)
        status = os.waitpid(pid, 0)[1]
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        with open(paths[1], "rb") as out, open(paths[2], encoding="utf-8") as err:
            return Ended(code, out.read(), err.read())


def _be_the_stage(file, name, words, folder, paths, *, has_stdin):
    code = 99
    try:
        os.chdir(folder)
        for fd, path in enumerate([paths[0] if has_stdin else os.devnull, *paths[1:]]):
            flags = os.O_RDONLY if fd == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(path, flags, stat.S_IRUSR | stat.S_IWUSR), fd)
        code = Stage(name, file=file).run(words)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)
