"""Tools of MCP servers, as their nodes see them: a socket, behind which the broker calls the tool."""
