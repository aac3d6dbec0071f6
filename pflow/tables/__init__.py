"""Rows, for the data nodes: reading and writing CSV, JSON lines and other forms, statistics, SQL."""
