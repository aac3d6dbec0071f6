"""Models of servers that speak OpenAI's protocol: at an address, `http://HOST/v1#NAME`, and those on this machine."""

from __future__ import annotations

from pflow import Any
from pflow.errors import BAD_CONFIG, Ignoring, PflowError
from pflow.models.list import SERVED, keep_models
from pflow.values.templates import check_keyless

USUAL = {"Ollama": 11434, "LM Studio": 1234, "llama-server": 8080}
"""The ports on 127.0.0.1 at which these servers are usually found."""


def split_address(name: str | None) -> tuple[str, str] | None:
    """Return the address and the model in `http://HOST/v1#NAME`; None for any other name. `/v1` may be left out.

    Raises PflowError: 78 without a host or a model, 77 for an address with a user or query, which may be a key.
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
    """Return llm's model at an address: free on this machine, and given no key but the one kept for the address."""
    from llm import get_key
    from llm.default_plugins.openai_models import Chat

    can = dict.fromkeys(("vision", "audio", "reasoning", "supports_schema"), True)  # as llm's own command has it
    model: Any = Chat(f"{base}#{name}", model_name=name, api_base=base, **can)  # type: ignore[no-untyped-call]
    model.needs_key, model.key_name, model.key_env_var = base if get_key(alias=base) else None, base, None
    if runs_here(name, base):
        model.cost = 0
    return model


def runs_here(name: str, address: str) -> bool:
    """Return True if the model called `name` at an address runs on this machine; OLLAMA_HOST may lack its `http://`.

    Ollama passes on the questions for a model whose name ends with `cloud`.
    """
    from urllib.parse import urlsplit

    from pflow.web.hosts import is_here

    host = urlsplit(address if "://" in address else f"//{address}").hostname or "localhost"
    return is_here(host) and not name.endswith("cloud")


def find_served(seconds: float = 0.1) -> dict[str, str]:
    """Return the models of the servers at their usual ports, each asked for so long, and keep them for TAB."""
    import json
    from http.client import HTTPConnection

    from pflow.process.signals import Deadline

    found: dict[str, str] = {}
    for server, port in USUAL.items():
        with Ignoring(Exception), Deadline(seconds, act="cannot ask it"):  # nobody is there, or it is another server
            connection = HTTPConnection("127.0.0.1", port, timeout=seconds)
            connection.request("GET", "/v1/models")
            names = [each["id"] for each in json.loads(connection.getresponse().read(1 << 18))["data"]]
            shown = [name for name in names if name.isprintable() and len(name.split()) == 1]  # on any terminal
            found |= {f"http://127.0.0.1:{port}/v1#{name}": f"{server} on this machine" for name in shown}
    keep_models(found.items(), SERVED)
    return found
