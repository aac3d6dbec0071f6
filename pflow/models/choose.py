"""The model to ask: the named one, else llm's default if it can be used, else the local one that came last."""

import os
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from llm import Model as Model
from llm import NeedsKeyException, get_default_model

from pflow.errors import BAD_CONFIG, PflowError
from pflow.files.installation import read_installation
from pflow.models import settings
from pflow.models.errors import no_key
from pflow.models.list import SERVED, keep_models, read_models
from pflow.models.local import SMALL, SUFFIX, LocalModel, engine_command, from_file
from pflow.models.local import is_small as is_small
from pflow.models.servers import model_at, split_address
from pflow.terminal import messages
from pflow.values.digest import digest_of
from pflow.words.naming import did_you_mean, likely

PLAN_VARIABLE = "PFLOW_PLAN_MODEL"
PLAN_HINT = (
    f"--model or {PLAN_VARIABLE} names one of `pflow models`, `llm models default NAME` chooses one, "
    "`llm keys set openai` gives one its key"
)

_loading = threading.Lock()


class NoCapableModel(PflowError):
    """Failure to find a model that can do an `act`: none was named, and llm's default will not do (78)."""

    def __init__(self, act: str, why: str) -> None:
        super().__init__(f"cannot {act}: {why}", hint=PLAN_HINT, exit=BAD_CONFIG)


class NoModel(PflowError):
    """Failure to find any model that can be used without being named (78)."""


def choose(name: str | None) -> Model:
    """Return the model called `name` (an id, alias, address or GGUF file), or the default one. Raises PflowError."""
    with _explained():
        chosen = name or _chosen_default()
        if address := split_address(chosen):
            return model_at(*address)  # type: ignore[no-any-return]
    if name and name.endswith(SUFFIX):
        return from_file(name)
    models = all_models()
    if chosen and chosen not in models:
        raise _unknown(chosen, models)
    model = models[chosen] if chosen else _usable_default(models)
    settings.report_faults()
    return model


_OF_ACCESS = ("aliases", "api_key_name", "headers")
"""Members of an entry in extra-openai-models.yaml that say how to reach the model; they do not change its answers."""


def identity_of(name: str | None) -> dict[str, str]:
    """Identify the model called `name`, or the default one, for pflow.models.identity."""
    model = choose(name)
    found = {"id": model.model_id}
    if entry := settings.entries.get(model.model_id):
        found["entry"] = digest_of({key: str(value) for key, value in entry.items() if key not in _OF_ACCESS})
    if isinstance(model, LocalModel):
        found["weights"] = model.path
    return found


_PLUGINS = {"ANTHROPIC_API_KEY": "llm-anthropic", "GEMINI_API_KEY": "llm-gemini", "MISTRAL_API_KEY": "llm-mistral"}
"""The plugin of llm that needs the key in a variable."""


def better_models() -> str:
    """Name the ways to choose a model, or to get a better one: a server that was seen, a key without its plugin."""
    ways = [f"export PFLOW_MODEL={shlex.quote(name)} asks {server}" for name, server in read_models(SERVED)][:1]
    for key, plugin in _PLUGINS.items():
        if os.environ.get(key) and not find_spec(plugin.replace("-", "_")):
            ways.append(f"{key} is set, and needs: {read_installation().add(plugin)}")
    return "; ".join([*ways, "PFLOW_MODEL=NAME chooses one, `pflow models get` lists better ones"])


def choose_capable(name: str | None, act: str = "plan") -> Model:
    """Return the model called `name`, else that of PFLOW_PLAN_MODEL, else the one that steps would ask.

    Raises PflowError (78): NoCapableModel, which names the `act`, if none was named and the default will not do.
    """
    if meant := name or os.environ.get(PLAN_VARIABLE):
        return choose(meant)
    try:
        model = choose(os.environ.get("PFLOW_MODEL") or None)
    except NoModel as error:
        raise NoCapableModel(act, error.message) from error
    if is_small(model):
        raise NoCapableModel(act, f"the local model, {SMALL}, is too small for it")
    return model


def warm() -> None:
    """Import what a request needs ahead of time; errors of these imports pass through."""
    all_models()
    import openai.resources.chat  # noqa: F401  most providers speak its protocol, and it is slow


def all_models() -> dict[str, Model]:
    """Return every model by id and alias, first those with a key, and keep the list for TAB. Raises PflowError (78)."""
    with _loading, _explained():  # llm loads its plugins once, and a second thread would not wait for the first
        models = settings.load_models()
        with suppress(PflowError):  # the keys cannot be read
            models = dict(sorted(models.items(), key=lambda item: (not has_key(item[1]), item[0])))
        keep_models((name, describe(name, model)) for name, model in models.items())
    return models


@contextmanager
def _explained() -> Iterator[None]:
    """Raise PflowError (78) for any failure of llm, of a plugin or of the settings."""
    try:
        yield
    except PflowError:
        raise
    except Exception as error:
        raise settings.broken(error) from error


def describe(name: str, model: Model) -> str:
    """Return llm's description of a model, or for an alias the id it stands for."""
    return str(model) if name == model.model_id else f"alias of {model.model_id}"


def has_key(model: Model) -> bool:
    """Return True if the model needs no key, or has one. Raises PflowError (78) if the keys cannot be read."""
    with _explained(), suppress(NeedsKeyException):
        return model.needs_key is None or bool(model.get_key())
    return False


def check_key(model: Model) -> None:
    """Raise PflowError (77) for a model without the key that it needs, or with one that no header can hold."""
    if not has_key(model):
        raise no_key(model)
    key = str(model.get_key() or "") if model.needs_key else ""
    if not (key.isascii() and key.isprintable()):
        raise no_key(model, "its key has a character that no key has")


def _chosen_default() -> str | None:
    """Return the model of LLM_MODEL or of `llm models default`; llm does not tell the latter from its built-in one."""
    is_chosen = (settings.directory() / "default_model.txt").exists()
    return os.environ.get("LLM_MODEL") or (str(get_default_model()) if is_chosen else None)  # type: ignore[no-untyped-call]


def _usable_default(models: dict[str, Model]) -> Model:
    default = models.get(get_default_model())  # type: ignore[no-untyped-call]
    if default is not None and has_key(default):
        return default
    if local := [each for each in models.values() if isinstance(each, LocalModel)]:
        model = max(local, key=lambda each: (os.lstat(each.path).st_mtime, each.model_id))
        if is_small(model):
            what = f"no model is chosen, so '{SMALL}' is asked, for trying out and short texts"
            messages.say_once(f"{what}; {better_models()}")
        return model
    small = " && ".join(filter(None, (engine_command(), "pflow models get smollm2")))
    raise NoModel(
        "cannot choose a model: none was named, llm's default has no key, and there is no local model",
        hint=f"`{small}` brings a small one; or llm keys set openai; "
        "or name one of `pflow models` with --model or PFLOW_MODEL",
        exit=BAD_CONFIG,
    )


def _unknown(name: str, models: dict[str, Model]) -> PflowError:
    if fault := settings.faults.get(name) or "; ".join(settings.faults_of_files):
        return PflowError(f"cannot find the model '{name}': {fault}", hint="correct that file", exit=BAD_CONFIG)
    by_lower = {known.lower(): known for known in models}
    near = [each for each, _ in read_models(SERVED) if each.endswith(f"#{name}")]
    near = near or [by_lower[match] for match in likely(name.lower(), by_lower, 3)]
    hint = f"{did_you_mean(*near)} `pflow models` lists all, `llm install` adds a provider".lstrip()
    return PflowError(f"cannot find the model '{name}'", hint=hint, exit=BAD_CONFIG)
