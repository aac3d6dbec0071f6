"""GitHub's REST interface: repository, key, pages, rate limits, and the marker of what was made before."""
