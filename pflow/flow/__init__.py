"""A flow as data: its shape, its wiring, its rules and its other forms."""
