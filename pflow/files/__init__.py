"""Files: atomic writes, the XDG directories, paths held beneath a root."""
