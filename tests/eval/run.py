"""Plan the sentences of sentences.json with a model, and score the plans. `make eval` runs it.

python tests/eval/run.py --model NAME       any model that llm has; else the one that pflow would choose
python tests/eval/run.py --self-test        a model on 127.0.0.1 that knows the answers: it scores 60 of 60
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
sys.path[0] = str(HERE.parent.parent)

from pflow.errors import BAD_CONFIG  # noqa: E402
from tests.eval import perfect  # noqa: E402  found by the line above
from tests.eval.planning import NodeSet, NoModel, plan_entry  # noqa: E402
from tests.eval.table import line, table  # noqa: E402
from tests.peers.openai_server import OpenAIServer  # noqa: E402

INTERRUPTED = 130


def main() -> int:
    options = _options()
    entries = chosen(json.loads((HERE / "sentences.json").read_text()), options.only, options.limit)
    with ExitStack() as stack:
        if options.json:
            options.file = stack.enter_context(_opened(options.json))
        stack.enter_context(NodeSet())
        if options.self_test:
            options.model = _start_perfect(stack, entries)
        return _run(entries, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="NAME", help="which model plans")
    parser.add_argument(
        "--only", metavar="PATTERN", help="the sentences with this in them; * and ? match as in a shell"
    )
    parser.add_argument("--limit", metavar="N", type=int, help="the first N of them")
    parser.add_argument("--timeout", metavar="S", type=float, default=120.0, help="seconds for a sentence (120)")
    parser.add_argument("--json", metavar="FILE", help="write every plan and its score into a file")
    parser.add_argument("--tries", type=int, default=3, choices=(1, 2, 3), help="how often a sentence is asked for (3)")
    parser.add_argument("--self-test", action="store_true", help="score a model that knows the answers")
    return parser.parse_args()


def chosen(entries: list[dict[str, Any]], only: str | None, limit: int | None) -> list[dict[str, Any]]:
    if only is not None:
        entries = [entry for entry in entries if fnmatch(entry["sentence"].lower(), f"*{only.lower()}*")]
    return entries[:limit]


def _opened(name: str) -> IO[str]:
    """The file for the results, which is tried before an hour is spent on them."""
    try:
        return open(name, "w")
    except OSError as error:
        sys.exit(f"run.py: cannot write '{name}': {error.strerror}")


def _start_perfect(stack: ExitStack, entries: list[dict[str, Any]]) -> str:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pflow-eval-")))
    perfect.write_transcript(folder, entries)
    server = stack.enter_context(OpenAIServer(folder))
    os.environ["LLM_USER_PATH"] = str(server.llm_user_path)
    return perfect.NAME


def _run(entries: list[dict[str, Any]], options: argparse.Namespace) -> int:
    """Plan and score, a line each; the table at the end, after ^C too. The exit code."""
    results: list[dict[str, Any]] = []
    code = 0
    try:
        for number, result in enumerate(_results(entries, options), 1):
            results.append(result)
            print(line(number, result), flush=True)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        code = INTERRUPTED
    except NoModel as none:
        print("run.py: " + "\n  ".join(none.args), file=sys.stderr)
        return BAD_CONFIG
    if options.json:
        options.file.write(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    print("\n" + table(options.model or "the chosen model", results))
    return code


def _results(entries: list[dict[str, Any]], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    plan = partial(plan_entry, model=options.model, timeout=options.timeout, most_tries=options.tries)
    return map(plan, entries)


if __name__ == "__main__":
    sys.exit(main())
