from pathlib import Path

from pflow import Node


class WriteCard(Node):
    """Write a card with a title and a list to a file.

    Interface:
    - Reads: shared["items"]: list[str] [pipe]  # what the card lists
    - Reads: shared["path"]: path [explicit] [word]  # the file to write
    - Reads: shared["title"]: str = "Words"  # the first line
    - Writes: shared["card"]: str [pipe]  # what was written
    - Effects: writes files
    - Repeats: yes

    Examples:
    echo 'Ash, oak, ash.' | pflow frequent-words --letters=3 | pflow write-card card.md -r
    """

    version = "1.0.0"

    def prep(self, shared):
        return shared["title"], shared["items"], shared["path"]

    def exec(self, prepared):
        title, items, path = prepared
        card = "".join([f"# {title}\n\n", *(f"- {item}\n" for item in items)])
        Path(path).write_text(card, encoding="utf-8")
        return card

    def post(self, shared, prepared, card):
        shared["card"] = card
