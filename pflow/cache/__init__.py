"""What a node was given, as a key; what it then wrote, kept under that key."""
