"""Running a case's flow: as `pflow run` does, as exported Python, as an exported script."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pflow.export import exporter
from pflow.flow.subflow import load_named
from pflow.flow.wiring import wire
from tests.export.cases import FILES, INNER, NODES, Case
from tests.tools import need

BIN = Path(sys.executable).parent


def lay_out(case: Case, folder: Path) -> str:
    """Put the files that cases read into a folder, and give the word that names its flow."""
    need(*["jq"] * ('"upper"' in json.dumps(case.flow)))  # a node
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "inner.pflow.json").write_text(json.dumps(INNER))
    if isinstance(case.flow, str):
        return case.flow
    (folder / "flow.pflow.json").write_text(json.dumps(case.flow))
    return "flow.pflow.json"


def environment(folder: Path, **more: str) -> dict[str, str]:
    own = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "PFLOW_NODES": str(NODES)}
    kept = {key: value for key, value in os.environ.items() if key in ("LLM_USER_PATH", "PFLOW_MODEL")}
    return {**kept, **own, **more}


def run(command: list[str], case: Case, folder: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    stdin: Any = {"input": case.stdin} if case.stdin is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run(
        command, cwd=folder, env=environment(folder, **more), capture_output=True, check=False, timeout=120, **stdin
    )


def store_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The store that was printed, without its header."""
    assert done.returncode == 0, done.stderr.decode()
    store = json.loads(done.stdout)
    store.pop("$pflow", None)
    return store


def export(target: str, case: Case, folder: Path) -> Path:
    """A case's flow, exported into a file of its folder."""
    word = lay_out(case, folder)
    loaded = load_named([word if word == case.flow else str(folder / word)])
    file = folder / f"flow.{target}"
    file.write_text(exporter(target).export(wire(loaded.usable())))
    return file
