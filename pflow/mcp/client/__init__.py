"""The tools of MCP servers as nodes: the servers' files, the nodes, and the broker that holds the sessions."""
