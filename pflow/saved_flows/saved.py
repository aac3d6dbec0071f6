"""The saved flows: their names, and the purpose, inputs, outputs and types of each, from its file alone."""

import os
import shlex
from dataclasses import dataclass, field
from glob import glob
from typing import Any

from pflow.catalog import registry
from pflow.catalog.kinds import is_node_name
from pflow.catalog.packs import pack_of
from pflow.catalog.registry import SUFFIX, data_directory, flow_name, names_in, needed_directory, saved_flow
from pflow.errors import BAD_DATA, DENIED, Attempt, PflowError, result_of, shorten
from pflow.flow.load import load_file
from pflow.flow.subflow import no_saved_flow
from pflow.flow.unload import flow_to_ir
from pflow.interface.source import in_words, plain
from pflow.terminal.messages import say

LONGEST = 100
"""Letters of a name: a file name has room for them and for the additions of old versions and drafts."""


@dataclass
class Saved:
    """A saved flow, or a project's own, as its file describes it, not wired or checked.

    `inputs` and `outputs` are the IR's members, `types` the types of its steps; `fault` says why it cannot be read.
    """

    name: str
    file: str
    description: str = ""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)
    fault: str = ""

    @property
    def is_of_project(self) -> bool:
        """True if it is not saved, but in a file of this directory: that is its name."""
        return self.name == self.file

    @property
    def command(self) -> str:
        """What a person types to run it."""
        return f"pflow run {shlex.quote(self.file)}" if self.is_of_project else f"pflow {self.name}"


def list_saved() -> list[Saved]:
    """Return every saved flow by name, then those of packs; unreadable flows too.

    Raises PflowError (77) if the directory cannot be read. Packs that cannot be read are left out.
    """
    folder = data_directory("flows")
    with Attempt(f"cannot list the saved flows in '{folder}'"):
        files = sorted(result_of(os.listdir, folder, of=FileNotFoundError, otherwise=[])) if folder else []
    found = {name: os.path.join(folder or "", name + SUFFIX) for name in map(flow_name, files) if name}
    found |= result_of(registry.pack_flows, found, of=PflowError, otherwise={})
    return [_read(name, file) for name, file in found.items()]


def list_project(saved: list[Saved]) -> list[Saved]:
    """Return the flows in this directory and in flows/ below it that are not `saved`, each named by its path."""
    known = {os.path.realpath(each.file) for each in saved}
    found = [file for folder in ("./", "flows/") for file in sorted(glob(f"{folder}*{SUFFIX}"))]
    return [_read(file, file) for file in found if os.path.realpath(file) not in known]


def readable(saved: list[Saved], program: str) -> list[Saved]:
    """Return the readable ones; for each of the others stderr says why it cannot be read."""
    for each in saved:
        if each.fault:
            say(program, each.fault)
    return [each for each in saved if not each.fault]


def find_saved(name: str) -> str:
    """Return the file of a saved flow. Raises PflowError (127) if no flow has the name."""
    file = saved_flow(name)
    if file is None:
        raise no_saved_flow(name)
    return file


def check_is_own(file: str, act: str, hint: str = "") -> None:
    """Raise PflowError (77) for a pack's flow: only an update of the pack may change it."""
    if pack := pack_of(os.path.abspath(file)):
        whole = f"pflow uninstall {pack.name} removes the whole pack" if pack.tree else "its Python package has it"
        raise PflowError(f"{act}: it is a flow of the pack '{pack.name}'", hint=hint or whole, exit=DENIED)


def read_saved(name: str) -> Saved:
    """Read one saved flow. Raises PflowError (127) if no flow has the name."""
    file = find_saved(name)
    return _read(name_of(file), file)


def name_of(file: str) -> str:
    return flow_name(os.path.basename(file))


def check_name(name: str) -> None:
    """Raise PflowError (65) for a name that no saved flow can have, or that pflow itself uses."""
    act = f"cannot call a flow '{shorten(name)}'"
    if not is_node_name(name):
        raise PflowError(act, hint="a name has letters, digits, - and _: fix-issue", exit=BAD_DATA)
    if len(name) > LONGEST:
        raise PflowError(f"{act}: it has {len(name)} letters", hint=f"a name has at most {LONGEST}", exit=BAD_DATA)
    if plain(name).startswith("pflow") and name[5:6] in ("", "-", "_"):
        hint = f"its name is what follows pflow-: {name[6:]}" if name[6:] else "choose another name"
        raise PflowError(act, hint=hint, exit=BAD_DATA)
    own = {"command": [*names_in("commands"), "flow"], "node": names_in("nodes"), "tool": names_in("store_commands")}
    for kind, names in own.items():
        if plain(name) in map(plain, names):
            raise PflowError(f"{act}: a {kind} of pflow's has this name", hint="choose another name", exit=BAD_DATA)


def library_folder() -> str:
    """Return the directory of saved flows. Raises PflowError (78) if the environment names no directory."""
    return needed_directory("flows", "saved flows")


def file_for(name: str) -> str:
    """Return the file of the user's own flow of this name, or the file that it would get."""
    return registry.own_flow(name) or os.path.join(library_folder(), name + SUFFIX)


def saved_name(type: str, directory: str) -> str:
    """Return the name of the saved flow that a step's type means, `flow:NAME` or a path from `directory`; else ""."""
    if type.startswith("flow:"):
        return type.removeprefix("flow:")
    folder, file = os.path.split(os.path.abspath(os.path.join(directory, type)))
    return flow_name(file) if folder == os.path.abspath(library_folder()) else ""


def users_of(name: str) -> list[Saved]:
    """Return the saved flows that have this one as a step."""
    saved = [(user, [saved_name(type, os.path.dirname(user.file)) for type in user.types]) for user in list_saved()]
    return [user for user, names in saved if plain(name) in map(plain, names)]


def _read(name: str, file: str) -> Saved:
    act = f"cannot read the flow '{file}'"
    if not name.isprintable():  # a model cannot be told of it
        return Saved(name, file, fault=f"{act}: its name has characters that cannot be shown")
    if os.path.lexists(file) and not os.path.isfile(file):  # opening a FIFO would wait for its writer
        return Saved(name, file, fault=f"{act}: it is {'not a file' if os.path.exists(file) else 'a link to nowhere'}")
    try:
        flow = load_file(file)
        if flow.findings:
            return Saved(name, file, fault=f"{act}: {flow.findings[0]}")
        ir = flow_to_ir(flow)
    except PflowError as error:
        return Saved(name, file, fault=error.message)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return Saved(name, file, fault=f"{act}: {in_words(error)}")
    types = [step.type for step in flow.steps]
    return Saved(name, file, ir.get("description", ""), ir.get("inputs", {}), ir.get("outputs", {}), types)
