"""pflow as an MCP server: saved flows and nodes as tools."""
