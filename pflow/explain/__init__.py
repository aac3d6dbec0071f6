"""What a flow does, for people and for the gate."""
