"""Where a value comes from, and the store as one node sees it."""
