"""Everything that is demanded of a node: one table."""

from __future__ import annotations

from pflow.conformance.checks import answering, declared, input, passing, pipes, purity, refusing

CHECKS = (
    *declared.CHECKS,
    *answering.CHECKS,
    *passing.CHECKS,
    *refusing.CHECKS,
    *input.CHECKS,
    *pipes.CHECKS,
    *purity.CHECKS,
)
