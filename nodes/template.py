"""The template node: a text with what the store holds in it."""

from __future__ import annotations

from pflow.node import Any, Node, Shared, flow_safe


@flow_safe
class Template(Node):
    """Fill a template with what the store holds.

    The template is filled as any flag is: $name and ${a.path[0]} from the store, just before the node runs; $$ is a
    dollar. Single quotes keep the shell away from it. --template@letter.txt takes it from a file. A template that is
    itself data, out of the store, stays as it is: what is brought in is never looked through.

    Interface:
    - Reads: shared["template"]: str [explicit] [own] [word]  # the template, 'Dear $name', as a person wrote it
    - Writes: shared["text"]: str [pipe]  # the template with its references filled

    Examples:
        pflow-set name=Zoë | pflow-template 'Dear $name,'
        cat examples/notes.txt | pflow-template --template='Notes: $stdin' -r
        echo 'Dear $title $name' >letter.txt; pflow-set title=Dr. name=Grau | pflow-template --template@letter.txt -r
        pflow-set amount:=5 | pflow-template '$amount $$' -r
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> Any:
        return shared["template"]

    def exec(self, template: str) -> str:
        return template

    def post(self, shared: Shared, template: str, text: str) -> None:
        shared["text"] = text
