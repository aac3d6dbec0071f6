"""What is wrong with a flow: found by the rules, and said."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow


def errors_of(flow: Flow) -> list[Finding]:
    """Every error of a flow, no warnings."""
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire

    return [each for each in check(wire(flow)) if not each.is_warning]


def tell_findings(findings: Iterable[Finding]) -> None:
    from pflow.terminal.messages import say

    for finding in findings:
        say("pflow", str(finding))
