"""A guard beside each program that we start: it ends the program's session once we are gone, even after kill -9."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import Ignoring
from pflow.process.signals import HeldSignals
from pflow.process.start import spawn

if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # signal's C part, as in pflow.process.signals

# It reads the session, then waits for the end of its stdin, which the kernel closes when we are gone; then it does the
# same as `end` in children.py. Linux's parent-death signal would end only the program, not its children. PATH may
# have no sed; a shell reads /proc byte by byte, which takes longer. After the last bracket come state, parent, process
# group and session.
_SCRIPT = r"""
read -r session || exit
read -r _
find_groups() {
    groups=
    if command -v sed && command -v sort; then
        groups=$(sed -n "s/.*) [^ZX] [0-9]* \([0-9]*\) $session .*/-\1/p" /proc/[0-9]*/stat | sort -u)
    else
        for stat in /proc/[0-9]*/stat; do
            line=
            while read -r part; do line=$part; done <"$stat"
            set -- ${line##*) }
            case $1/$4/$groups- in
                [ZX]* | *-"$3"[!0-9]*) ;;
                */"$session"/*) groups="$groups -$3" ;;
            esac
        done
    fi
    [ -e /proc/self/stat ] || ! kill -s 0 -- "-$session" || groups=-$session
    [ "$groups" ]
}
find_groups
kill -s TERM -- $groups
kill -s CONT -- $groups
rounds=0
while [ "$((rounds += 1))" -le 100 ]; do
    find_groups || exit
    sleep 0.02
done
kill -s KILL -- $groups
"""


class Guard:
    """A shell in its own session, out of reach of signals to ours; nothing if it cannot be started."""

    def __init__(self) -> None:
        theirs, self.pipe = os.pipe()
        path = {"PATH": os.environ.get("PATH", os.defpath)}  # the rest may be secret
        try:
            self.pid = spawn(["/bin/sh", "-c", _SCRIPT], [theirs, -1, -1], path, is_ours=True)
        except OSError:
            self.pid = 0
        finally:
            os.close(theirs)

    def watch(self, session: int) -> None:
        """Tell it the session to end once we are gone."""
        with Ignoring(BrokenPipeError):  # it was killed
            os.write(self.pipe, b"%d\n" % session)

    def close(self, *, ends_session: bool = False) -> None:
        """End it. With `ends_session` let it end what is left, as when a second signal came too early."""
        with HeldSignals():
            with Ignoring(ProcessLookupError):  # it was collected already
                if self.pid and not ends_session:
                    os.kill(self.pid, _signal.SIGKILL)
            os.close(self.pipe)
            with Ignoring(ChildProcessError):
                if self.pid:
                    os.waitpid(self.pid, 0)
