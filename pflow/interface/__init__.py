"""What a node says of itself: the grammar of its docstring, and the flags that all nodes share."""
