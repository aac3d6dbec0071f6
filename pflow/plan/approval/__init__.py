"""A flow before it runs: shown to a person, who decides, or held against what a script allows."""
