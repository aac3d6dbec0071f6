"""Runs whose pages are looked at: a small one, a failed one, a fork, a batch of 200, a map."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PFLOW = str(Path(sys.executable).parent / "pflow")

NOTES = "The bakery on Mill Street is closed in August. The market stall moves to Thursday.\n"
FORK = {
    "pflow": 1,
    "name": "review",
    "nodes": [
        {"id": "read", "type": "read-file", "inputs": {"path": "notes.txt"}},
        {"id": "facts", "type": "llm", "params": {"model": "priced"}, "inputs": {"prompt": "List the facts"}},
        {"id": "tone", "type": "llm", "params": {"model": "reply"}, "inputs": {"prompt": "Name the tone"}},
        {"id": "count", "type": "shell", "inputs": {"command": "sleep 0.2; wc -w"}},
        {
            "id": "join",
            "type": "template",
            "inputs": {"template": "${facts.response} ${tone.response} ${count.stdout}"},
        },
        {"id": "check", "type": "shell", "inputs": {"command": "test -e seen && grep -c . || { touch seen; exit 3; }"}},
        {"id": "again", "type": "shell", "inputs": {"command": "sleep 0.1; cat"}},
        {"id": "write", "type": "write-file", "inputs": {"path": "review.md"}},
    ],
    "edges": [
        *({"from": "read", "to": each} for each in ("facts", "tone", "count")),
        *({"from": each, "to": "join"} for each in ("facts", "tone", "count")),
        {"from": "join", "to": "check"},
        {"from": "check", "to": "again", "action": "error"},
        {"from": "again", "to": "check"},
        {"from": "check", "to": "write"},
    ],
    "mappings": {
        **{
            each: {
                "input_mappings": {"text": "read.content"},
                "output_mappings": {key: f"{each}.{key}" for key in ("response", "usage")},
            }
            for each in ("facts", "tone")
        },
        "count": {"input_mappings": {"input": "read.content"}},
        **{each: {"input_mappings": {"input": "join.text"}} for each in ("check", "again")},
        "write": {"input_mappings": {"content": "join.text"}},
    },
}
FAILING = (
    "read-file notes.txt => llm:summarize 'Summarize' --model=priced => llm:translate 'Translate into French'"
    " --model=rate-limited --retries=2 --wait=0.2 => write-file out.md"
)
TICKET = "read -r n; case $n in 17|133) echo no such ticket: $n >&2; exit 66;; esac; sleep 0.0$((n % 7))"


class Scenes:
    """Runs in a directory of their own, against a server of models whose settings are llm's."""

    def __init__(self, place: Path, llm: Path) -> None:
        self.place = place
        self.environment = {
            **os.environ,
            **dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(place / "home")),
            "PATH": f"{Path(PFLOW).parent}:{os.environ['PATH']}",
            "LLM_USER_PATH": str(llm),
            "NO_PROXY": "127.0.0.1",
        }
        (place / "notes.txt").write_text(NOTES)
        (place / "fork.pflow.json").write_text(json.dumps(FORK))

    def pflow(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PFLOW, *words],
            cwd=self.place,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def small(self) -> None:
        self.pflow("run", "--keep-store", "read-file notes.txt => llm Summarize --model=priced => write-file short.md")

    def failed(self) -> None:
        self.pflow("run", FAILING)

    def fork(self) -> None:
        self.pflow("run", "fork.pflow.json", "--keep-store")

    def batch(self) -> None:
        flow = f"shell --each --jobs=8 --keep-going '{TICKET}' => join-text"
        self.pflow("run", "--from=json", flow, stdin=json.dumps([*range(200)]))

    def map(self) -> None:
        numbers = "\n".join(map(str, range(300)))
        self.pflow("map", f"shell '{TICKET}'", "-j", "8", stdin=numbers)

    def page(self, name: str) -> Path:
        """Make the run of this name, and the page of it."""
        make: Callable[[], None] = getattr(self, name)
        make()
        page = self.place / f"{name}.html"
        made = self.pflow("trace", "last", f"--html={page}")
        assert made.returncode == 0, made.stderr
        return page

    def runs(self) -> Path:
        """Make the page of all these runs."""
        page = self.place / "runs.html"
        made = self.pflow("runs", f"--html={page}")
        assert made.returncode == 0, made.stderr
        return page
