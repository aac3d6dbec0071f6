"""A flow that asks models, against a server of their protocol: two never overwrite each other, however it runs."""

import subprocess
import sys

from tests.export.cases import Case
from tests.export.running import BIN, environment, export, lay_out, store_of
from tests.peers.openai_server import OpenAIServer

FLOW = "read-file --path=a.txt => llm --prompt='First:' => llm --prompt='Then:' => write-file --path=c.txt"


def test_two_models_end_with_the_same_store_by_pflow_run_python_and_script(tmp_path):
    case = Case(FLOW, {})
    with OpenAIServer(tmp_path) as server:
        models = {"LLM_USER_PATH": str(server.llm_user_path), "PFLOW_MODEL": "echo", "NO_PROXY": "127.0.0.1"}

        def store(*command):
            done = subprocess.run(
                command, cwd=tmp_path, env=environment(tmp_path, **models), capture_output=True, check=False,
                timeout=120, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            return store_of(done)

        by_pflow = store(str(BIN / "pflow"), "run", "-j", lay_out(case, tmp_path))
        assert by_pflow["llm"]["response"] == "First:\n\none two\n"
        assert by_pflow["llm-2"]["response"] == "Then:\n\nFirst:\n\none two\n"
        assert store(sys.executable, str(export("python", case, tmp_path)), "-j") == by_pflow
        assert store("sh", str(export("sh", case, tmp_path))) == by_pflow
    assert (tmp_path / "c.txt").read_text() == "Then:\n\nFirst:\n\none two\n"
