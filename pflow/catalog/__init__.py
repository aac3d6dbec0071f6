"""Which nodes and flows there are, and what their files say of themselves."""
