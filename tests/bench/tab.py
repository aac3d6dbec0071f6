"""`make bench`: what one TAB costs in each shell that is here, in milliseconds of CPU; its limit is 10 ms."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMPLETIONS = HERE.parent.parent / "completions"
LIMIT = 10.0
ARGUMENTS = {"fish": [str(COMPLETIONS / "fish")]}


def main() -> int:
    for shell in ("bash", "zsh", "fish"):
        if shutil.which(shell) is None:
            print(f"{shell}: skipped, it is not installed")
            continue
        script = [shell, str(HERE / f"tab.{shell}"), *ARGUMENTS.get(shell, [])]
        measured = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in measured.splitlines():
            typed, _, milliseconds = line.rpartition("\t")
            verdict = "ok" if float(milliseconds) <= LIMIT else "over"
            print(f"{f'TAB, {shell}: {typed}':46}{float(milliseconds):6.1f} ms {LIMIT:6.1f} ms  {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
