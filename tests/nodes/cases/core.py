"""The cases of list-files, llm, read-file, shell and write-file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.nodes.cases.case import ANY, Case
from tests.peers.openai_server import OpenAIServer


@contextmanager
def models(here: Path) -> Iterator[Mapping[str, str]]:
    with OpenAIServer(here) as server:
        yield {"LLM_USER_PATH": str(server.llm_user_path), "NO_PROXY": "127.0.0.1"}


CASES = [
    Case(
        "list-files",
        ["{here}/*.txt"],
        files={"b.txt": "", "a.txt": ""},
        writes={"files": ["{here}/a.txt", "{here}/b.txt"]},
    ),
    Case("list-files", ["*", "--directory=none"], exit=66),
    Case(
        "llm",
        ["Say this", "--model=echo"],
        pipe="two words",
        around=models,
        writes={"response": "two words\n\nSay this", "usage": ANY},
    ),
    Case("read-file", ["--path={here}/a.txt"], files={"a.txt": "grün\n"}, writes={"content": "grün\n"}),
    Case("read-file", ["--path=a.txt"], files={"a.txt": b"\xff\x00"}, writes={"content": b"\xff\x00"}),
    Case("read-file", ["--path=none.txt"], exit=66),
    Case("shell", ["tr a-z A-Z"], pipe="loud", writes={"stdout": "LOUD", "stderr": "", "exit_code": 0}),
    Case(
        "shell",
        ["exit 3", "--no-check"],
        writes={"stdout": "", "stderr": "", "exit_code": 3},
        action="error",
        words=["cat"],
    ),
    Case("shell", ["exit 3"], exit=3),
    Case("write-file", ["--path=out/a.txt"], pipe="text\n", left={"out/a.txt": "text\n"}),
    Case("write-file", ["--path=a.json"], pipe={"a": [1]}, left={"a.json": '{"a":[1]}\n'}),
    Case("write-file", ["--path=a.md", "--format=markdown"], pipe="# A\n", left={"a.md": "# A\n"}),
    Case("write-file", ["--path=a.md", "--format=text"], pipe={"a": [1]}, exit=65),
]
