"""Which model to ask: the named one, else llm's default if it can be used, else the newest local one."""

import os
import sys
import threading
from contextlib import suppress

from llm import Model as Model
from llm import NeedsKeyException, get_default_model

from pflow.errors import BAD_CONFIG, UNAVAILABLE, Attempt, PflowError, not_written
from pflow.files.atomic import replace
from pflow.models import settings
from pflow.models.ending import Ending
from pflow.models.errors import no_key
from pflow.models.known import (
    SERVED,
    SMALL,
    SUFFIX,
    find_served,
    is_small,
    keep_models,
    model_at,
    planning_models,
    read_models,
    say_unchosen,
    split_address,
)
from pflow.models.local import LocalModel, engine_command, from_file
from pflow.models.transport import reporting_to
from pflow.text.naming import did_you_mean, likely
from pflow.text.printable import foreign_line
from pflow.values.digest import digest_of
from pflow.web.route import bypass_proxies_here

PLAN_VARIABLE = "PFLOW_PLAN_MODEL"
_PLAN_HINT = f"--model or {PLAN_VARIABLE} names any of `pflow models`, `llm keys set openai` gives one its key"

_loading = threading.Lock()

_EXPLAINED = Attempt("cannot load llm's models", settings.broken, of=Exception)
"""Any failure of llm, of a plugin or of the settings is explained (78)."""


class NoCapableModel(PflowError):
    """The failure (78) to find a model for an `act`: none was named, and the default one is not able to do it."""

    def __init__(self, act: str, why: str) -> None:
        super().__init__(f"cannot {act}: {why}", hint=f"{planning_models()}; {_PLAN_HINT}", exit=BAD_CONFIG)


class NoModel(PflowError):
    """The failure (78) to find a default model: llm's default has no key, and there is no local model."""


def choose(name: str | None) -> Model:
    """Return the model called `name` (an id, alias, address or GGUF file), or the default one. Raises PflowError."""
    model = _find(name)
    if is_small(model) and not (name or _chosen_default()):
        say_unchosen()
    return model


def _find(name: str | None) -> Model:
    with _EXPLAINED:
        chosen = name or _chosen_default()
        if address := split_address(chosen):
            return model_at(*address)  # type: ignore[no-any-return]
    if chosen and chosen.endswith(SUFFIX):
        return from_file(chosen, is_default=not name)
    models = all_models()
    if chosen and chosen not in models:
        raise _unknown(chosen, models)
    model = models[chosen] if chosen else _usable_default(models)
    settings.report_faults()
    return model


_OF_ACCESS = ("aliases", "api_key_name", "headers")
"""Members of an entry in extra-openai-models.yaml that say how to reach the model; they do not change its answers."""


def identity_of(name: str | None) -> dict[str, str]:
    """Return what identifies the model called `name`, or the default one; pflow.models.identity caches it."""
    model = choose(name)
    found = {"id": model.model_id, "plugin": type(model).__module__.partition(".")[0].removeprefix("llm_")}
    if entry := settings.entries.get(model.model_id):
        found["entry"] = digest_of({key: str(value) for key, value in entry.items() if key not in _OF_ACCESS})
    if isinstance(model, LocalModel):
        found["weights"] = model.path
    if is_small(model) and not (name or _chosen_default()):
        found["unchosen"] = "yes"
    return found


LATEST = "no model is chosen, and this is the newest local one"
KEPT = "chosen as llm's default"


def default_model() -> tuple[str, str]:
    """Return the default model and the reason why it is the default. Raises PflowError as `choose` does."""
    for variable in ("PFLOW_MODEL", "LLM_MODEL"):
        if name := os.environ.get(variable):
            return choose(name).model_id, f"{variable} names it"
    model = choose(None)
    return model.model_id, (
        KEPT if _chosen_default() else LATEST if isinstance(model, LocalModel) else "llm's own default, with a key"
    )


def set_default(name: str) -> tuple[str, str]:
    """Make a model the default of llm, and so of pflow; return what `default_model` returns."""
    model = choose(os.path.abspath(name) if name.endswith(SUFFIX) else name)
    if address := split_address(model.model_id):
        served = {each: model for each in find_served() if each.startswith(f"{address[0]}#")}
        if served and model.model_id not in served:
            raise _unknown(model.model_id, served)
    place = settings.directory()
    if settings.is_temporary(place):
        raise PflowError("cannot keep a default model: llm's settings have no home", hint="set HOME", exit=BAD_CONFIG)
    with Attempt(f"cannot keep a default model in '{place}'", not_written):
        replace(str(place / "default_model.txt"), model.model_id)  # llm's own write lets others write if the umask does
    return default_model()


def adopt(name: str) -> str:
    """Make a new local model the default if none is chosen, unless it is the small one; say which is the default."""
    default, why = default_model()
    if why == LATEST and name != SMALL:
        default, why = set_default(name)
    return f"'{default}' is the default, {why}; `pflow models default NAME` chooses another"


def choose_capable(name: str | None, act: str = "plan") -> Model:
    """Return the model called `name`, else that of PFLOW_PLAN_MODEL, else the one that steps would ask.

    Raises PflowError (78): NoCapableModel, which names the `act`, if none was named and the default will not do.
    """
    if meant := name or os.environ.get(PLAN_VARIABLE):
        return choose(meant)
    try:
        model = _find(os.environ.get("PFLOW_MODEL") or None)
    except NoModel as error:
        raise NoCapableModel(act, error.message) from error
    if is_small(model):
        raise NoCapableModel(act, f"the local model, {SMALL}, is too small for it")
    return model


def warm() -> None:
    """Import early what a request needs; errors of these imports pass through."""
    all_models()
    import openai.resources.chat  # noqa: F401  the slowest import, and most providers speak its protocol


def all_models() -> dict[str, Model]:
    """Return every model by id and alias, those with a key first, and keep the list for TAB. Raises PflowError (78)."""
    bypass_proxies_here()
    # llm marks its plugins as loaded before it loads them: a second thread of a batch would find no models.
    with _loading, _EXPLAINED:
        models = settings.load_models()
        with suppress(PflowError):  # if the keys cannot be read, list the models unsorted
            models = dict(sorted(models.items(), key=lambda item: (not has_key(item[1]), item[0])))
        keep_models((name, describe(name, model)) for name, model in models.items())
    return models


def describe(name: str, model: Model) -> str:
    """Return llm's description of a model, or for an alias the id it stands for."""
    return str(model) if name == model.model_id else f"alias of {model.model_id}"


def has_key(model: Model) -> bool:
    """Return True if the model needs no key, or has one. Raises PflowError (78) if the keys cannot be read."""
    with _EXPLAINED, suppress(NeedsKeyException):
        return model.needs_key is None or bool(model.get_key())
    return False


def check_key(model: Model) -> None:
    """Raise PflowError (77) for a model without the key that it needs, or with one that no header can hold."""
    if not has_key(model):
        raise no_key(model)
    key = str(model.get_key() or "") if model.needs_key else ""
    if key != key.strip():
        raise no_key(model, "its key has a blank or a line break at its beginning or end")
    if not (key.isascii() and key.isprintable()):
        raise no_key(model, "its key has a character that no key has")


def _chosen_default() -> str | None:
    """Return the model of LLM_MODEL or of `llm models default`; None if llm would take its built-in default."""
    is_chosen = (settings.directory() / "default_model.txt").exists()
    return os.environ.get("LLM_MODEL") or (str(get_default_model()) if is_chosen else None)  # type: ignore[no-untyped-call]


def _usable_default(models: dict[str, Model]) -> Model:
    default = models.get(get_default_model())  # type: ignore[no-untyped-call]
    if default is not None and has_key(default):
        return default
    if local := [each for each in models.values() if isinstance(each, LocalModel)]:
        return max(local, key=lambda each: (os.lstat(each.path).st_mtime, each.model_id))
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
    remedy = "`pflow models` lists all, `llm install` adds a provider"
    if name.startswith("ollama/") and "llm_ollama" in sys.modules:
        if fault := _fault_of_ollama():
            what = f"cannot find the model '{name}': no Ollama answers: {fault}"
            return PflowError(what, hint="start it with `ollama serve`, or set OLLAMA_HOST", exit=UNAVAILABLE)
        remedy = f"`ollama pull {name.partition('/')[2]}` brings it"
    hint = f"{did_you_mean(*near)} {remedy}".lstrip()
    return PflowError(f"cannot find the model '{name}'", hint=hint, exit=BAD_CONFIG)


def _fault_of_ollama() -> str:
    """Return why Ollama's server does not answer; llm-ollama itself then has no models and says nothing."""
    from llm_ollama.auth import get_client

    try:
        with reporting_to(Ending(time_limit=settings.PATIENCE)):
            get_client().list()
    except Exception as error:
        return foreign_line(str(error))
    return ""
