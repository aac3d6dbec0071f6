"""Rows: read from and written to CSV, JSON lines and other forms, counted, asked by SQL; what the nodes for data share."""
