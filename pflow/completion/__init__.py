"""TAB: a small shim in each shell asks pflow for the words that fit at the cursor."""
