"""A plan as pipe syntax that can be pasted back."""
