"""MCP: the tools of servers as nodes (client/), and nodes and saved flows as the tools of a server (server/)."""
