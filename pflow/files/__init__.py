"""Files: atomic writes, pflow's own directories, checked paths, a root that holds them."""
