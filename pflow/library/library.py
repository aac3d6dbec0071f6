"""The saved flows: what each is for, what it takes and which nodes it uses, from its file alone."""

from __future__ import annotations

import os

from pflow.catalog.flows import SUFFIX, flow_name, saved_flow
from pflow.errors import PflowError, exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Saved:
    """A saved flow as far as its JSON tells: nothing of it is loaded, wired or checked.

    `inputs` is the IR's member; `types` are its steps' types; `fault` says why the file could not be read.
    """

    __slots__ = ("description", "fault", "file", "inputs", "name", "outputs", "types")

    def __init__(self, name: str, file: str) -> None:
        self.name = name
        self.file = file
        self.description = ""
        self.inputs: dict[str, dict[str, Any]] = {}
        self.outputs: dict[str, str] = {}
        self.types: list[str] = []
        self.fault = ""


def list_saved() -> list[Saved]:
    """Every saved flow, by name; also what is called as one and cannot be read, with its `fault`.

    Raises PflowError (77) where the directory may not be read.
    """
    from pflow.catalog.registry import data_directory

    folder = data_directory("flows")
    try:
        files = sorted(os.listdir(folder)) if folder else []
    except FileNotFoundError:
        files = []
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PflowError(f"cannot list the saved flows in '{folder}': {why}", exit=exit_code(error)) from None
    return [_read(name, os.path.join(folder or "", name + SUFFIX)) for name in map(flow_name, files) if name]


def read_saved(name: str) -> Saved:
    """One saved flow. Raises PflowError (127) where there is none of that name."""
    file = saved_flow(name)
    if file is None:
        from pflow.flow.take import no_saved_flow

        raise no_saved_flow(name)
    return _read(flow_name(os.path.basename(file)), file)


def offer_saved() -> None:
    """Let shells that complete names know of the saved flows as they are now."""
    from pflow.catalog.offered import FLOWS, offer

    offer(FLOWS, [(saved.name, saved.description) for saved in list_saved() if not saved.fault])


def _read(name: str, file: str) -> Saved:
    saved = Saved(name, file)
    try:
        _take(saved, _document(file))
    except PflowError as error:
        saved.fault = error.message
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        from pflow.catalog.source import in_words

        saved.fault = f"cannot read the flow '{file}': {in_words(error)}"
    return saved


def _document(file: str) -> Any:
    """What a file holds. Raises PflowError where that is no JSON, or no flow at all by the look of it."""
    from pflow.flow.jsonfile import parse_json
    from pflow.flow.load import read_text

    act = f"cannot read the flow '{file}'"
    if not os.path.isfile(file):  # to open a pipe would wait for who writes it
        raise PflowError(f"{act}: it is {'a link to nowhere' if os.path.islink(file) else 'no file'}")
    text = read_text(file, f"the flow '{file}'")
    if not text.strip():
        raise PflowError(f"{act}: it is empty")
    document = parse_json(text, file)
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise PflowError(f"{act}: it has no list of nodes")
    return document


def _take(saved: Saved, document: dict[str, Any]) -> None:
    """What a document says, as far as it has the right shape: the rules say what has not."""
    description = document.get("description")
    saved.description = description if isinstance(description, str) else ""
    saved.inputs = {name: given for name, given in _object(document, "inputs").items() if isinstance(given, dict)}
    saved.outputs = {name: path for name, path in _object(document, "outputs").items() if isinstance(path, str)}
    types = [_type(node) for node in document["nodes"] if isinstance(node, dict)]
    saved.types = [type for type in types if isinstance(type, str)]


def _object(document: dict[str, Any], name: str) -> dict[str, Any]:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _type(node: dict[str, Any]) -> Any:
    return node.get("type") or node.get("name") or node.get("id")
