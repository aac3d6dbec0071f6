"""How much text a model takes at once: what is known of it, else what most take."""

from __future__ import annotations

from llm import Model

from pflow.models.prices import listed_names

USUAL = 24_000
"""Characters that a model gets at once of which nothing is known."""

_CHARACTERS = 3
"""What a token has at least, in most texts and languages."""

_ANSWER = 2_000
"""Tokens that are left for question and answer, but no more than half of all."""


def characters_for(model: Model) -> int:
    """How many characters of a text it can be asked about at once."""
    tokens = getattr(model, "context", None) or _listed(model)
    return _CHARACTERS * (tokens - min(_ANSWER, tokens // 2)) if tokens else USUAL


def _listed(model: Model) -> int | None:
    """By the list of genai-prices."""
    names, place = listed_names(model)
    for name in names:
        try:
            from genai_prices.data_snapshot import get_snapshot

            where = (None, place.get("provider_id"), place.get("provider_api_url"))
            return get_snapshot().find_provider_model(name, *where)[1].context_window
        except Exception:  # whatever a list of others does not know, or stumbles over
            continue
    return None
