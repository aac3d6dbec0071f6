"""An installation: installing its man pages and completions, and finding what is missing or broken."""
