"""GitHub's REST interface: repository, key, pages, rate limits, and the mark of what was made before."""
