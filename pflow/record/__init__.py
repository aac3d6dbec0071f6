"""What a run leaves: its log, its trace and its journal."""
