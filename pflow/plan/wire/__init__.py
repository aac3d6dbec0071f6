"""pflow plan --wire: mappings for a flow made by hand."""
