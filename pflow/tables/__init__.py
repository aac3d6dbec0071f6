"""Rows: CSV, JSON lines and other forms, read and written, counted, asked by SQL; what the nodes for data share."""
