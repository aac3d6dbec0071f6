"""The cases of template, select, choose, split-text, join-text, parse-json and format-json."""

from tests.nodes.cases.case import Case

CASES = [
    Case("template", ["--template=Dear Zoë,"], writes={"text": "Dear Zoë,"}),
    Case("select", ["items[-1].name"], pipe={"items": [{"name": "Ada"}]}, writes={"selected": "Ada"}, words=[]),
    Case("select", ["--place=b"], pipe={"a": 1}, exit=66),
    Case("choose", ["yes", "not sure"], pipe=" Not Sure.\n", action="not sure", words=["--text=no", "yes", "no"]),
    *(Case("choose", ["yes", "no"], pipe=text, exit=65) for text in ("yes no", "yes!", "Yes, it is.", "y")),
    Case("split-text", ["--size=5", "--overlap=2"], pipe="a b c d", writes={"chunks": ["a b ", "b c d"]}),
    Case("join-text", ["--separator=-"], pipe=["a", {"b": 1}], writes={"text": 'a-{"b":1}'}),
    Case("parse-json", pipe='{"a": [1]}', writes={"data": {"a": [1]}}, words=["--text=[1]"]),
    Case("parse-json", pipe="{", exit=65),
    Case("format-json", ["--indent=0"], pipe={"b": 1, "a": [None]}, writes={"text": '{"b":1,"a":[null]}\n'}),
]
