"""The template node: fill a template from the store."""

from pflow.node import Any, Node, Shared, flow_safe


@flow_safe
class Template(Node):
    """Fill a template with values from the store.

    Like any flag, the template is filled just before the node runs: $name and ${a.path[0]} come from the store, and $$
    is a dollar. Single quotes protect it from the shell. --template@letter.txt reads it from a file. Inserted values,
    and a template that comes from the store, are never expanded.

    Interface:
    - Reads: shared["template"]: str [explicit] [own] [word]  # the template: 'Dear $name'
    - Writes: shared["text"]: str [pipe]  # the filled template

    Examples:
        pflow-set name=Zoë | pflow-template 'Dear $name,'
        cat examples/notes.txt | pflow-template --template='Notes: $stdin' -r
        echo 'Dear $title $name' >letter.txt; pflow-set title=Dr. name=Grau | pflow-template --template@letter.txt -r
        pflow-set amount:=5 | pflow-template '$amount $$' -r
    """

    def prep(self, shared: Shared) -> Any:
        return shared["template"]

    def exec(self, template: str) -> str:
        return template

    def post(self, shared: Shared, template: str, text: str) -> None:
        shared["text"] = text
