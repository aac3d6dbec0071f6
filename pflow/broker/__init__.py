"""Tools of MCP servers as nodes: what is kept of the servers, and the process that calls them."""
