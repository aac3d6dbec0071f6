"""Every test here may have a small GitHub, and an environment without a key for another."""

from tests.peers.github_nodes import github as github
from tests.peers.github_nodes import own_environment as own_environment
