"""Plan the sentences of sentences.json with a model, and score the plans. `make eval` runs it.

python tests/eval/run.py --model NAME       any model that llm has; else the one that pflow would choose
python tests/eval/run.py --aside            30 sentences that are kept aside: nobody tunes the prompt with these
python tests/eval/run.py --impossible       10 more that cannot be done, kept aside too: are they refused or made up?
python tests/eval/run.py --self-test        a model on 127.0.0.1 that knows the answers: it scores 60 of 60

An entry has a sentence and the flows that are right for it (none: it cannot be done), of which a user would take any.
`answers` says how many of them truly differ in what they leave (tests/eval/score.py), `files` what else is there when
they run, and `absent` which files are once left out. The tasks of aside.json are adapted, in other words, from two
public sets under the MIT licence: WorFBench (github.com/zjunlp/WorfBench) and NL2Bash as it is in icalfa (PyPI).
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
sys.path[0] = str(HERE.parent.parent)

from pflow.catalog.find import forget_types  # noqa: E402
from pflow.errors import BAD_CONFIG, PflowError  # noqa: E402
from pflow.explain.pipe_form import pipe_of  # noqa: E402
from pflow.flow.flow import FlowSpec  # noqa: E402
from pflow.flow.wiring import wire  # noqa: E402
from pflow.plan.meaning import doubts  # noqa: E402
from pflow.plan.prompt import plan_prompt  # noqa: E402
from pflow.values.usage import Calls  # noqa: E402
from tests.eval.score import is_right  # noqa: E402  found by the line above
from tests.peers import openai_server  # noqa: E402

Result = dict[str, Any]

KINDS = {
    "right": "plans that are right, without a doubt, and tasks rightly refused",
    "right, doubted": "of which a doubt is shown",
    "wrong": "shown as a plan that can run, without a doubt",
    "wrong, doubted": "of which a doubt is shown, so that --yes refuses them",
    "asked back": "the model says that it cannot be done, and it can",
    "invalid": "no answer passed the rules",
    "failed": "no answer came, or not in time",
}


@contextmanager
def node_set() -> Iterator[None]:
    """The environment in which there are the bundled nodes, those of nodes/, the saved flows of share/, no other."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="pflow-eval-") as cache:
        for program in ("convert", "curl", "jq", "magick", "wget"):  # so that a plan with them is no worse without
            Path(cache, program).touch(mode=0o755)
        data = shutil.copytree(HERE / "share", Path(cache, "share"))  # an engine keeps its state there
        os.environ.update(PFLOW_NODES=str(HERE / "nodes"), XDG_DATA_HOME=str(data))
        os.environ.update(XDG_CACHE_HOME=cache, PATH=f"{os.defpath.lstrip(':')}:{cache}")
        forget_types()
        yield
    os.environ.clear()
    os.environ.update(before)
    forget_types()


def plan_entry(entry: dict[str, Any], options: argparse.Namespace) -> Result:
    """What came of a sentence, judged. Raises PflowError (78) where no model can plan."""
    from pflow.plan.planner import Unplannable, plan_sentence

    started, used, flow, error = time.monotonic(), sum(os.times()[:4]), None, None
    heard, calls = list[str](), Calls()
    about = {"model": options.model, "timeout": options.timeout, "calls": calls}
    try:
        flow = plan_sentence(entry["sentence"], fresh=True, report=heard.append, **about)
    except PflowError as failure:
        if failure.exit == BAD_CONFIG:
            raise
        error = failure
    took = {"seconds": time.monotonic() - started, "cpu": sum(os.times()[:4]) - used}
    refused = isinstance(error, Unplannable) and any("cannot be done" in each.message for each in error.findings)
    kind = "failed" if not isinstance(error, Unplannable) else "invalid"
    if flow or refused:
        kind = judged(entry, flow) if flow else "asked back" if entry["flows"] else "right"
    tokens = [usage.get("tokens", {}) for _, _, usage, _ in calls.made]
    return {
        "sentence": entry["sentence"],
        "kind": kind,
        "can_be_done": bool(entry["flows"]),
        "refused": refused,
        "error": error.message if error else "",
        "tries": sum(line.startswith("asking ") for line in heard),
        "in": [each["in"] for each in tokens if "in" in each],
        "out": [each["out"] for each in tokens if "out" in each],
        **took,
        "flow": pipe_of(wire(flow)) if flow else None,
    }


def judged(entry: dict[str, Any], flow: FlowSpec) -> str:
    """Whether a plan leaves what one of the flows expected leaves, and whether pflow doubts it."""
    return ("right" if is_right(flow, entry) else "wrong") + (
        ", doubted" if doubts(wire(flow), entry["sentence"]) else ""
    )


def line(result: Result) -> str:
    """One sentence: ok, or what came of it."""
    ahead, said = f"{result['sentence'][:70]}", result["flow"] or result["error"][:200]
    return f"ok  {ahead}" if result["kind"] == "right" else f"    {ahead}\n        {result['kind']}: {said}"


def table(title: str, results: list[Result]) -> str:
    """How many of the sentences came out right, and what it took."""
    kinds = Counter(each["kind"] for each in results)
    hopeless = [each for each in results if not each["can_be_done"]]
    plans = sum(each["flow"] is not None for each in results)
    tries = Counter(each["tries"] for each in results if each["tries"])
    rows = {
        "all right": f"{kinds['right'] + kinds['right, doubted']:3} of {len(results)}",
        **{kind: f"{kinds[kind]:3}  {about}" for kind, about in KINDS.items()},
        "valid": f"{plans:3} of {plans + kinds['invalid']} that were answered with a flow",
        "impossible": f"{sum(each['refused'] for each in hopeless):3} of {len(hopeless)} were refused, "
        f"{sum(each['kind'] == 'wrong' for each in hopeless)} made up without a doubt",
        "tries": ", ".join(f"{one} × {many}" for one, many in sorted(tries.items())),
    }
    took = {"tokens in, a call": "in", "tokens out, a call": "out", "CPU s": "cpu", "seconds": "seconds"}
    for name, key in took.items():
        found = [amount for each in results for amount in (each[key] if key in ("in", "out") else [each[key]])]
        rows[name] = (
            f"{median(found):.1f} median, {max(found):.1f} most, {sum(found):.1f} in all" if found else "unknown"
        )
    return "\n".join([title, *(f"  {name:20}{text}" for name, text in rows.items())])


def _start_perfect(stack: ExitStack, entries: list[dict[str, Any]]) -> str:
    """A model that answers each sentence with the first flow that is expected of it; its name."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pflow-eval-")))
    answers = {
        entry["sentence"]: [*entry["flows"], "cannot: there is no node for it"][:1]
        for entry in sorted(entries, key=lambda entry: -len(entry["sentence"]))
    }
    (folder / "eval-perfect.json").write_text(json.dumps(answers))
    openai_server.TRANSCRIPTS = folder
    os.environ["LLM_USER_PATH"] = str(stack.enter_context(openai_server.OpenAIServer(folder)).llm_user_path)
    return "eval-perfect"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="NAME", help="which model plans")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--aside", action="store_true", help="the sentences that are kept aside")
    which.add_argument("--impossible", action="store_true", help="those kept aside that cannot be done")
    parser.add_argument("--only", metavar="PATTERN", default="", help="the sentences with this in them")
    parser.add_argument("--limit", metavar="N", type=int, help="the first N of them")
    parser.add_argument("--timeout", metavar="S", type=float, default=120.0, help="seconds for a sentence (120)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every plan and its score into a file")
    parser.add_argument("--self-test", action="store_true", help="score a model that knows the answers")
    options = parser.parse_args()
    file = "aside.json" if options.aside else "impossible.json" if options.impossible else "sentences.json"
    entries = json.loads((HERE / file).read_text())
    entries = [each for each in entries if fnmatch(each["sentence"].lower(), f"*{options.only.lower()}*")]
    results: list[Result] = []
    with ExitStack() as stack:
        stack.enter_context(node_set())
        if options.self_test:
            options.model = _start_perfect(stack, entries)
        version = plan_prompt().digest[:8]
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
    title = f"{options.model or 'the chosen model'}, prompt {version}: {len(results)} sentences"
    print("\n" + table(title, results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
