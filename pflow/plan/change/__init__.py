"""A changed flow: its diff, what it newly touches, and where it goes."""
