import re

from pflow import Node, flow_safe


@flow_safe
class ExtractLinks(Node):
    """Find the links in a page or a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the page, or any text
    - Writes: shared["links"]: list[str] [pipe]  # the addresses in it, in their order
    """

    version = "1.0.0"

    def prep(self, shared):
        return re.findall(r"https?://[^\s\"'<>)]+", shared["text"])

    def post(self, shared, found, _):
        shared["links"] = found
