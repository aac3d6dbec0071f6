"""The flags of a map itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from pflow.errors import USAGE, PflowError
from pflow.map.item import ITEM
from pflow.map.loop import Halt


@dataclass
class MapOptions:
    """A map's own flags; the record of its run has them for a resume."""

    words: list[str] = field(default_factory=list)
    form: str = ""
    id_field: str = ""
    ledger: str = ""
    format: str = "jsonl"
    raw: bool = False
    nul: bool = False
    escape_formulas: bool = False
    order: str = ITEM
    errors: str = ""
    halt: str = ""
    limit: int | None = None
    sample: int | None = None
    shard: str = ""
    rpm: float | None = None
    tpm: float | None = None
    max_memory: int | None = None
    progress: str = ""
    executor: str = "local"
    scheduler: str = ""
    redo: bool = False
    failed: bool = False
    allow_empty: bool = False


def parse_halt(text: str) -> Halt:
    """Parse `soon|now[,fail=N|N%]`, as GNU parallel has it. Raises PflowError (2)."""
    when, _, said = text.partition(",")
    number = said.removeprefix("fail=").removesuffix("%") if said else "1"
    most = 100 if "%" in said else 10**9
    if when not in ("", "soon", "now") or not number.isdecimal() or not 0 < int(number) <= most:
        what = f"cannot take --halt={text}: it is soon or now, and how many may fail"
        raise PflowError(what, hint="--halt=soon,fail=3 or --halt=now,fail=10%", exit=USAGE)
    return Halt(float(number), said.endswith("%"), when == "now") if when else Halt()
