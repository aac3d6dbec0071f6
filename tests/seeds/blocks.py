"""The papers' code blocks, in the order in which they are printed, and what of them is a command line."""

import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAPERS = sorted(file.stem for file in (HERE / "papers").glob("*.md"))


def blocks(paper: str) -> list[str]:
    """The blocks of a paper, without their fences."""
    text = (HERE / "papers" / f"{paper}.md").read_text()
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block(paper: str, number: int) -> str:
    """A block by its number; the first one of a paper is 1."""
    return blocks(paper)[number - 1]


def execute(paper: str, number: int, names: dict[str, Any]) -> dict[str, Any]:
    """Run a Python block where these names are known, and give all names that are known after it."""
    exec(compile(block(paper, number), f"seed {paper}, block {number}", "exec"), names)
    return names


def line(paper: str, number: int) -> str:
    """The flow in a block that is a command line: what stands behind its `pflow`, without comments."""
    words = re.sub(r"^#.*\n", "", block(paper, number), flags=re.MULTILINE)
    return words.partition("pflow ")[2]
