"""The inputs of an exported script: its flags, checked as `pflow run` checks those of a flow."""

from pflow import Any
from pflow.binding.flag_value import FlagValue
from pflow.binding.sources import find, has
from pflow.driver.questions import not_given
from pflow.errors import USAGE, Attempt, PflowError
from pflow.flow.flow import FlowInput
from pflow.interface.interface import Item, spell_flag
from pflow.stage.document import Document
from pflow.stage.words import take_words
from pflow.values.jsontext import decode
from pflow.values.paths import parse_path, write_path
from pflow.values.types import parse_type
from pflow.words.naming import listed


class GivenInputs:
    """The inputs that a JSON text declares as a flow does, and the `values` that words give them.

    Beside a flow's members, `flags` are other names of an input, `at` is its place in the store if that is not its
    name, `for` is who reads it, and `declared` is false for one that takes any value from the store. Raises PflowError
    (2) for a wrong word.
    """

    def __init__(self, text: str, words: list[str]) -> None:
        items: dict[str, Item] = {}
        self.inputs: list[FlowInput] = []
        self.readers: dict[str, str] = {}
        with Attempt("cannot take --inputs", of=(ValueError, AttributeError, TypeError), exit=USAGE):
            for name, about in decode(text.encode()).items():
                is_given = "default" in about
                facts = {"has_default": is_given, "required": not is_given, "declared": True, **about}
                facts |= {"doc": about.get("description", ""), "type": parse_type(about.get("type", "any"))[0]}
                facts["flag"] = spell_flag(name)
                each = FlowInput(name, parse_path(about.get("at", name)), **facts)
                self.inputs.append(each)
                self.readers[name] = about.get("for", "the flow")
                items |= {flag.replace("-", "_"): each.as_item() for flag in (name, *each.flags)}
        self.values: dict[str, Any] = {}
        for flag, texts in self._texts(words, items).items():
            item = items[flag]
            self.values[item.name] = FlagValue(item.flag, item.type, texts, verbatim=True).value

    def _texts(self, words: list[str], items: dict[str, Item]) -> dict[str, list[str | bool]]:
        try:
            return take_words(words, items)
        except PflowError as error:
            if "--help lists" in error.hint:  # the script has no --help
                error.hint = f"flags: {listed(spell_flag(each.name) for each in self.inputs)}" if items else ""
            raise

    @property
    def gives_pipe(self) -> bool:
        """True if a flag gives what else the pipe would."""
        return any(each.pipe and each.name in self.values for each in self.inputs)

    def fill(self, document: Document) -> None:
        """Put the values and the defaults into a store, and fit what it has. Raises PflowError (65, 66)."""
        for each in self.inputs:
            if each.name in self.values:
                document.put(each.path, self.values[each.name])
                if each.pipe:
                    document.header["last"] = write_path(each.path)
            elif has(document, each.path):
                value = find(document, each.path)
                if each.declared and (fitted := each.fitted(value, "")) is not value:
                    document.put(each.path, fitted)
            elif each.has_default:
                document.put(each.path, each.default)
        if missing := [each for each in self.inputs if each.required and not has(document, each.path)]:
            raise not_given({each: self.readers[each.name] for each in missing}, missing)
