"""What the process of one node loads, and nothing that only the driver needs."""
