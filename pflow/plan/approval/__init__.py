"""A flow before it runs: shown to a person, who decides, or compared with what a script allows."""
