"""git as a program: running it and parsing its output, for the git nodes."""
