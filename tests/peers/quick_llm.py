"""A pflow-llm whose models answer at once: a whole stage but for the llm library, which costs a second of CPU a start.

Its models are a few of openai_server.py's, any other repeats what it was asked, and each request is a line of
requests.jsonl beside LLM_USER_PATH. slow-stream waits for the file `go` there.
"""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

from pflow.errors import PflowError
from pflow.nodes.llm import Llm, _question
from pflow.stage.main import main

PEER = Path(os.environ["LLM_USER_PATH"]).parent
REPLY = "Oak, ash and elm."
ANSWERS = {
    "reply": REPLY,
    "marks": "?!",
    "bakery": "The bakery is closed in August, because the old oven will be replaced in August.",
    "form": {"title": "oak", "year": 40, "urgent": True},
    "json": {"name": "oak", "height": 40},
    "problems": {"problems": [{"file": "a b.py", "line": 3, "problem": "x may be unset"}]},
    "no-problems": {"problems": []},
}
AGAIN = dict.fromkeys(("rate-limited", "rate-limited-minute", "cut", "empty"), 75)
FAILURES = {**AGAIN, "refused": 69, "nokey": 77, "no-such-model": 78}


def prep(self, shared):
    return _question(shared.get("prompt"), shared.get("text"), self.params["attachment"])[0]


def answer(self, words):
    model = self.params["model"]
    with open(PEER / "requests.jsonl", "a") as log:
        log.write(json.dumps({"model": model, "words": words}) + "\n")
    if model in FAILURES:
        raise PflowError(f"cannot ask the model '{model}'", exit=FAILURES[model])
    while model == "slow-stream" and not (PEER / "go").exists():
        time.sleep(0.02)
    response = ANSWERS.get(model, words)
    if isinstance(response, str):
        self.emit(response)
    usage = {"model": model, "input": len(words.split()), "output": len(str(response).split())}
    return SimpleNamespace(value=response, usage=usage, flaw="", warning="")


Llm.prep, Llm.exec, Llm.warm = prep, answer, staticmethod(lambda: None)
main("llm")
