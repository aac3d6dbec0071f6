"""`pflow setup` installs man pages and completions; `pflow doctor` finds what is missing or broken."""
