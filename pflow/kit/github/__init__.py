"""GitHub's REST API: repository and key, pages, failures and rate limits, posts that happen once."""
