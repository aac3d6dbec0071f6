"""Tools of MCP servers as nodes: what is kept of the servers, the process that calls them, and how it is asked."""
