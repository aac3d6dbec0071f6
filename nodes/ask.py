"""The ask node: ask the person at the terminal."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import MISSING, USAGE, PflowError, shorten
from pflow.node import Node, Shared
from pflow.text.printable import clean

if TYPE_CHECKING:
    from pflow.terminal.ask import Terminal


_ERASE_LINE = "\r\x1b[K"
"""In a run the line may show the current step; the question replaces it."""


class Ask(Node):
    """Ask the person at the terminal.

    The question goes to the terminal, whatever stdin and stdout are. The answer is one line; with --choice it is one of
    the choices, or the beginning of one. An empty line means the default. If nobody can be asked, as in cron or with
    stderr in a file, the default is the answer; without a default it fails (66).

    Interface:
    - Reads: shared["question"]: str [explicit] [own] [word]  # the question
    - Writes: shared["answer"]: str [pipe]  # the answer
    - Params: choices: list[str] = [] [flag choice]  # an allowed answer
    - Params: default: str = null  # the answer to an empty line, and if nobody can be asked
    - Repeats: yes

    Examples:
        pflow-ask 'Which language?' --default=French -r
        pflow-read-file examples/notes.txt | pflow-ask 'Send it?' --choice=yes --choice=no --default=no -r
    """

    def prep(self, shared: Shared) -> str:
        choices, default = self.params["choices"], self.params["default"]
        if choices and default is not None and default not in choices:
            what = f"cannot use '{shorten(default)}' as the default: it is not one of the choices"
            raise PflowError(what, hint=f"--default takes one of {', '.join(choices)}", exit=USAGE)
        return "\n".join(map(clean, shared["question"].rstrip().split("\n")))

    def exec(self, question: str) -> str:
        from pflow.terminal.ask import open_terminal

        terminal = open_terminal()
        answer = None
        if terminal is not None:
            with terminal:
                answer = self._ask(terminal, question)
        if answer is None:
            answer = self.params["default"]
        if answer is None:
            why = "there is no terminal" if terminal is None else "no answer came"
            raise PflowError(f"cannot ask '{shorten(question)}': {why}", hint="--default answers for it", exit=MISSING)
        return str(answer)

    def post(self, shared: Shared, question: str, answer: str) -> None:
        shared["answer"] = answer

    def _ask(self, terminal: Terminal, question: str) -> str | None:
        """Ask until the answer is valid; None at the end of input, or for an empty line with a default."""
        choices, default = self.params["choices"], self.params["default"]
        options = f" [{', '.join(map(clean, choices))}]" if choices else ""
        shown = f"{question}{options}{f' ({clean(default)})' if default else ''}"
        terminal.wait_for_turn()
        terminal.discard_typed()
        while True:
            answer = terminal.ask(f"{_ERASE_LINE}{shown}\n> ")
            if answer is None or (not answer and default is not None):
                return None
            if not choices and answer:
                return answer
            meant = [answer] if answer in choices else [each for each in choices if each.startswith(answer)]
            if answer and len(meant) == 1:
                return str(meant[0])
