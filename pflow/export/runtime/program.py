"""A node in any language inside an exported flow: a program on PATH that gets a store document and answers with one."""

from __future__ import annotations

import os
import shutil

from pflow.errors import NOT_FOUND, PflowError
from pflow.registry import own_directories
from pflow.run.program import ProgramNode
from pflow.source import read_interface

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Program(ProgramNode):
    """The program `pflow-NAME`, found where the flow runs. Raises PflowError (127) where there is none."""

    def __init__(self, name: str) -> None:
        places = os.pathsep.join([*own_directories(), os.environ.get("PATH", "")])
        file = shutil.which(f"pflow-{name}", path=places)
        if file is None:
            raise PflowError(f"cannot find the node '{name}'", hint=f"put pflow-{name} on PATH", exit=NOT_FOUND)
        beside = file + ".interface"
        interface = read_interface(beside if os.path.isfile(beside) else file)
        super().__init__(_Wired(name, file, interface))  # type: ignore[arg-type]


class _Wired:
    """As much of a wired step as a program asks for; it is its own kind."""

    def __init__(self, name: str, file: str, interface: Any) -> None:
        self.name = name
        self.file = file
        self.interface = interface
        self.kind = self
