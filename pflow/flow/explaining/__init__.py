"""What `pflow explain` and `pflow nodes` say: the parts of an account of a flow, and their text for a terminal."""
