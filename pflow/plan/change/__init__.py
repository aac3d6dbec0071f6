"""A flow that is there is changed: its gaps wired, or as a sentence says; shown as a diff, printed or written back."""
