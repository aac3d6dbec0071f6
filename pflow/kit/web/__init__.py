"""The web: the HTTP client that nodes share, with limits and keys from the environment; pages and transcripts."""
