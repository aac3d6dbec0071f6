"""What an installation has, what is broken, and what to type then."""
