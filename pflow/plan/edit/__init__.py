"""pflow plan --edit: a change in words to a flow."""
