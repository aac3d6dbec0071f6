"""What a run has done so far, kept so that another process can go on with it."""
