"""The cache: a node's inputs as a key, and its answer kept under that key."""
