"""`pflow-llm` beside `llm`: what the lines of docs/llm.md do, typed to both at a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner
from llm.cli import cli
from llm.migrations import migrate
from sqlite_utils import Database

from pflow.stage.main import main
from tests.peers.openai_server import OpenAIServer
from tests.peers.warm import LIBRARIES

for library in ("openai.resources.chat", "pflow.models.choose", "pflow.models.ask", *LIBRARIES):
    import_module(library)  # once, before the forks

PAGE = (Path(__file__).parents[2] / "docs" / "llm.md").read_text()
ROWS = re.findall(r"^\| `(.+)` \| (same|differs) \| (.*?) *\|$", PAGE, re.MULTILINE)
PROGRAMS: dict[str, Callable[[], Any]] = {"llm": cli, "pflow-llm": lambda: main("llm")}
FILES = {
    "notes.txt": b"Oaks grow slowly.\n",
    "empty.txt": b"",
    "photo.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde",
    "bill.pdf": b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n",
    "tree.json": b'{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}',
    "llm/default_model.txt": b"reply",
    "llm/aliases.json": b'{"parrot": "echo"}',
    "llm/model_options.json": b'{"whole": {"temperature": 0.5}}',
}


TRANSIENT = {"id", "datetime_utc", "duration_ms"}


@pytest.fixture(scope="module")
def empty_log(tmp_path_factory):
    """llm's log before the first answer: to make one takes as long as to ask."""
    file = tmp_path_factory.mktemp("log") / "logs.db"
    database = Database(file)
    migrate(database)
    database.close()
    return file


@pytest.fixture
def typed(tmp_path, empty_log):
    """Types a line to one of the two programs, each with files and settings of its own; what came of it."""
    (tmp_path / "server").mkdir()
    with OpenAIServer(tmp_path / "server") as server:

        def type_line(program: str, line: str) -> dict[str, Any]:
            home = tmp_path / program
            shutil.copytree(server.llm_user_path, home / "llm")
            shutil.copy(empty_log, home / "llm")
            for name, data in FILES.items():
                (home / name).write_bytes(data)
            before = len(server.requests())
            line = line.replace("http://example.com", f"http://127.0.0.1:{server.port}")
            ran = [run(program, words, home) for words in line.split("; ")]
            asked = [(each["path"], each["body"]) for each in server.requests()[before:]]
            return {"ran": ran, "asked": asked, "logged": logged(home)}

        yield type_line


def logged(home: Path) -> list[dict[str, Any]]:
    """What `llm logs` knows, without ids, times and the place where it was."""
    listed = CliRunner().invoke(cli, ["logs", "list", "--json", "-n", "0", "-d", str(home / "llm" / "logs.db")])
    found = json.loads(listed.stdout.replace(str(home), "~")) if listed.exit_code == 0 else []
    conversations: dict[str, int] = {}
    for each in found:
        each["conversation_id"] = conversations.setdefault(each["conversation_id"], len(conversations))
    return [{name: value for name, value in each.items() if name not in TRANSIENT} for each in found]


def run(program: str, line: str, home: Path) -> tuple[int, Any]:
    """The exit code and what a terminal shows, JSON as what it means."""
    file, line = re.fullmatch(r"(?:cat (\S+) \| )?(.*)", line).groups()
    words = shlex.split(line)
    at = words.index("llm")
    stdin = (home / file).read_bytes() if file else None
    pid, terminal = pty.fork()
    if pid == 0:
        be(program, words[at + 1 :], stdin, home, dict(word.split("=", 1) for word in words[:at]))
    shown = b""
    while part := read(terminal):
        shown += part
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = shown.decode().replace("\r\n", "\n")
    try:
        return code, json.loads(text)
    except ValueError:
        return code, text


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # nobody has its other side any more
        return b""


def be(program: str, words: list[str], stdin: bytes | None, home: Path, variables: dict[str, str]) -> NoReturn:
    """In the child process: become the program, which has a terminal for its stdout alone."""
    code = 99
    try:
        reading, writing = os.pipe()
        os.write(writing, stdin or b"")
        os.close(writing)
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else reading, 0)
        os.dup2(os.open(home / "err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
        os.chdir(home)
        for name in ("PFLOW_MODEL", "LLM_MODEL", "OPENAI_API_KEY"):
            os.environ.pop(name, None)
        os.environ |= {"HOME": str(home), "LLM_USER_PATH": str(home / "llm"), "NO_PROXY": "127.0.0.1"}
        os.environ |= {"PFLOW_LLM_LOG": "1", **variables}
        sys.argv = [program, *words]
        PROGRAMS[program]()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@pytest.mark.parametrize(("line", "verdict", "why"), ROWS)
def test_a_line_does_the_same_or_differs_as_the_page_says(typed, line, verdict, why):
    line = line.replace("\\|", "|")
    outcomes = [typed(program, line) for program in PROGRAMS]
    assert bool(why) == (verdict == "differs")
    if verdict == "same":
        assert outcomes[0] == outcomes[1]
        assert all(outcomes[0].values())
    else:
        assert outcomes[0] != outcomes[1]


def test_the_page_has_every_option_of_llm():
    known = {option for each in cli.commands["prompt"].params for option in each.opts if option.startswith("-")}
    told = {word for cell in re.findall(r"`(.+?)`", PAGE) for word in cell.split() if word.startswith("-")}
    assert known - told == set()
