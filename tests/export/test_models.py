"""Flows that ask models, against a server of their protocol: two never overwrite each other, however they run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.export.cases import Case, chain, node, reads
from tests.export.running import BIN, environment, export, lay_out, store_of
from tests.peers.openai_server import OpenAIServer

ASK = "First:\n\none two\n"
FLOWS = {
    "pipe syntax": "read-file --path=a.txt => llm --prompt='First:' => llm --prompt='Then:' => write-file --path=c.txt",
    "mappings": chain(
        node("read-file", inputs={"path": "a.txt"}),
        node("llm", inputs={"prompt": "First:"}),
        node("llm-2", "llm", inputs={"prompt": "Then:"}, params={"temperature": 0}),
        node("write-file", inputs={"path": "c.txt"}),
        mappings=reads(
            **{
                "llm": {"text": "content"},
                "llm-2": {"text": "llm.response"},
                "write-file": {"content": "llm-2.response"},
            }
        ),
    ),
    "templates": chain(
        node("read-file", inputs={"path": "a.txt"}),
        node("llm"),
        node("llm-2", "llm"),
        node("write-file", inputs={"path": "c.txt"}),
        mappings=reads(
            **{
                "llm": {"prompt": "template:First:\n\n${content}"},
                "llm-2": {"prompt": "template:Then:\n\n${llm.response}"},
                "write-file": {"content": "llm-2.response"},
            }
        ),
    ),
}


@pytest.fixture
def server(tmp_path):
    with OpenAIServer(tmp_path) as server:
        yield server


def run(command, folder, server):
    models = {"LLM_USER_PATH": str(server.llm_user_path), "PFLOW_MODEL": "echo", "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        command, cwd=folder, env=environment(folder, **models), capture_output=True, check=False, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_two_models_end_with_the_same_store_by_pflow_run_python_and_script(tmp_path, server, flow):
    case = Case(flow, {})
    by_pflow = store_of(run([str(BIN / "pflow"), "run", "-j", lay_out(case, tmp_path)], tmp_path, server))
    assert by_pflow["llm"]["response"] == ASK
    assert by_pflow["llm-2"]["response"] == f"Then:\n\n{ASK}"
    python = export("python", case, tmp_path)
    by_python = run([sys.executable, str(python), "-j"], tmp_path, server)
    assert store_of(by_python) == by_pflow
    script = export("sh", case, tmp_path)
    assert store_of(run(["sh", str(script)], tmp_path, server)) == by_pflow
    assert (tmp_path / "c.txt").read_text() == f"Then:\n\n{ASK}"
