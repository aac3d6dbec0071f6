"""Maps: a flow run once for each item of a stream, on one machine or many."""
