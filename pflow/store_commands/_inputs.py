"""The inputs of an exported script: its flags, parsed and checked as `pflow run` does with a flow's flags."""

from pflow.binding.flag_value import FlagValue
from pflow.binding.store import NodeStore
from pflow.driver.inputs import RunInputs, not_given
from pflow.errors import PflowError
from pflow.flow.flow import FlowSpec
from pflow.flow.graph import Graph
from pflow.flow.ir import inputs_of_script
from pflow.flow.wired_flow import WiredFlow
from pflow.interface.interface import spell_flag
from pflow.stage.document import Document
from pflow.stage.words import take_words
from pflow.text.naming import listed
from pflow.values.paths import write_path


class GivenInputs(RunInputs):
    """The inputs that a JSON text declares, with the values that words give them. Raises PflowError (2)."""

    def __init__(self, text: str, words: list[str]) -> None:
        super().__init__(WiredFlow(FlowSpec([], []), Graph([], [])))
        self.wired.inputs = inputs = inputs_of_script(text)
        named = [(name, each.as_field()) for each in inputs.values() for name in (each.name, *each.flags)]
        fields = {name.replace("-", "_"): field for name, field in named}
        try:
            texts = take_words(words, fields)
        except PflowError as error:
            if "--help lists" in error.hint:  # an exported script has no --help
                error.hint = f"flags: {listed(map(spell_flag, inputs))}" if inputs else ""
            raise
        for name, said in texts.items():
            self.values[name] = FlagValue(inputs[name].flag, inputs[name].type, said, verbatim=True).value
        self.carried = [each.path for each in inputs.values() if each.pipe and each.name in self.values]
        """The places of inputs that the pipe would fill but a flag has filled.

        The outgoing pipe then carries these values.
        """

    def put_into(self, document: Document) -> None:
        """Put values and defaults into a store, and fit the store's own values. Raises PflowError (65, 66)."""
        if missing := self.missing(document):
            raise not_given({each: vars(each).get("reader", "the flow") for each in missing}, missing)
        store = NodeStore(document, has_copies=False)
        self.fill(store)
        for key in store.changed:
            document.set(key, store[key])
        for path in self.carried:
            document.header["last"] = write_path(path)
