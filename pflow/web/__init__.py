"""The web: an HTTP client with limits, and with keys from the environment."""
