"""How commands and nodes are used, and their help: one declaration for parser, help, man pages and completion."""
