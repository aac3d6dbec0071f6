"""From a sentence to a flow that is checked, shown and run."""
