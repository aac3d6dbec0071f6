"""Refuse what lies at the top of the checkout and is not in the layout, pyproject's list of what an sdist has."""

import subprocess
import sys
import tomllib
from pathlib import Path

MOST_LINES = 150
"""Of CHANGELOG.md, which a user reads."""

layout = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
# An unpacked sdist, which is no checkout, lists nothing.
files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], stdout=subprocess.PIPE)
names = {name.partition("/")[0] for name in files.stdout.decode().split("\0")[:-1]}
faults = [f"'{name}' is not in the layout, only-include in pyproject.toml" for name in names - {*layout}]
lines = len(Path("CHANGELOG.md").read_text().splitlines())
if lines > MOST_LINES:
    faults.append(f"'CHANGELOG.md' has {lines} lines; it may have {MOST_LINES}")
print(*sorted(faults), sep="\n", end="\n" if faults else "")
sys.exit(bool(faults))
