"""The cases of ask, where nobody can be asked."""

from tests.nodes.cases.case import Case

CASES = [
    Case("ask", ["--question=Which?", "--default=French"], writes={"answer": "French"}),
    Case("ask", ["--question=Which?"], exit=66),
    Case("ask", ["--question=Which?", "--choice=a", "--default=b"], exit=2),
]
