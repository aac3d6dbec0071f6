"""One node's use of the cache: what it gave for the same values is looked for before it runs, and kept after."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.store import REMOVED
from pflow.cache import entries
from pflow.cache.code import code_of, is_current
from pflow.cache.key import cannot_cache, check, make_key
from pflow.errors import MISSING, PflowError
from pflow.values.masks import Secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pflow.binding.store import NodeStore
    from pflow.cache.key import Key
    from pflow.catalog.interfaces import Kind
    from pflow.interface.interface import Interface

HIT, MISS, OFF = "hit", "miss", "off"


class CachedNode:
    """A node whose answers are kept: `is_required` where it may not run, `refreshes` where what is kept does not count.

    A person wants it of this very node (`is_asked`), or nobody said so of a pure one (`is_unasked`).
    """

    def __init__(
        self, kind: Kind, version: str, interface: Interface, *, is_required: bool = False, refreshes: bool = False,
        is_unasked: bool = False, is_made: bool = False,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.name = kind.name
        self.version = version
        self.interface = interface
        self.code = code_of(kind)
        self.is_required = is_required
        self.refreshes = refreshes
        self.is_unasked = is_unasked
        self.is_made = is_made
        self.is_asked = False
        self.secrets = Secrets()
        """Those that are known: none is kept, and what has one in it counts by HMAC."""

    def insist(self, node: Any) -> None:
        """Take it that a person wants it of this very node. Raises PflowError (78) where that cannot be."""
        self.is_asked = True
        check(self.name, self.interface, self.code, node)

    def look_up(self, node: Any, view: NodeStore, warn: Callable[[str], None]) -> Lookup:
        """Look for what it gave for these values; `warn` hears of what is damaged, and of what is not kept.

        Raises PflowError: 66 where that must be there and is not, 78 where a person wants it and it cannot be.
        """
        lookup = Lookup(self, warn)
        try:
            lookup.key = make_key(
                self.name, self.version, self.code, self.interface, node, view, self.secrets, is_made=self.is_made
            )
            found = None if self.refreshes else entries.find(lookup.key, warn)
            if found is not None:
                lookup.found, lookup.run = found[0], found[1].run
        except (PflowError, OSError) as error:
            fault = error if isinstance(error, PflowError) else cannot_cache(self.name, str(error))
            if self.is_asked:
                raise fault from None
            lookup.verdict, lookup.why = OFF, fault.message.removeprefix(cannot_cache(self.name, "").message)
        if lookup.found is not None:
            lookup.verdict = HIT
        elif lookup.key is not None and self.is_required:
            raise self._nothing_kept(lookup.key)
        return lookup

    def _nothing_kept(self, key: Key) -> PflowError:
        from pflow.cache.differences import differences, facts_of, facts_of_entry

        nearest = entries.nearest(key)
        changed = differences(facts_of(key), facts_of_entry(nearest)) if nearest else []
        why = "; ".join(changed) or "nothing of it is kept"
        hint = "--cache runs it, and keeps what it gives"
        return PflowError(f"cannot take what '{self.name}' gave before: {why}", hint=hint, exit=MISSING)


class Lookup:
    """One look into the cache, for one visit of a node. `why` tells of OFF, and of a miss that was not kept."""

    def __init__(self, cached: CachedNode, warn: Callable[[str], None]) -> None:
        self.cached = cached
        self.warn = warn
        self.verdict = MISS
        self.why = ""
        self.key: Key | None = None
        self.found: Any = None
        self.run = ""
        """The run that gave what was found, if a run did."""

    def apply(self, view: NodeStore) -> Any:
        """Do to the store what the node did, and return its action."""
        for key in self.cached.interface.reads:
            if key in view:
                view[key]  # it counts as read
        for key, value in self.found["changes"].items():
            view[key] = value
        for key in self.found["removed"]:
            view.pop(key, None)
        return self.found["action"]

    def keep(
        self, node: Any, action: Any, changes: Mapping[str, Any], view: NodeStore, run: str = ""
    ) -> dict[str, str]:
        """Keep the node's answer, if it may be kept; return the lookup as a trace tells it.

        A warning says that a pure node, or one that a person wants cached, is not.
        """
        name = self.cached.name
        if self.key is not None and self.verdict == MISS:
            self.why = self._why_not(node, action, view) or self._put(action, changes, run)
        if self.verdict == OFF and self.cached.is_unasked:
            self.warn(f"'{name}' is not cached: {self.why}")
        elif self.why and self.cached.is_asked:
            self.warn(f"what '{name}' gave is not kept: {self.why}")
        return self.about()

    def _why_not(self, node: Any, action: Any, view: NodeStore) -> str:
        """Why it is not kept: it could go better the next time, or depends on more than its key has."""
        if action == "error":
            return "it returned error"
        if said := getattr(node, "not_kept", ""):
            return str(said)
        unnamed = view.asked_beside(self.cached.interface.reads)
        if unnamed:
            what = "which keys there are" if unnamed[0] == "*" else f"'{unnamed[0]}', which its interface does not name"
            return f"it looked at {what}"
        if not is_current(self.cached.kind):
            return "its code changed while it ran"
        assert self.key is not None
        return "" if self.key.is_current() else "a file that it reads changed while it ran"

    def _put(self, action: Any, changes: Mapping[str, Any], run: str) -> str:
        """Write it down; why not, where it cannot be."""
        kept = {key: value for key, value in changes.items() if value is not REMOVED}
        found = {"action": action, "changes": kept, "removed": [key for key in changes if key not in kept]}
        assert self.key is not None
        try:
            if self.cached.secrets.are_in(kept):
                return "a secret stands in it"
            entries.keep(self.key, found, run)
        except PflowError as error:
            return error.message
        return ""

    def about(self) -> dict[str, str]:
        """For the trace; of an answer that was kept the model, which was not asked."""
        usage = self.found["changes"].get("usage") if self.verdict == HIT else None
        model = usage.get("model") if isinstance(usage, dict) else None
        return {
            "verdict": self.verdict,
            **({"why": self.why} if self.why else {}),
            **({"model": model} if model else {}),
        }

    def facts(self) -> dict[str, Any]:
        """For `pflow why`: the verdict, the key and its parts, without values."""
        from pflow.cache.differences import facts_of

        known = {"key": self.key.digest, "parts": facts_of(self.key)} if self.key else {}
        of = {"of": self.run} if self.run else {}
        return {"cache": self.about(), **of, **({"refreshed": True} if self.cached.refreshes else {}), **known}
