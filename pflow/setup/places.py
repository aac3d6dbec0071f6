"""Where man, bash, zsh and fish look, below a prefix."""

from __future__ import annotations

import os

from pflow.errors import BAD_CONFIG, USAGE, PflowError

FOLDERS = {
    "man": "man",
    "bash": "bash-completion/completions",
    "zsh": "zsh/site-functions",
    "fish": "fish/vendor_completions.d",
}
"""For each program, the directory below share/ that it reads."""

RECORD = "pflow/setup.json"


class Places:
    """A prefix, its share directory, and whether that is where programs look for what is the user's own."""

    def __init__(self, prefix: str, share: str, *, is_users: bool) -> None:
        self.prefix = prefix
        self.share = share
        self.is_users = is_users

    @property
    def home(self) -> str:
        """The directory that holds setup's record of what it did."""
        return os.path.dirname(self.path(RECORD))

    def path(self, name: str) -> str:
        """Where a file is that the record names."""
        return os.path.normpath(os.path.join(self.share, name))

    def folder(self, program: str) -> str:
        return os.path.join(self.share, FOLDERS[program])


def find_places(prefix: str | None) -> Places:
    """The places below a prefix; without one, ~/.local and XDG_DATA_HOME. Raises PflowError (2, 78)."""
    home = os.environ.get("HOME", "")
    data = os.environ.get("XDG_DATA_HOME", "")
    users = data if os.path.isabs(data) else os.path.join(home, ".local", "share") if os.path.isabs(home) else ""
    is_found = users == data or not data  # XDG says that a relative one counts for nothing; bash and fish follow it
    if prefix is None:
        if not users:
            raise PflowError("cannot tell where to put things: HOME is not set", hint="--prefix DIR", exit=BAD_CONFIG)
        local = os.path.join(home, ".local") if os.path.isabs(home) else os.path.dirname(users)
        return Places(os.path.normpath(local), os.path.normpath(users), is_users=is_found)
    if not prefix:
        raise PflowError("cannot use '' as a prefix: it is empty", hint="--prefix DIR", exit=USAGE)
    prefix = os.path.abspath(os.path.expanduser(prefix))
    share = os.path.join(prefix, "share")
    return Places(prefix, share, is_users=is_found and bool(users) and share == os.path.normpath(users))
