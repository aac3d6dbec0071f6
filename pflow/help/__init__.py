"""The use of commands and nodes, declared once for the parser, the help, man pages and completion."""
