"""Whether the llm library, its plugins and its settings can be used: nothing is asked, and no key is shown."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint, entry_points
from traceback import walk_tb

from pflow.models import settings
from pflow.models.choose import all_models, check_key, choose, choose_capable
from pflow.models.local import LocalModel
from pflow.source import in_words


def plugins() -> list[tuple[str, str, str]]:
    """Each installed plugin: its distribution, that one's version, why it fails ("" where it does not).

    Raises PflowError (78) where llm fails and it is the fault of none.
    """
    faults: dict[str, str] = {}
    entries = list(_plugins())
    for entry in entries:
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            faults[entry.name] = in_words(error)
    try:
        all_models()
    except (Exception, SystemExit) as error:
        frames = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame, _ in walk_tb(error.__traceback__)]
        guilty = [entry.name for entry in entries if entry.module.partition(".")[0] in frames]
        if not guilty and not faults:
            raise settings.broken(Exception(in_words(error))) from error
        faults.update(dict.fromkeys(guilty, in_words(error)))
    return [(*_distribution(entry), faults.get(entry.name, "")) for entry in entries]


def _plugins() -> list[EntryPoint]:
    """The plugins that llm loads, without pflow's own."""
    named = os.environ.get("LLM_LOAD_PLUGINS")
    wanted = None if named is None else named.split(",")
    found = [(entry, _distribution(entry)[0]) for entry in entry_points(group="llm")]
    return [entry for entry, name in found if name != "pflow-shell" and (wanted is None or name in wanted)]


def _distribution(entry: EntryPoint) -> tuple[str, str]:
    return (entry.dist.name, entry.dist.version) if entry.dist else (entry.name, "")


def faults_of_settings() -> list[str]:
    """What of llm's settings is passed over, and why, once its models are loaded; stderr does not say it again."""
    found = list(dict.fromkeys([*settings.faults_of_files, *settings.faults.values()]))
    settings.said.update(found)
    return found


def keys_file() -> str:
    return str(settings.directory() / "keys.json")


def chosen_model(*, plans: bool = False) -> tuple[str, bool]:
    """The model that is asked where no flag names one, and whether it runs on this machine.

    Raises PflowError: 78 where there is none, 77 where it has no key, 66 for a file that is missing.
    """
    model = choose_capable(None) if plans else choose(os.environ.get("PFLOW_MODEL") or None)
    check_key(model)
    return model.model_id, isinstance(model, LocalModel)
