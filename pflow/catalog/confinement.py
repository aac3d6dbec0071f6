"""Confine installed nodes: what an installed node may do when it runs, and the class that represents it before."""

from __future__ import annotations

import os

from pflow import Any, Sequence
from pflow.catalog.packs import Pack, installed_sources, verified
from pflow.catalog.registry import load_file
from pflow.errors import PflowError, causes, node_error
from pflow.files.beneath import paths_in
from pflow.interface.interface import ANYTHING, Interface
from pflow.interface.source import plain, read_python, source_version
from pflow.node import Node
from pflow.process.confine import Declared, set_environment
from pflow.process.start import programs_of
from pflow.terminal.messages import say

UNCONFINED = "PFLOW_UNCONFINED"
"""The variable with the names of nodes and packs that a person runs --unconfined, separated by commas."""

_KEPT = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "TERM", "TRACEPARENT")
_DENIED = 126
_DENIALS = ("permission denied", "not permitted")


def set_free(names: Sequence[str]) -> None:
    """Stop confining the nodes and packs of these names, in this process and in those that it starts."""
    if names:
        found = [each for pack in installed_sources() for each in [(pack.name, ""), *pack.paths("nodes")]]
        known = {plain(name or os.path.basename(file).partition(".")[0].removeprefix("pflow-")) for name, file in found}
        for name in [each for text in names for each in text.split(",") if plain(each) not in known]:
            say("warning", f"--unconfined={name} is of no effect: no installed node or pack has that name")
        os.environ[UNCONFINED] = ",".join(filter(None, [os.environ.get(UNCONFINED), *names]))


class Confinement:
    """The limits of an installed node: it may do only what it declares; without an interface, nothing."""

    def __init__(self, pack: Pack, name: str, file: str, interface: Interface) -> None:
        self.pack, self.name, self.file = pack, name, file
        self.effects = () if interface.open else interface.effects
        self.variables = {field.env for field in interface.taken if field.env}
        self.fields = [field for field in interface.taken if field.type.is_path]

    @property
    def is_on(self) -> bool:
        names = map(plain, os.environ.get(UNCONFINED, "").split(","))
        return {plain(self.name), plain(self.pack.name)}.isdisjoint(names)

    def declared(self, values: Sequence[Any], *, is_program: bool = False) -> Declared:
        """Return what the node may do if its paths have these `values`, in whose directories it may write."""
        effects = {*self.effects}
        return Declared(
            [path for value in values for path in paths_in(value)] if "writes files" in effects else None,
            None if "runs commands" in effects else programs_of(self.file) if is_program else [],
            has_network="network" in effects,
            may_all=ANYTHING in effects,
        )

    def environment(self, declared: Declared) -> dict[str, str]:
        """Return the environment variables that the node gets."""
        kept = {"TMPDIR": temporary} if (temporary := declared.temporary_directory()) else {}
        names = [each for each in os.environ if each in _KEPT or each.startswith(("LC_", "PFLOW_"))]
        return {name: os.environ[name] for name in {*names, *self.variables} if name in os.environ} | kept

    def explain(self, error: PflowError, cause: BaseException, said: bytes) -> None:
        """Set a failure's hint if the confinement may have caused it. `said` is a program's stderr."""
        text = f"{error} {said.decode(errors='replace')}".lower()
        is_denied = error.exit == _DENIED or any(words in text for words in _DENIALS)
        if is_denied or any(isinstance(each, PermissionError) for each in causes(cause)):
            error.hint = f"{self.name} is confined to what it declares; --unconfined={self.name} turns that off"
            if "writes files" in self.effects:
                where = "may write only beneath the directories it is given, and not beside pflow's own"
                error.hint = f"{self.name} {where}: give it a directory of its own, or --unconfined={self.name}"


class StandIn(Node):
    """Represents an installed Python node, whose code is imported only when it runs, after its process is confined."""

    confinement: Confinement
    source: bytes
    """The verified source. It is kept because the file could change between the check and the import."""

    is_program = False

    def enter(self, declared: Declared | None) -> Any:
        """Confine this process for good to what is declared (not if None), then load the class and make a node."""
        confinement = self.confinement
        if declared is not None:
            declared.restrict()
            set_environment(confinement.environment(declared))
        node_class: Any = load_file(confinement.file, confinement.name, self._read)
        try:
            node = node_class()
            node.set_params({name: self.params[name] for name in self._given})
        except PflowError:
            raise
        except Exception as error:
            raise node_error(confinement.name, error) from error
        return node

    def _read(self, file: str) -> bytes:
        confinement = self.confinement
        return self.source if file == confinement.file else verified(confinement.pack, file)

    def exec(self, prepared: Any) -> Any:
        what = f"cannot run '{self.confinement.name}' outside of a flow: it is installed, and runs confined"
        raise PflowError(what, hint=f"pflow.run('{self.confinement.name}')")


def stand_in(pack: Pack, name: str, file: str) -> type[StandIn]:
    """Return the class that represents a Python node. Raises PflowError: 78 if its file has changed, 65."""
    source = verified(pack, file)
    interface, _ = read_python(file)
    about = {
        "__module__": "pflow_node_" + name.replace("-", "_"),  # the node's module, not this one
        "confinement": Confinement(pack, name, file, interface),
        "source": source,
        "_pflow_interface": interface,
        "_pflow_shown": interface,
        "version": source_version(file),
        "flow_safe": interface.flow_safe,
    }
    return type("".join(part.title() for part in name.split("-")), (StandIn,), about)
