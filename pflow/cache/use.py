"""One node's use of the cache: look up the answer for its values before it runs, and keep a new answer after."""

from __future__ import annotations

from pflow import Any, Callable, Mapping
from pflow.binding.store import REMOVED, NodeStore
from pflow.cache import entries
from pflow.cache.code import code_of, is_current
from pflow.cache.key import Key, cannot_cache, differences, facts_of, make_key, why_uncacheable
from pflow.catalog.node_type import NodeType
from pflow.errors import MISSING, PflowError
from pflow.interface.interface import ANYTHING, Interface
from pflow.values.secrets import Secrets

HIT, MISS, OFF = "hit", "miss", "off"


class CachedNode:
    """A node whose answers are kept. If it `refreshes`, kept answers are ignored.

    If `is_required`, a node that can be cached must not run: without a kept answer it fails. If `is_asked`, a flag or
    the flow wants it cached. If `is_unasked`, it is cached only because it is pure.
    """

    def __init__(
        self, node_type: NodeType, interface: Interface, *, is_asked: bool, is_unasked: bool, is_required: bool,
        refreshes: bool, is_from_python: bool,
    ) -> None:  # fmt: skip
        self.node_type = node_type
        self.name = node_type.name
        self.interface = interface
        self.code = code_of(node_type)
        self.is_asked = is_asked
        self.is_unasked = is_unasked
        self.is_required = is_required
        self.refreshes = refreshes
        self.is_from_python = is_from_python
        self.run = ""
        """The run that uses it, if any; answers that this run made need no refresh."""
        self.secrets = Secrets()
        """The known secrets. They are never kept, and a value that contains one is in the key as an HMAC."""

    def check(self, node: Any) -> None:
        """Raise PflowError (78) if no answer of this node can be kept, for any values."""
        if fault := why_uncacheable(self.interface, self.code, node):
            raise cannot_cache(self.name, fault)

    def can_be_kept(self, node: Any) -> bool:
        """Return True if answers of this node can be kept, at least for some values."""
        return not why_uncacheable(self.interface, self.code, node)

    def look_up(self, node: Any, view: NodeStore, warn: Callable[[str], None]) -> Lookup:
        """Look for the answer to these values; `warn` hears of damaged entries, and of answers that are not kept.

        Raises PflowError: 66 if a required answer is missing, 78 if caching was asked for but is not possible.
        """
        lookup = Lookup(self, warn)
        try:
            about = (self.name, self.node_type.version, self.code, self.interface)
            lookup.key = make_key(*about, node, view, self.secrets, is_from_python=self.is_from_python)
            found = entries.find(lookup.key, warn)
            if found is not None and (not self.refreshes or found[1].run == self.run != ""):
                lookup.found, lookup.run = found[0], found[1].run
        except (PflowError, OSError) as error:
            fault = error if isinstance(error, PflowError) else cannot_cache(self.name, str(error))
            asks_others = not {"network", "runs commands", ANYTHING}.isdisjoint(self.interface.effects)
            if self.is_asked or (self.is_required and asks_others and self.can_be_kept(node)):
                raise fault from None
            lookup.verdict, lookup.why = OFF, fault.message.removeprefix(cannot_cache(self.name, "").message)
        if lookup.found is not None:
            lookup.verdict = HIT
        elif lookup.key is not None and self.is_required:
            raise self._nothing_kept(lookup.key)
        return lookup

    def _nothing_kept(self, key: Key) -> PflowError:
        nearest = entries.nearest(key)
        changed = differences(facts_of(key), nearest.facts) if nearest else []
        why = "; ".join(changed) or "the cache has none"
        hint = "--cache runs the node and keeps its answer"
        return PflowError(f"cannot find a kept answer of '{self.name}': {why}", hint=hint, exit=MISSING)


class Lookup:
    """One look into the cache, for one visit of a node. `why` explains OFF, or why a new answer is not kept."""

    def __init__(self, cached: CachedNode, warn: Callable[[str], None]) -> None:
        self.cached = cached
        self.warn = warn
        self.verdict = MISS
        self.why = ""
        self.key: Key | None = None
        self.found: Any = None
        self.run = ""
        """The run that made the kept answer, if any."""

    def apply(self, view: NodeStore) -> Any:
        """Apply the kept changes to the store, and return the kept action."""
        for key in self.cached.interface.reads:
            if key in view:
                view[key]  # so that the trace of a hit lists the same reads as that of a run
        for key, value in self.found["changes"].items():
            view[key] = value
        for key in self.found["removed"]:
            view.pop(key, None)
        return self.found["action"]

    def keep(self, node: Any, action: Any, changes: Mapping[str, Any], view: NodeStore) -> dict[str, str]:
        """Keep the node's answer if it may be kept; return the lookup's part of the trace.

        Warn if a pure node, or one that should be cached, is not cached.
        """
        name = self.cached.name
        if self.key is not None and self.verdict == MISS:
            self.why = self._why_not(node, action, view) or self._put(action, changes)
        if self.verdict == OFF and self.cached.is_unasked:
            self.warn(f"'{name}' is not cached: {self.why}")
        elif self.why and self.cached.is_asked:
            self.warn(f"the answer of '{name}' is not kept: {self.why}")
        return self.about()

    def _why_not(self, node: Any, action: Any, view: NodeStore) -> str:
        """Say why the answer may not be kept: it could be better the next time, or depends on more than its key."""
        if action == "error":
            return "it returned error"
        if said := getattr(node, "not_kept", ""):
            return str(said)
        unnamed = view.asked_beside(self.cached.interface.reads)
        if unnamed:
            what = "all keys" if unnamed[0] == "*" else f"'{unnamed[0]}', which its interface does not name"
            return f"it looked at {what}"
        if not is_current(self.cached.node_type):
            return "its code changed while it ran"
        assert self.key is not None
        return "" if self.key.is_current() else "a file that it reads changed while it ran"

    def _put(self, action: Any, changes: Mapping[str, Any]) -> str:
        """Write the answer; return why, if it cannot be kept."""
        kept = {key: value for key, value in changes.items() if value is not REMOVED}
        found = {"action": action, "changes": kept, "removed": [key for key in changes if key not in kept]}
        assert self.key is not None
        try:
            if self.cached.secrets.are_in(kept):
                return "it contains a secret"
            entries.keep(self.key, found, self.cached.run)
        except PflowError as error:
            return error.message
        return ""

    def about(self) -> dict[str, str]:
        """Return the verdict for the trace; for a kept answer, also the model, which was not asked again."""
        usage = self.found["changes"].get("usage") if self.verdict == HIT else None
        model = usage.get("model") if isinstance(usage, dict) else None
        return {
            "verdict": self.verdict,
            **({"why": self.why} if self.why else {}),
            **({"model": model} if model else {}),
        }

    def facts(self) -> dict[str, Any]:
        """Return the facts for `pflow why`: the verdict, the key and its parts, without values."""
        known = {"key": self.key.digest, "parts": facts_of(self.key)} if self.key else {}
        of = {"of": self.run} if self.run else {}
        return {"cache": self.about(), **of, **({"refreshed": True} if self.cached.refreshes else {}), **known}
