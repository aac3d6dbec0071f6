"""Man pages as mandoc shows them, and what it finds wrong with them."""

import os
import re
import subprocess

from tests.tools import need

WIDTH, TERMINAL = 78, 80
"""How wide text is filled in a terminal, and how many columns that has."""


def mandoc(page: str, *options: str) -> str:
    need("mandoc")
    ran = subprocess.run(
        ["mandoc", *options],
        input=page.encode(),
        capture_output=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    return (ran.stdout + ran.stderr).decode()


def lint(page: str) -> str:
    return mandoc(page, "-Tlint")


def rendered(page: str, width: int = WIDTH) -> str:
    """The page as a terminal shows it, without bold and underline."""
    return re.sub(".\b", "", mandoc(page, "-Tutf8", f"-Owidth={width}")).replace("\xa0", " ")


def manned(page: str, width: int = WIDTH) -> str:
    """The page as man-db shows it; groff 1.24 writes an em dash twice."""
    need("man", "groff")
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": str(width), "MANPAGER": "cat", "TERM": "dumb"}
    ran = subprocess.run(["man", "-l", "-"], input=page.encode(), capture_output=True, env=environment, check=False)
    assert ran.stderr == b""
    return re.sub("\x1b\\[[0-9;]*m|.\b", "", ran.stdout.decode()).replace("\xa0", " ").replace("——", "—")


def sections(text: str) -> dict[str, str]:
    """The text of each section of a rendered page, by its title."""
    titles = list(re.finditer(r"^[A-Z][A-Z ]*$", text, re.MULTILINE))
    ends = [title.start() for title in titles[1:]] + [text.rstrip().rfind("\n")]
    return {title[0]: text[title.end() : end].strip("\n") for title, end in zip(titles, ends, strict=True)}


def tagged(text: str) -> dict[str, str]:
    """The rows of a section that is a list: what each tag is followed by, on one line."""
    rows: dict[str, str] = {}
    tag = ""
    for line in filter(str.strip, text.split("\n")):
        if len(line) - len(line.lstrip()) == 5:
            tag, _, rest = line.strip().partition("  ")
            rows[tag] = rest.strip()
        elif tag:
            rows[tag] = f"{rows[tag]} {line.strip()}".strip()
    return {tag: " ".join(text.split()) for tag, text in rows.items()}
