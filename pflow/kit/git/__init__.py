"""git as a program: run, asked, and its answers taken apart; what the git nodes share."""
