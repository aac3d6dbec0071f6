"""What setup did, or would do, as text."""

from __future__ import annotations

from pflow.setup import changes as kinds
from pflow.setup import startup
from pflow.setup.places import FOLDERS
from pflow.terminal.columns import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.setup.advice import Advice
    from pflow.setup.places import Places
    from pflow.setup.work import Report

_DONE = {
    kinds.WRITE: "wrote",
    kinds.UPDATE: "updated",
    kinds.REMOVE: "removed",
    kinds.KEEP: "unchanged",
    kinds.FOUND: "was there already",
    kinds.CHANGED: "left",
}
_WOULD = {**_DONE, kinds.WRITE: "would write", kinds.UPDATE: "would update", kinds.REMOVE: "would remove"}
_ZSHRC = {
    startup.ADD: ("added a block to", "would add a block to"),
    startup.REMOVE: ("removed the block from", "would remove the block from"),
}


def file_lines(places: Places, report: Report, *, is_dry: bool) -> list[str]:
    """A line a file."""
    words = _WOULD if is_dry else _DONE
    return [f"{words[kind]} {clean(places.path(name))}" for name, kind in report.files.items()]


def summary(places: Places, report: Report, *, is_dry: bool) -> list[str]:
    """A line for man and for each shell: how many files, and where."""
    words = _WOULD if is_dry else _DONE
    lines = []
    for program, folder in FOLDERS.items():
        found = [kind for name, kind in report.files.items() if name.startswith(f"{folder}/")]
        counts = [f"{words[kind]} {found.count(kind)}" for kind in words if kind in found]
        if counts:
            lines.append(f"{program:5} {', '.join(counts)} in {clean(places.folder(program))}")
    return lines


def zshrc_line(report: Report, *, is_dry: bool) -> list[str]:
    return [f"zsh   {_ZSHRC[report.zshrc][is_dry]} {clean(report.zshrc_path)}"] if report.zshrc in _ZSHRC else []


def advice_lines(advice: list[tuple[str, Advice | None]]) -> list[str]:
    """What the user still has to do."""
    needed = [(program, each) for program, each in advice if each]
    done = [program for program, each in advice if not each]
    lines = ["", f"New shells find this by themselves: {', '.join(done)}."] if done else []
    for program, (what, text) in needed:
        lines += ["", f"For {program}, {clean(what)}", *[f"  {line}" for line in text]]
    return lines
