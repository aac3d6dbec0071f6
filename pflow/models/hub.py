"""Downloading GGUF files from a model hub, by huggingface_hub, to the local models."""

import os
import re
import shutil
from functools import partial
from io import FileIO
from typing import Any

from pydantic import BaseModel, Field, NonNegativeInt

from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, DENIED, MISSING, Attempt, PflowError, not_written
from pflow.files.directories import make_private
from pflow.files.installation import no_extra
from pflow.files.reading import file_digest
from pflow.files.schema import read_as
from pflow.models.errors import meaning_of
from pflow.models.known import CHOICES, SUFFIX
from pflow.models.local import path_in_models
from pflow.terminal.ask import confirm
from pflow.text.naming import guess
from pflow.text.printable import foreign_line
from pflow.web.reasons import meaning_of_status
from pflow.web.response import limit_body
from pflow.web.route import bypass_proxies_here, fault_behind

_MOST_SAID = 10_000_000
"""The most bytes of a hub's description of a repository."""

_HUB = r"(?:https?://[^/]+/|[\w-]+\.[\w.-]+/(?=[^/]+/[^/]+$)(?!.*\.gguf$))?"
"""The address of the hub in front of OWNER/REPO, as a browser shows it."""


class _Content(BaseModel, from_attributes=True):
    size: NonNegativeInt
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class _File(BaseModel, from_attributes=True):
    rfilename: str
    lfs: _Content | None


class _Repository(BaseModel, from_attributes=True):
    """A hub's description of a repository, as its library returns it."""

    sha: str | None
    siblings: list[_File]


def get_model(name: str, *, is_agreed: bool) -> tuple[str, bool]:
    """Return the path of OWNER/REPO[:QUANT] or OWNER/REPO/FILE.gguf, and True if it was downloaded just now.

    A person must agree to more than 1 GB. A failed download is kept, and the next try goes on with it. Raises
    PflowError.
    """
    act = f"cannot get the model '{name}'"
    asked = re.fullmatch(_HUB + r"(\w[\w.-]*/[\w.-]+)(?::([\w.-]+)|/(.+\.gguf))?", name)
    if asked is None:
        form = "OWNER/REPO[:QUANT] or OWNER/REPO/FILE.gguf; `pflow models get` lists some"
        raise PflowError(act, hint=guess(name.lower(), CHOICES, form), exit=MISSING)
    with Attempt(act, _failure, of=Exception):
        return _get(act, *asked.groups(default=""), is_agreed=is_agreed)


def _get(act: str, repo: str, quant: str, file: str, *, is_agreed: bool) -> tuple[str, bool]:
    from huggingface_hub import hf_hub_url, logging
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    logging.set_verbosity_error()
    bypass_proxies_here()
    told = _describe(act, repo)
    files = {each.rfilename: each.lfs for each in told.siblings if each.lfs and each.rfilename.isprintable()}
    file = choose_file(act, [*files], quant, file)
    size, digest, path = files[file].size, files[file].sha256, path_in_models(os.path.basename(file))
    if os.path.exists(path):
        if file_digest(path) == digest:
            return path, False
        raise PflowError(f"{act}: '{path}' is another file", hint="remove or rename that one", exit=CANNOT_WRITE)
    megabytes = f"{size / 10**6:,.0f} MB"
    if size > 10**9 and not is_agreed and not confirm(f"Download {megabytes}?"):
        raise PflowError(f"{act}: nobody agreed to {megabytes}", hint="--yes does", exit=DENIED)
    make_private(os.path.dirname(path))
    part = f"{path}.{digest[:12]}.part"
    failure = PflowError(f"{act}: more came than the {megabytes} that the hub says", exit=BAD_DATA)
    with _Part(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), size, failure) as opened:
        there = opened.seek(0, os.SEEK_END)
        if there > size:  # a left-over that cannot be a beginning of this file
            there = opened.seek(opened.truncate(0))
        if shutil.disk_usage(os.path.dirname(path)).free < size - there:
            raise PflowError(f"{act}: there is no room for {megabytes}", exit=CANNOT_WRITE)
        url, headers = hf_hub_url(repo, file, revision=told.sha), build_hf_headers()
        try:
            http_get(url, opened, resume_size=there, headers=headers, expected_size=size, displayed_filename=file)
        except PflowError:
            os.unlink(part)
            raise
        if file_digest(part) != digest:
            os.unlink(part)
            raise PflowError(f"{act}: what came has another digest than the hub says", exit=BAD_DATA)
        os.replace(part, path)
    return path, True


def _describe(act: str, repo: str) -> _Repository:
    """Return the hub's description of a repository and its files."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils import get_session

    failure = partial(PflowError, f"{act}: what the hub says has no end", exit=BAD_DATA)
    hooks, limit = get_session().event_hooks["response"], partial(limit_body, most=_MOST_SAID, failure=failure)
    hooks.append(limit)
    try:
        told = HfApi().model_info(repo, files_metadata=True, timeout=30)
    finally:
        hooks.remove(limit)
    return read_as(_Repository, told, f"{act}: what the hub says does not fit", exit=BAD_DATA)


class _Part(FileIO):
    """The file of a download. Raise `failure` for more than `size` bytes: the library compares only at the end."""

    def __init__(self, fd: int, size: int, failure: PflowError) -> None:
        super().__init__(fd, "r+")
        self.size, self.failure = size, failure

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self.size:
            raise self.failure
        return super().write(data)


def choose_file(act: str, files: list[str], quant: str, file: str) -> str:
    """Return `file` if it is there, else the first model with `quant` in its name, which is how llama.cpp chooses.

    Raises PflowError: 66 if there is none, 65 for a model in several files.
    """
    models = [each for each in files if each.lower().endswith(SUFFIX) and not re.search("mmproj|imatrix|mtp-", each)]
    for wanted in [quant] if quant else ["Q4_K_M", "Q8_0", ""]:
        pattern = rf"(?<![a-z0-9]){re.escape(wanted)}[.-]" if wanted else ""
        found = [each for each in models if (each == file if file else re.search(pattern, each, re.IGNORECASE))]
        if found and re.search(r"-\d{5}-of-\d{5}\.", found[0]):
            raise PflowError(f"{act}: '{found[0]}' is one of several files", hint="take another one", exit=BAD_DATA)
        if found:
            return found[0]
    there = ", ".join(map(os.path.basename, models))
    raise PflowError(f"{act}: it has no such GGUF file", hint=there and f"it has {there}", exit=MISSING)


def _failure(act: str, error: Exception) -> PflowError:
    """Return the failure of the hub, of the way to it, or of the disk."""
    if fault := fault_behind(error):
        return fault.within(act)
    if isinstance(error, ImportError):
        return no_extra(act, "huggingface_hub", "local")
    if isinstance(error, OSError) and error.errno is not None:
        return not_written(f"{act}: '{error.filename or path_in_models('')}'", error)
    refused = {401: "it is not public, or not there", 403: "you have no access", 404: "there is no such repository"}
    exit, _, reason = meaning_of(error)
    status = reason.status
    words = refused.get(status, f"the hub answers with {status}") if status else foreign_line(reason.words).rstrip(".")
    hint = "HF_ENDPOINT is its address" if exit == BAD_CONFIG else "try the same command again: it keeps what has come"
    hint = "HF_TOKEN is the key to private repositories" if status in refused else hint
    return PflowError(f"{act}: {words}", hint=hint, exit=meaning_of_status(status).exit if status in refused else exit)
