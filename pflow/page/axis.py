"""The time of a run as a line from 0 to 100: the pauses between the parts of a resumed run are left out."""

from collections.abc import Sequence

from pflow.record.run import RUNNING
from pflow.record.trace import Trace

WHOLE = 100.0
_TICKS = 5
_LAST = 95.0
"""The place from which a time would not fit on the line any more."""
_STEPS = (1, 2, 5)


class Axis:
    """`parts` are the beginning and end of each part of a run, in seconds; `cuts` are the places where a part begins
    that is not the first.
    """

    def __init__(self, trace: Trace, now: float, moments: Sequence[float] = ()) -> None:
        """`moments` are further ones, beside those of the events, that the line has to hold."""
        end: float = max([now if trace["status"] == RUNNING else trace["last"], *moments])
        resumed = [event["time"] for event in trace["events"] if event.get("event") == "resume"]
        timed = sorted([*(event["time"] for event in trace["events"] if "event" in event), *moments, end])
        self.parts: list[tuple[float, float]] = []
        for begin, limit in zip([trace["began"], *resumed], [*resumed, end + 1], strict=True):
            self.parts.append((begin, max([begin, *(moment for moment in timed if begin <= moment < limit)])))
        self.seconds = sum(end - begin for begin, end in self.parts) or 1e-3
        self.cuts = [self.at(begin) for begin, _ in self.parts[1:]]

    def at(self, moment: float) -> float:
        """Return the place of a moment; one in a pause is where the pause was cut out."""
        before = 0.0
        for begin, end in self.parts:
            if moment <= end:
                return (before + max(0.0, moment - begin)) / self.seconds * WHOLE
            before += end - begin
        return WHOLE

    def span(self, begin: float, end: float) -> tuple[float, float]:
        """Return the place of a beginning, and the width up to an end."""
        left = self.at(begin)
        return left, max(self.at(end) - left, 0.0)

    def ticks(self) -> list[tuple[float, float]]:
        """Return round times to write on the line: the place of each, and its milliseconds."""
        power = 10.0 ** (len(f"{self.seconds * 1000 / _TICKS:.0f}") - 1)
        step = next((power * each for each in _STEPS if self.seconds * 1000 / (power * each) <= _TICKS), power * 10)
        places = [(step * n / 10 / self.seconds, step * n) for n in range(int(self.seconds * 1000 / step) + 1)]
        return [each for each in places if each[0] < _LAST]
