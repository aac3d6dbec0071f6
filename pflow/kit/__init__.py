"""Code that only nodes use: the web, git, GitHub, coding agents."""
