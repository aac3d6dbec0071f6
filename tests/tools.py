"""What tests need beside Python: programs, root's rights, and what the system says of processes."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pflow.catalog.find import forget_types
from pflow.values.digest import bytes_digest, digest_of

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what is another user's")


USUAL = ("awk", "bash", "cmp", "curl", "grep", "jq", "make", "man", "perl", "ps", "sed", "xargs")
"""Programs that most machines have, and some do not."""


def need_for(script: str) -> None:
    """Skip the test where a usual tool is missing that the script names."""
    need(*(tool for tool in USUAL if re.search(rf"\b{tool}\b", script)))


def need(*tools: str) -> None:
    """Skip the test where a tool is missing; fail it in CI, where all are there."""
    for tool in tools:
        if shutil.which(tool) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{tool} is not installed")


@contextmanager
def limited(seconds: float = 3.0) -> Iterator[None]:
    """Fail if the code inside takes so many seconds of CPU, as where the work for 100 KB grows with their square."""

    def end(*_: object) -> None:
        raise AssertionError(f"it takes more than {seconds:g} s of CPU")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


_NODE = '''{head}
from pflow import Node

class {name}(Node):
    """Do it.

    Interface:
    - Reads: shared["text"]: str = "" [pipe]
    - Writes: shared["did"]: any [pipe]
    - Effects: {effects}{more}
    """
    version = "2.0.0"

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        {act}

    def post(self, shared, text, did):
        shared["did"] = did
'''


def node_source(name: str, act: str, *, effects: str = "none", head: str = "", more: str = "") -> str:
    """Return the file of a node in Python that does it to a text; `more` are lines of its interface."""
    more = "".join(f"\n    - {line}" for line in more.splitlines())
    act = act.strip("\n").replace("\n", "\n        ")
    return _NODE.format(name=name, act=act, effects=effects, head=head, more=more)


def put_pack(data: Path, name: str, files: dict[str, str], *, asked: str = "v1", address: str = "") -> Path:
    """Place a pack as pflow install does, in pflow's directory of data; return the directory of its files."""
    lock = data / "packs.lock.json"
    document = json.loads(lock.read_text()) if lock.exists() else {"pflow_packs": 1, "packs": {}}
    digests = {path: bytes_digest(text.encode()) for path, text in files.items()}
    tree = digest_of(sorted(digests.items()))
    folder = data / "packs" / name / tree[:12]
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        (folder / path).chmod(0o755 if text.startswith("#!") else 0o644)
    pinned = {path: {"digest": digest, "declares": {}} for path, digest in digests.items()}
    about = {"address": address or f"/srv/{name}", "asked": asked, "directory": "", "commit": "c" * 40, "tree": tree}
    document["packs"][name] = {**about, "files": pinned}
    lock.write_text(json.dumps(document))
    forget_types()
    return folder


def has_ended(pid: str) -> bool:
    """Return whether a process is gone, or waits only for its parent to hear of it."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True
