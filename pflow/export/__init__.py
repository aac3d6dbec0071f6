"""A flow written for somebody else: as Python, as a shell script, as pipe syntax, as a picture.

EXPORTERS gives for each target a function from a plan to its text, imported when it is asked for. It raises PflowError
(65) where the target cannot say what the flow says.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.flow.wired import WiredFlow


def _exporter(target: str) -> Callable[[WiredFlow], str]:
    def export(plan: WiredFlow) -> str:
        module = __import__(f"pflow.export.{target}", fromlist=["export"])
        return str(module.export(plan))

    return export


EXPORTERS = {target: _exporter(target) for target in ("python", "sh", "pipe", "mermaid", "dot")}
