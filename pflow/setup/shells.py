"""Asking each shell whether a new one completes pflow-llm, undisturbed by start-up files that ask, loop or print."""

import os
import shutil
import time
from contextlib import ExitStack

from pflow.process.children import Child, Program, end

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
    asked: dict[str, Child] = {}
    with ExitStack() as programs:
        for shell in filter(shutil.which, SHELLS):
            argv = [shell, "-c" if shell == "fish" else "-ic", f"{SHELLS[shell]} && exit 42; exit 43"]
            asked[shell] = programs.enter_context(Program(argv, on_stdout=-1, on_stderr=-1, env=environment))
        limit = time.monotonic() + 5
        while time.monotonic() < limit and not all(program.has_ended() for program in asked.values()):
            time.sleep(0.01)
        end(asked.values(), 0)
    return {shell: {42: True, 43: False}.get(program.code or 0) for shell, program in asked.items()}
