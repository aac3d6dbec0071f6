"""A node in any language inside an exported flow: a program on PATH that gets a store document and answers with one."""

from __future__ import annotations

import os
import shutil

from pflow.catalog.header import program_interface
from pflow.catalog.registry import own_directories
from pflow.errors import NOT_FOUND, PflowError
from pflow.stage.program import ProgramNode


class Program(ProgramNode):
    """The program `pflow-NAME`, found where the flow runs. Raises PflowError (127) where there is none."""

    def __init__(self, name: str) -> None:
        places = os.pathsep.join([*own_directories(), os.environ.get("PATH", "")])
        file = shutil.which(f"pflow-{name}", path=places)
        if file is None:
            raise PflowError(f"cannot find the node '{name}'", hint=f"put pflow-{name} on PATH", exit=NOT_FOUND)
        self.file, self.name = file, name
        self.interface, _ = program_interface(file)
        super().__init__()
