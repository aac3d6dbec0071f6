"""Plan the sentences of sentences.json with a model, and score the plans. `make eval` runs it.

python tests/eval/run.py --model NAME       any model that llm has; else the one that pflow would choose
python tests/eval/run.py --self-test        a model on 127.0.0.1 that knows the answers: it scores 60 of 60
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[0] = str(HERE.parent.parent)

from pflow.catalog.kinds import forget_kinds  # noqa: E402
from pflow.errors import BAD_CONFIG, PflowError  # noqa: E402
from pflow.flow.unload import flow_to_ir  # noqa: E402
from tests.eval.score import ASPECTS, expected_flows, score  # noqa: E402  found by the line above
from tests.peers import openai_server  # noqa: E402

Result = dict[str, Any]


@contextmanager
def node_set() -> Iterator[None]:
    """The environment in which there are the bundled nodes, those of nodes/, the saved flows of share/, no other."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="pflow-eval-") as cache:
        os.environ.update(PFLOW_NODES=str(HERE / "nodes"), XDG_DATA_HOME=str(HERE / "share"))
        os.environ.update(XDG_CACHE_HOME=cache, PATH=cache)
        forget_kinds()
        yield
    os.environ.clear()
    os.environ.update(before)
    forget_kinds()


def plan_entry(entry: dict[str, Any], options: argparse.Namespace) -> Result:
    """What came of a sentence, scored. Raises PflowError (78) where no model can plan."""
    from pflow.plan.planner import Unplannable, plan_sentence

    started, flow, error = time.monotonic(), None, ""
    heard: list[str] = []
    about = {"model": options.model, "timeout": options.timeout, "tries": options.tries}
    try:
        flow = plan_sentence(entry["sentence"], fresh=True, report=heard.append, **about)
    except Unplannable as unplannable:
        error = unplannable.message
    except PflowError as failure:
        if failure.exit == BAD_CONFIG:
            raise
        return {"sentence": entry["sentence"], "right": dict.fromkeys(ASPECTS, False), "error": failure.message}
    seconds, ir = time.monotonic() - started, flow_to_ir(flow) if flow else None
    right = score(entry, flow)
    return {
        "sentence": entry["sentence"],
        "right": right,
        "error": error,
        "tries": sum(line.startswith("asking ") for line in heard),
        "seconds": seconds,
        "flow": ir,
    }


def line(result: Result) -> str:
    """One sentence: ok, or what is wrong with what came of it."""
    wrong = [aspect for aspect, right in result["right"].items() if not right]
    return f"{'ok ' if not wrong else '   '} {result['sentence'][:70]}" + (
        f"\n        {result['error'][:200] or ', '.join(wrong)}" if wrong else ""
    )


def table(model: str, results: list[Result]) -> str:
    """How many of the sentences came out right, and what it took."""
    counts = {aspect: sum(each["right"][aspect] for each in results) for aspect in ASPECTS}
    counts["all right"] = sum(all(each["right"].values()) for each in results)
    tries = Counter(each["tries"] for each in results if each.get("tries"))
    return "\n".join(
        [
            f"{model}: {len(results)} sentences",
            *(f"  {aspect:10}{count:4} of {len(results)}" for aspect, count in counts.items()),
            f"  tries     {', '.join(f'{one} × {many}' for one, many in sorted(tries.items()))}",
            f"  seconds   {sum(each.get('seconds', 0) for each in results):.1f}",
        ]
    )


def _start_perfect(stack: ExitStack, entries: list[dict[str, Any]]) -> str:
    """A model that answers each sentence with the flow that is expected of it; its name."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pflow-eval-")))
    answers = {
        entry["sentence"]: [flow_to_ir(expected_flows(entry)[0]) if entry["flows"] else {"cannot": "there is no node"}]
        for entry in sorted(entries, key=lambda entry: -len(entry["sentence"]))
    }
    (folder / "eval-perfect.json").write_text(json.dumps(answers))
    openai_server.TRANSCRIPTS = folder
    os.environ["LLM_USER_PATH"] = str(stack.enter_context(openai_server.OpenAIServer(folder)).llm_user_path)
    return "eval-perfect"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="NAME", help="which model plans")
    parser.add_argument("--only", metavar="PATTERN", default="", help="the sentences with this in them")
    parser.add_argument("--limit", metavar="N", type=int, help="the first N of them")
    parser.add_argument("--timeout", metavar="S", type=float, default=120.0, help="seconds for a sentence (120)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every plan and its score into a file")
    parser.add_argument("--tries", type=int, default=3, choices=(1, 2, 3), help="how often a sentence is asked for (3)")
    parser.add_argument("--self-test", action="store_true", help="score a model that knows the answers")
    options = parser.parse_args()
    entries = json.loads((HERE / "sentences.json").read_text())
    entries = [each for each in entries if fnmatch(each["sentence"].lower(), f"*{options.only.lower()}*")]
    results: list[Result] = []
    with ExitStack() as stack:
        stack.enter_context(node_set())
        if options.self_test:
            options.model = _start_perfect(stack, entries)
        try:
            for entry in entries[: options.limit]:
                results.append(plan_entry(entry, options))
                print(line(results[-1]), flush=True)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        except PflowError as error:
            print(f"run.py: {error.message}\n  {error.hint}", file=sys.stderr)
            return error.exit
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    print("\n" + table(options.model or "the chosen model", results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
