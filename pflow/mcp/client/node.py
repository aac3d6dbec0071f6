"""The class from which each node of an MCP server's tool derives."""

from __future__ import annotations

from pflow import Mapping
from pflow.binding.sources import without_newline
from pflow.node import Any, Node, Shared, declared_interface


class McpNode(Node):
    """A tool of an MCP server; `properties` are the server's names of the reads. `pflow mcp add` writes the classes."""

    server = ""
    tool = ""
    properties: Mapping[str, str]
    waits = True

    def prep(self, shared: Shared) -> dict[str, Any]:
        reads = declared_interface(type(self)).reads
        given = {name: shared.get(name) for name in reads}
        for name in [name for name, item in reads.items() if "pipe" in item.marks]:
            given[name] = without_newline((("stdin",),), given[name])  # `echo Oslo |` means Oslo
        return {self.properties.get(name, name): value for name, value in given.items() if value is not None}

    def exec(self, arguments: dict[str, Any]) -> dict[str, Any]:
        from pflow.mcp.client.call import call

        return call(self.server, self.tool, arguments, self._tell)

    def post(self, shared: Shared, arguments: object, reply: dict[str, Any]) -> None:
        shared.update(reply)

    def _tell(self, progress: str) -> None:
        from pflow.terminal import messages

        if not messages.is_quiet:
            messages.say(self.id, progress)
