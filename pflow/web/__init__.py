"""The HTTP client that nodes share: requests, limits, redirects, keys from the environment."""
