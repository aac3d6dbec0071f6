"""Man pages, made from how each command is used."""
