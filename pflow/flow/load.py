"""Loading a flow: from a file or JSON text to a Flow, with what is wrong with its shape."""

from __future__ import annotations

from pflow.errors import BAD_DATA, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow


class Loaded:
    """A flow as far as it has the right shape, and a finding for each part that has not."""

    def __init__(self, flow: Flow, findings: list[Finding]) -> None:
        self.flow = flow
        self.findings = findings

    def usable(self) -> Flow:
        """The flow. Raises PflowError (65) at the first wrong shape."""
        for finding in self.findings:
            if not finding.is_warning:
                raise PflowError(f"cannot load the flow: {finding}", exit=BAD_DATA)
        return self.flow


def load_file(file: str) -> Loaded:
    raise NotImplementedError


def load_text(text: str, name: str, directory: str = ".") -> Loaded:
    raise NotImplementedError
