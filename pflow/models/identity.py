"""The identity of the model that a request would go to, for cache keys. llm is loaded only if its settings changed."""

from __future__ import annotations

import os
import sys

from pflow import Any, Sequence
from pflow.cache.directory import digest_of_file, remembered
from pflow.catalog.registry import data_directory
from pflow.errors import BAD_CONFIG, PflowError, result_of
from pflow.files.directories import llm_directory
from pflow.files.reading import read_regular
from pflow.models.known import split_address
from pflow.values.jsontext import decode
from pflow.values.types import names_schema_file

_SETTINGS = ("aliases.json", "default_model.txt", "extra-openai-models.yaml", "keys.json")
_SERVERS = ("_BASE_URL", "_API_BASE", "_HOST", "_ENDPOINT")
"""The ends of variables that name the server of a plugin's models."""
_VARIABLES = ("LLM_MODEL", "LLM_LOAD_PLUGINS")


def identify(name: str | None) -> dict[str, str]:
    """Return what identifies the model that `name` stands for, or the default one.

    `id` is its id, `plugin` the plugin that brings it, `entry` the digest of its entry in extra-openai-models.yaml,
    `weights` its file on this machine. `unchosen` is a member if the small model is used because no model was chosen;
    stderr then says so. Raises what `choose` raises.
    """
    if parts := split_address(name):
        return {"id": "#".join(parts)}
    if name and name.endswith(".gguf") and os.path.isfile(name):
        return {"id": os.path.basename(name), "weights": name}
    settings, weights = llm_directory(), data_directory("models")
    # With sys.path, since the installation of a plugin changes a directory there.
    files = [os.path.join(settings, each) for each in _SETTINGS] + [*filter(None, [weights, *sys.path])]
    files += sorted(each.path for each in os.scandir(weights)) if weights and os.path.isdir(weights) else []
    said = [f"{each}={os.environ.get(each, '')}" for each in _VARIABLES]
    # Setting or removing a key can change the default model: llm's default is used only if its key is set.
    keys = sorted(each for each in os.environ if each.endswith("_KEY") and os.environ[each])

    def find() -> Any:
        from pflow.models.choose import identity_of

        return identity_of(name), files

    found: dict[str, str] = remembered(["model of a plugin", name or "", *said, *keys, *files], find)
    if "unchosen" in found:
        from pflow.models.known import say_unchosen

        say_unchosen()  # also for an answer from the cache, for which no model is asked
    return found


def model_parts(name: str | None, places: list[str], schema: Any, typed: Sequence[str] = ()) -> dict[str, Any]:
    """Return all parts of an answer's cache key but the question; `typed` are the files that --at attaches.

    Raises PflowError (78) for an attached address, whose content may change.
    """
    for place in (*places, *typed):
        if str(place).lower().startswith(("http://", "https://")):
            raise PflowError(f"cannot cache an answer to '{place}': its content may change", exit=BAD_CONFIG)
    model = identify(name)
    parts: dict[str, Any] = {"model": model["id"], "model's options": options_of(model["id"])}
    ours = ("OPENAI_", f"{model.get('plugin', '')}_".upper())
    servers = [each for each in sorted(os.environ) if each.startswith(ours) and each.endswith(_SERVERS)]
    parts |= {each: os.environ[each] for each in servers}
    if "entry" in model:
        parts["model's entry in extra-openai-models.yaml"] = model["entry"]
    if "weights" in model:
        parts["model's weights"] = digest_of_file(model["weights"])
    if files := [digest_of_file(each) for each in typed if os.path.isfile(each)]:
        parts["files of --at"] = files
    if isinstance(schema, str) and names_schema_file(schema) and os.path.isfile(schema):
        parts["schema's file"] = digest_of_file(schema)
    return parts


def options_of(id: str) -> dict[str, Any]:
    """Return the options that `llm models options set` stored for a model; none if the file is malformed."""
    file, misfits = os.path.join(llm_directory(), "model_options.json"), (OSError, ValueError, AttributeError)
    options = result_of(lambda: decode(read_regular(file)).get(id), of=misfits, otherwise=None)
    return options if isinstance(options, dict) else {}
