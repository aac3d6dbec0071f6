"""`pflow run`: a flow from its words to its exit code."""
