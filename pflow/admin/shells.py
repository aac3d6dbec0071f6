"""Asking each shell whether a new one completes pflow-llm, undisturbed by start-up files that ask, loop or print."""

import os
import shutil
import signal
import time
from subprocess import DEVNULL, Popen

from pflow.process.children import signal_session

SHELLS = {
    "bash": "complete -p pflow-llm || _completion_loader pflow-llm || _comp_load pflow-llm"
    "; [[ $(complete -p pflow-llm) == *_pflow* ]]",
    "zsh": "(( $+functions[compdef] )) && f=${_comps[pflow-llm]:-$_patcomps[pflow-*]}"
    "; [[ -n $f ]] && autoload -Uz +X $f",
    "fish": "complete | string match -q '*__complete fish*'",
}


def ask_shells() -> dict[str, bool | None]:
    """Return for each installed shell True if it completes pflow-llm; None if it does not say so in 5 s.

    All are asked at the same time, each in a session of its own, without a terminal. They answer by exit codes that no
    start-up file has.
    """
    environment = os.environ | {"TMUX": "/nowhere/tmux,0,0"}  # for start-up files that start tmux unless it is there
    end, asked = time.monotonic() + 5, {}
    try:
        for shell in filter(shutil.which, SHELLS):
            argv = [shell, "-c" if shell == "fish" else "-ic", f"{SHELLS[shell]} && exit 42; exit 43"]
            asked[shell] = Popen(
                argv, env=environment, start_new_session=True, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
            )
        while time.monotonic() < end and any(process.poll() is None for process in asked.values()):
            time.sleep(0.01)
    finally:
        for process in asked.values():
            signal_session(process.pid, signal.SIGKILL)
            process.wait()
    return {shell: {42: True, 43: False}.get(process.returncode) for shell, process in asked.items()}
