"""Files: atomic writes, pflow's own directories, and paths that are checked and held within bounds."""
