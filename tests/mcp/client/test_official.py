"""The official MCP servers, unmodified: MCP_SERVERS is where .ci/run puts them."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.tools import need

SERVERS = {
    # the command, a tool, what a pipe gives it, and what each of its answers holds
    "time": ("mcp-server-time", "get-current-time", "Etc/UTC", '"timezone":"Etc/UTC"'),
    "git": ("mcp-server-git", "log", ".", "Message: first"),
    "everything": ("mcp-server-everything", "echo", "hi", "Echo: hi"),
    "filesystem": ("mcp-server-filesystem .", "read-text-file", "a.txt", '{"content":"an oak\\n"}'),
    "memory": ("mcp-server-memory", "search-nodes", "oak", '[{"name":"oak","entityType":"tree","observations":[]}]'),
}

PREPARED = """
echo an oak >a.txt
for _ in $(seq 10); do echo "$value"; done >values
git init -q . && git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m first
"""

CALLS = """
if [ $server = memory ]; then
    pflow-mcp-memory-create-entities --entities='[{"name":"oak","entityType":"tree","observations":[]}]' >made
fi
printf %s "$value" | pflow-$tool | jq -c .result
pflow "template '$value' => $tool" | jq -c .result
jq -cRn '[inputs]' values | pflow "$tool --each --jobs=4" -r | jq -c '.[]'
pflow map $tool values --from=lines --jobs=4 | jq -c .result
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    need("node", "jq", "git", "bash")
    place = Path(os.environ.get("MCP_SERVERS", "none")).absolute()
    if not place.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("the official servers are not there (MCP_SERVERS)")
    path = f"{tmp_path}/.local/bin:{os.environ['PATH']}:{place}/bin:{place}/node_modules/.bin"
    return {"HOME": str(tmp_path), "PATH": path, "MEMORY_FILE_PATH": str(tmp_path / "memory")}


@pytest.mark.parametrize("server", SERVERS)
def test_each_tool_has_help_and_answers_alike_in_a_pipe_a_flow_a_batch_and_a_map(
    server: str, environment: dict[str, str], tmp_path: Path
) -> None:
    def shell(script: str) -> list[str]:
        about = {**environment, "server": server, "tool": f"mcp-{server}-{tool}", "value": value}
        words = ["bash", "-euo", "pipefail", "-c", script]
        ran = subprocess.run(words, env=about, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()

    command, tool, value, wanted = SERVERS[server]
    shell(PREPARED)
    programs = shell(f"pflow mcp add {server} --env=MEMORY_FILE_PATH -- {command}")
    assert f"pflow-mcp-{server}-{tool}" in programs
    helped = shell("; ".join(f"{program} --help | head -n 1" for program in programs))
    assert [line.split()[1] for line in helped] == programs
    answers = shell(CALLS)
    assert len(answers) == 22
    assert [answer for answer in answers if wanted not in answer] == []
