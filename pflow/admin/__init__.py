"""An installation: man pages and completions put in place, and what is missing or broken."""
