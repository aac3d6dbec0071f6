"""What a check tells other programs: the findings, each with where it is and what would mend it, and what is asked."""

from __future__ import annotations

from pflow.errors import names_meant
from pflow.explain.effects import touches
from pflow.explain.needs import gives, needs, piped
from pflow.explain.origins import Origins
from pflow.flow.findings import pointer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow
    from pflow.flow.wired import WiredFlow


def verdict(plan: WiredFlow | None, findings: Iterable[Finding], code: int) -> dict[str, Any]:
    """The document of a check that ends in this exit code. Without a plan, the flow could not be read."""
    flow = plan.flow if plan else None
    return {
        "ok": code == 0,
        "exit": code,
        "dialect": flow.dialect if flow else None,
        "steps": len(flow.steps) if flow else None,
        "findings": [finding_entry(each, flow) for each in findings],
        **(_account(plan) if plan else {}),
    }


def finding_entry(finding: Finding, flow: Flow | None) -> dict[str, Any]:
    """A finding with its place as a JSON `pointer`; where the remedy has them, the names that may have been meant
    (`near`, the nearest first), and what to `merge` into the flow (RFC 7396)."""
    about = {**finding.as_json(), "pointer": pointer(finding.place)}
    if near := names_meant(finding.remedy):
        about["near"] = near
    if merge := _merge(finding.remedy):
        about["merge"] = merge
    return about


def _merge(remedy: str) -> dict[str, Any] | None:
    """What a remedy that is a whole member of a flow stands for: `"mappings": {…}`."""
    if not remedy.startswith(('"mappings": {', '"inputs": {')):
        return None
    from pflow.jsontext import decode

    try:
        merge = decode(f"{{{remedy}}}".encode())
    except ValueError:  # a part of it is for a person to fill in
        return None
    return merge if isinstance(merge, dict) else None


def _account(plan: WiredFlow) -> dict[str, Any]:
    origins = Origins(plan)
    return {
        "name": plan.flow.name,
        "description": plan.flow.description,
        "needs": needs(plan),
        "piped": piped(plan),
        "gives": gives(plan, origins),
        "touches": touches(plan, origins),
    }
