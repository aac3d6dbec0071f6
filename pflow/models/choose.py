"""Which model to ask: the one that was named, llm's default where it can be used, else the small local one."""

import atexit
import os
import shutil
import tempfile
import threading
from difflib import get_close_matches
from pathlib import Path

import llm
import yaml  # type: ignore[import-untyped,unused-ignore]
from llm import Model as Model
from llm import NeedsKeyException

from pflow.errors import BAD_CONFIG, PflowError
from pflow.models.errors import no_key
from pflow.models.list import keep_models
from pflow.models.local import SUFFIX, from_file

SMALL = "SmolLM2"
"""The local model of 135M parameters that `pflow models get smollm2` brings."""

PLAN_VARIABLE = "PFLOW_PLAN_MODEL"
PLAN_HINT = (
    f"--model or {PLAN_VARIABLE} names one of `pflow models`, `llm models default NAME` chooses one, "
    "`llm keys set openai` gives one its key"
)

_loading = threading.Lock()


class NoCapableModel(PflowError):
    """No model was named that could do an `act`, and llm's default cannot be used (78)."""

    def __init__(self, act: str, why: str) -> None:
        super().__init__(f"cannot {act}: {why}", hint=PLAN_HINT, exit=BAD_CONFIG)


class NoModel(PflowError):
    """No model was named, and there is none that could be used unasked (78)."""


def choose(name: str | None) -> Model:
    """The model called `name` (an id, an alias, a GGUF file), or without a name the one that can be used.

    Raises PflowError: 78, or 66 for a GGUF file that is missing.
    """
    if name and name.endswith(SUFFIX):
        return from_file(name)
    settings = _settings()
    try:
        models = all_models()
        chosen = name or _chosen_default(settings)
        if chosen and chosen not in models:
            raise _unknown(chosen, models)
        return models[chosen] if chosen else _usable_default(models)
    except PflowError:
        raise
    except Exception as error:
        raise _broken(error, settings) from error


def choose_capable(name: str | None, act: str = "plan") -> Model:
    """The model called `name`, else the one of PFLOW_PLAN_MODEL, else the one that steps would ask.

    Raises PflowError (78): NoCapableModel, which names the `act`, where none was named and none will do.
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


def is_small(model: Model) -> bool:
    """Whether it is the small local model: it takes short questions, and a schema as large as a flow's slows it."""
    return model.model_id == SMALL


def warm() -> None:
    """Import early what a request needs. Raises what that raises."""
    _settings()
    all_models()
    import openai.resources.chat  # noqa: F401  most providers speak its protocol, and it is slow


def all_models() -> dict[str, Model]:
    """Every model that can be asked here, by id and by alias; TAB offers them from now on."""
    with _loading:  # llm loads its plugins once, and a second thread would not wait for the first
        models: dict[str, Model] = llm.get_model_aliases()
        keep_models([(name, describe(name, model)) for name, model in models.items()])
    return models


def describe(name: str, model: Model) -> str:
    """What a model is: an alias of which one, else in llm's words."""
    return str(model) if name == model.model_id else f"alias of {model.model_id}"


def has_key(model: Model) -> bool:
    """Whether the model needs no key, or has one. Raises PflowError (78) where the keys cannot be read."""
    try:
        return model.needs_key is None or bool(model.get_key())
    except NeedsKeyException:
        return False
    except Exception as error:
        raise _broken(error, _settings()) from error


def check_key(model: Model) -> None:
    """Raise PflowError (77) for a model that needs a key and has none."""
    if not has_key(model):
        raise no_key(model)


def _settings() -> Path:
    """llm's directory of settings. Where it cannot be made (no HOME, a read-only one) a temporary one stands in."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~")
    try:
        # Without a home click's path begins with a plain "~", and llm would make that directory right here.
        if not os.environ.get("LLM_USER_PATH") and not os.path.isabs(home):
            raise FileNotFoundError("no home directory")
        return Path(llm.user_dir())  # type: ignore[no-untyped-call]
    except OSError as error:
        if path := os.environ.get("LLM_USER_PATH"):
            raise PflowError(f"cannot use LLM_USER_PATH '{path}': {error.strerror}", exit=BAD_CONFIG) from error
    made, maker = tempfile.mkdtemp(prefix="pflow-llm-"), os.getpid()
    # a forked child leaves it to its parent
    atexit.register(lambda: shutil.rmtree(made if os.getpid() == maker else "", ignore_errors=True))
    os.environ["LLM_USER_PATH"] = made
    return Path(made)


def _chosen_default(settings: Path) -> str | None:
    """The model that `llm models default NAME` chose; llm itself does not tell it from its built-in default."""
    return _default() if (settings / "default_model.txt").exists() else None


def _default() -> str:
    return str(llm.get_default_model())  # type: ignore[no-untyped-call]


def _usable_default(models: dict[str, Model]) -> Model:
    default = models.get(_default())
    if default is not None and has_key(default):
        return default
    if SMALL in models:
        return models[SMALL]
    raise NoModel(
        "cannot choose a model: none was named, llm's default has no key, and there is no local one",
        hint="pip install 'pflow-shell[local]' and `pflow models get smollm2` bring a small one; "
        "or llm keys set openai; or name one of `pflow models` with --model or PFLOW_MODEL",
        exit=BAD_CONFIG,
    )


def _unknown(name: str, models: dict[str, Model]) -> PflowError:
    by_lower = {known.lower(): known for known in models}
    near = [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=3)]
    mean = f"did you mean {', '.join(near)}? " if near else ""
    return PflowError(
        f"cannot find the model '{name}'",
        hint=f"{mean}`pflow models` lists what there is, `llm install` adds a provider",
        exit=BAD_CONFIG,
    )


def _broken(error: Exception, settings: Path) -> PflowError:
    """What is wrong with llm's settings or plugins, with the file where it can be found, whose words may be keys."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    for name in ("keys.json", "aliases.json", "extra-openai-models.yaml"):
        if fault := _fault(settings / name):
            words = f"{settings / name}: {fault}"
            break
    hint = "correct that file, or find the plugin with `llm plugins`"
    return PflowError(f"cannot load llm's models: {words}", hint=hint, exit=BAD_CONFIG)


def _fault(file: Path) -> str:
    """What is wrong with a file of settings (JSON is YAML too), without a word of it."""
    try:
        models = yaml.safe_load(file.read_text())
    except FileNotFoundError:
        return ""
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return f"{error.problem or 'it is not YAML'}" + (
            f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        )
    except Exception as error:
        return type(error).__name__
    if file.suffix == ".json":
        return "" if isinstance(models, dict) else "it is not a JSON object"
    is_right = isinstance(models, list) and all({"model_id", "model_name"} <= {*each} for each in models)
    return "" if is_right else "it is not a list of models, each with model_id and model_name"
