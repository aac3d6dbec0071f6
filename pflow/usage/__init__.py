"""What models took, in tokens, calls and dollars, and the budget that limits it."""
