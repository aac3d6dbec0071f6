"""Running as a process and running others: stdin, stdout, signals, children, exits."""
