"""`make doors`: its options, and the table at its end."""

from collections import Counter
from itertools import combinations

import pytest

OPTIONS = {"seed": 46, "cases": 40, "case": -1, "drawn": 5, "doors": "", "shrink": 0}
"""With their values in CI. --case takes one, by all doors; --doors names some; --shrink 1 makes what differs small."""


def pytest_addoption(parser):
    for name, default in OPTIONS.items():
        parser.addoption(f"--{name}", type=type(default), default=default)


def pytest_report_header(config):
    return f"seed {config.option.seed}"


@pytest.fixture(scope="session")
def chosen(pytestconfig):
    return {name: pytestconfig.getoption(name, default) for name, default in OPTIONS.items()}


def pytest_generate_tests(metafunc):
    number, count = (metafunc.config.getoption(name, OPTIONS[name]) for name in ("case", "cases"))
    metafunc.parametrize("number", range(count) if number < 0 else [number])


def pytest_terminal_summary(terminalreporter):
    """Print how each door took the cases, and how often each two met in one."""
    called = [each for some in terminalreporter.stats.values() for each in some if getattr(each, "when", "") == "call"]
    taken = [dict(report.user_properties) for report in called]
    for (door, how), times in sorted(Counter(each for doors in taken for each in doors.items()).items()):
        terminalreporter.write_line(f"{times:6} {door} {how}")
    pairs = Counter(pair for doors in taken for pair in combinations(sorted(doors), 2))
    for pair, times in pairs.most_common()[-1:]:
        terminalreporter.write_line(f"{len(pairs)} pairs of doors, the rarest {' and '.join(pair)}, {times} times")
