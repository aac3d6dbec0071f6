"""Code that only nodes use: git, GitHub, coding agents, pages and transcripts."""
