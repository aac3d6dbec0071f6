"""What a script may run without a person who looks at it."""
