"""The split-text node: split a text into chunks."""

from pflow.errors import USAGE, PflowError, check_natural
from pflow.node import Node, Shared, flow_safe
from pflow.values.chunks import chunks, parts


@flow_safe
class SplitText(Node):
    """Split a text into chunks, as for a batch (--each) over a text that is too long for a model.

    A chunk ends at the end of a paragraph if it contains one, else of a line, a sentence or a word. Joined, the
    chunks are the text again. With --size=0 each paragraph, line, … is a chunk.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Writes: shared["chunks"]: list[str] [pipe]  # its chunks, in order
    - Params: size: int = 4000 [natural]  # the maximum number of characters in a chunk
    - Params: overlap: int = 0 [natural]  # repeat up to this many characters of the chunk before, in whole words
    - Params: by: paragraph|line|sentence|word|character = "paragraph"  # where to cut if possible
    - Params: strip: bool = false  # strip white space around each chunk, and drop empty chunks

    Examples:
        pflow-split-text --size=200 <examples/notes.txt
        printf 'one\\n\\ntwo\\nthree\\n' | pflow-split-text --by=line --size=0 --strip -r
        pflow-read-file examples/notes.txt | pflow-split-text --size=300 --overlap=50 --by=sentence -r
    """

    def prep(self, shared: Shared) -> str:
        size, overlap = self.params["size"], self.params["overlap"]
        check_natural("--size", size)
        if not 0 <= overlap <= max(size - 1, 0):
            what = f"cannot have chunks of {size} characters overlap by {overlap}"
            raise PflowError(what, hint="--overlap must be less than --size", exit=USAGE)
        return str(shared["text"])

    def exec(self, text: str) -> list[str]:
        size, by = self.params["size"], self.params["by"]
        found = chunks(text, size, by, self.params["overlap"]) if size else parts(text, by)
        if not self.params["strip"]:
            return list(found)
        return [chunk for chunk in map(str.strip, found) if chunk]

    def post(self, shared: Shared, text: str, chunks: list[str]) -> None:
        shared["chunks"] = chunks
