"""The file that a new node begins as."""

from __future__ import annotations

import keyword
import os

PYTHON, SH, JS = "python", "sh", "js"
LANGUAGES = (PYTHON, SH, JS)


def is_good_name(name: str) -> bool:
    """Whether a new node may be called so: small words of letters and digits, with dashes between, a letter first."""
    is_plain = name.isascii() and name == name.lower() and name[:1].isalpha()
    return is_plain and all(word.isalnum() for word in name.split("-"))


def file_name(name: str, language: str) -> str:
    return name.replace("-", "_") + ".py" if language == PYTHON else "pflow-" + name


def text_of_node(name: str, language: str) -> str:
    template = os.path.join(os.path.dirname(__file__), f"{language}.txt")
    with open(template, encoding="utf-8") as file:
        return file.read().replace("@name@", name).replace("@Class@", class_name(name))


def class_name(name: str) -> str:
    """CountWords for count-words; NodeNode and NoneNode for what would be another thing in Python."""
    title = "".join(word.title() for word in name.split("-"))
    return title + "Node" if keyword.iskeyword(title) or title == "Node" else title
