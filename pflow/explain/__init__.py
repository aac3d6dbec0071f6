"""The account of a flow: what it does and touches, for people and for the gate."""
