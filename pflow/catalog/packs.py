"""The installed packs and Python distributions: where each came from, its files, and the digests that pin them.

`packs.lock.json` in the user's data directory decides which packs are installed. It is replaced as a whole, after the
files of a new version are in place and before those of the old version are removed.
"""

from __future__ import annotations

import os
import sys

from pflow import Any
from pflow.errors import BAD_CONFIG, PflowError, reason_of, result_of, shorten
from pflow.files.directories import data_directory, required_directory
from pflow.files.reading import read_regular
from pflow.text.printable import clean
from pflow.values.jsontext import decode

MARK, VERSION = "pflow_packs", 1

_SHORT = 12
"""How many digits of a commit's or tree's hash are shown."""


class Pack:
    """A pinned pack.

    `address` is a URL or path without `@TAG` and `#DIR`. `asked` is that tag, branch or commit, and `directory` that
    directory; each may be empty. `commit` is the whole hash, empty for a copied directory; `tree` is the digest of all
    files. `files` maps each path to its `digest` and, for a node or flow, to what it `declares`.
    """

    __slots__ = ("address", "asked", "commit", "directory", "files", "folder", "name", "tree")

    def __init__(
        self, name: str, address: str, asked: str, directory: str, commit: str, tree: str, files: dict[str, Any]
    ) -> None:
        self.name, self.address, self.asked, self.directory = name, address, asked, directory
        self.commit, self.tree, self.files = commit, tree, files
        self.folder = os.path.join(packs_directory() or "", name, tree[:_SHORT])
        """The directory of this version's files. Kept because a confined process lacks the variables that name it."""

    @property
    def version(self) -> str:
        """The version as shown to people: the tag or branch that was asked for, else the commit, else the tree."""
        return self.asked or (self.commit or self.tree)[:_SHORT]

    @property
    def label(self) -> str:
        """Its name and version, safe to print on a terminal."""
        return clean(f"{self.name} {self.version}".strip())

    @property
    def about(self) -> dict[str, str]:
        """Its name, version and address, which the descriptions of its nodes and flows show."""
        return {"name": self.name, "version": self.version, "address": self.address}

    def paths(self, folder: str) -> list[tuple[str, str]]:
        """Return a name and a file for each node or flow that the lock file names, even if the file is missing.

        The name is empty if the file's name is the node's.
        """
        found = (path for path, about in self.files.items() if os.path.dirname(path) == folder and "declares" in about)
        return [("", f"{self.folder}/{path}") for path in found]

    def digest_of(self, file: str) -> str:
        """Return the pinned digest of a file; empty if the lock file does not name it."""
        return str(self.files.get(file[len(self.folder) + 1 :], {}).get("digest", ""))

    def members(self) -> dict[str, Any]:
        """Return its entry in a lock file."""
        return {name: getattr(self, name) for name in ("address", "asked", "directory", "commit", "tree", "files")}


class Distribution(Pack):
    """A Python distribution as a pack: pip or uv installs and removes it, and its files are not pinned."""

    __slots__ = ("found",)

    def __init__(self, name: str, version: str, found: dict[str, list[tuple[str, str]]]) -> None:
        super().__init__(name, "", version, "", "", "", {})
        self.found = found

    def paths(self, folder: str) -> list[tuple[str, str]]:
        return self.found[folder]


def packs_directory() -> str | None:
    """Return the directory of packs; None if the environment names no place."""
    return data_directory("packs")


def lock_file() -> str | None:
    return data_directory("packs.lock.json")


_packs: dict[str, dict[str, Pack]] = {}
_distributions: dict[tuple[str, ...], list[Distribution]] = {}


def installed_packs() -> dict[str, Pack]:
    """Return the packs by name, read once. Raises PflowError (78) for a lock file that cannot be read."""
    file = lock_file() or ""
    if file not in _packs:
        _packs[file] = read_packs(file) if os.path.lexists(file) else {}
    return _packs[file]


def forget_packs() -> None:
    """Forget the packs that were read, because the lock file has changed."""
    _packs.clear()
    _distributions.clear()


def read_packs(file: str, remedy: str = "move it away, then install the packs again") -> dict[str, Pack]:
    """Read a lock file. Raises PflowError (78)."""
    act, fault = f"cannot read the packs in '{file}'", "it is damaged"
    try:
        document = decode(read_regular(file))
        if document[MARK] > VERSION:
            fault = f"it has version {shorten(str(document[MARK]), 20)}, but this pflow reads version {VERSION}"
            remedy = f"a newer pflow reads it; or {remedy}"
        found = {name: Pack(name, **members) for name, members in document["packs"].items()}
        if document[MARK] != VERSION or not all(_has_texts(each) and _stays_inside(each) for each in found.values()):
            raise ValueError
        return found
    except OSError as error:
        raise PflowError(f"{act}: {reason_of(error)}", exit=BAD_CONFIG) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, PflowError):
        raise PflowError(f"{act}: {fault}", hint=remedy, exit=BAD_CONFIG) from None


def _has_texts(pack: Pack) -> bool:
    """Return True if all members of a pack in a lock file, and of its files, are texts. Raises as `read_packs` does."""
    texts = [pack.name, pack.address, pack.asked, pack.directory, pack.commit, pack.tree]
    texts += [about["digest"] for about in pack.files.values()]
    texts += [about.get("declares", {}).get("name", "") for about in pack.files.values()]
    return all(isinstance(text, str) for text in texts)


def _stays_inside(pack: Pack) -> bool:
    """Return True if a pack's name, tree, commit and paths cannot lead out of a directory: each is used in a path.

    A project's lock file comes from others: with the commit `../..`, `pflow install` once removed a directory.
    """
    is_plain = pack.name[:1].isalnum() and "/" not in pack.name and pack.tree.isalnum()
    paths = [path.split("/") for path in pack.files]
    return is_plain and (pack.commit or "0").isalnum() and all(path[0] and ".." not in path for path in paths)


def installed_sources() -> list[Pack]:
    """Return the packs, then the distributions. Raises PflowError (78) as `installed_packs` does."""
    return [*installed_packs().values(), *installed_distributions()]


def installed_distributions() -> list[Distribution]:
    """Return the Python distributions with nodes or flows, found once."""
    places = tuple(sys.path)
    if places not in _distributions:
        _distributions[places] = [Distribution(*each) for each in find_distributions()]
    return _distributions[places]


def file_in_pack(name: str, path: str) -> str:
    """Return the file at a path in the pack of this name. Raises PflowError (78) if the pack does not have it."""
    pack = installed_packs().get(name)
    if pack is None or path not in pack.files:
        required_directory(packs_directory(), f"cannot find '{path}' of the pack '{name}'", "XDG_DATA_HOME")
        why = f"cannot find '{path}' of the pack '{name}': it is not installed"
        raise PflowError(why, hint=f"pflow install {pack.address if pack else 'ADDRESS'}", exit=BAD_CONFIG)
    return os.path.join(pack.folder, path)


def pack_of(file: str) -> Pack | None:
    """Return the installed pack or distribution to which a file (an absolute path) belongs; None for other files."""
    folder = packs_directory()
    if folder is None or not file.startswith(f"{folder}/"):
        may_be = any(place and file.startswith(f"{place}/") for place in sys.path)
        others = installed_distributions() if may_be else []
        return next(
            (each for each in others for _, path in each.paths("nodes") + each.paths("flows") if path == file), None
        )
    pack = installed_packs().get(file[len(folder) + 1 :].partition("/")[0])
    return pack if pack and file.startswith(f"{pack.folder}/") else None


def verified(pack: Pack, file: str) -> bytes:
    """Read a file of a pack. Raises PflowError (78) if it is missing, or differs from what was pinned."""
    from pflow.values.digest import bytes_digest

    data = result_of(read_regular, file, otherwise=None)
    pinned = pack.digest_of(file)
    if data is None or (pack.tree and bytes_digest(data) != pinned):
        what = "has changed since it was installed" if data is not None and pinned else "is not as it was installed"
        hint = f"pflow update {pack.name} brings it back; pflow update {pack.name} --accept-changes keeps the change"
        raise PflowError(f"cannot use '{file}' of the pack '{pack.name}': it {what}", hint=hint, exit=BAD_CONFIG)
    return data


def faults_of(pack: Pack) -> dict[str, PflowError]:
    """Return an error for each file of a pack that has changed since the install, by its path in the pack."""
    found = {}
    for path in pack.files:
        try:
            verified(pack, os.path.join(pack.folder, path))
        except PflowError as error:
            found[path] = error
    return found


# Read directly, in 1 ms for a hundred distributions: importing importlib.metadata alone takes longer than a stage.
_GROUPS = {"[pflow.nodes]": "nodes", "[pflow.flows]": "flows"}

DistributionFiles = tuple[str, str, dict[str, list[tuple[str, str]]]]
"""A distribution's name and version, and its nodes and flows: a name (empty: the file's name) and a file for each."""


def find_distributions() -> list[DistributionFiles]:
    """Return the distributions on sys.path with the entry points `pflow.nodes` and `pflow.flows`. Nothing is imported.

    An entry point names a package, whose files are all nodes or flows. An entry point of `pflow.nodes` may also name a
    module with one node, which gets the entry point's name. An editable distribution needs its files on sys.path too.
    """
    places = tuple(dict.fromkeys(os.path.abspath(each) for each in sys.path if each))
    found: dict[str, DistributionFiles] = {}
    for place in places:
        for folder in sorted(result_of(os.listdir, place, otherwise=[])):
            name, _, version = folder.removesuffix(".dist-info").partition("-")
            if folder.endswith(".dist-info") and name not in found:
                data = result_of(read_regular, os.path.join(place, folder, "entry_points.txt"), otherwise=b"")
                if entries := _parse(data.decode("utf-8", "replace")) if b"[pflow." in data else []:
                    found[name] = (name.replace("_", "-"), version, _files(places, entries))
    return [*found.values()]


def _parse(text: str) -> list[list[str]]:
    """Return the kind, name and module of each entry point of pflow."""
    kind, entries = "", []
    for line in map(str.strip, text.splitlines()):
        name, equals, value = line.partition("=")
        if line.startswith("["):
            kind = _GROUPS.get(line, "")
        elif kind and equals and not line.startswith("#"):
            entries.append([kind, name.strip(), value.partition("[")[0].partition(":")[0].strip()])
    return entries


def _files(places: tuple[str, ...], entries: list[list[str]]) -> dict[str, list[tuple[str, str]]]:
    """Return the nodes and flows of these entries: the files in a package's directory, or a module's file."""
    files: dict[str, list[tuple[str, str]]] = {"nodes": [], "flows": []}
    for kind, name, module in entries:
        paths = [os.path.join(place, *module.split(".")) for place in places]
        folder = next(filter(os.path.isdir, paths), "")
        files[kind] += [("", os.path.join(folder, each)) for each in sorted(os.listdir(folder))] if folder else []
        module_file = "" if folder else next(filter(os.path.isfile, [f"{path}.py" for path in paths]), "")
        files[kind] += [(name, module_file)] * bool(module_file and kind == "nodes")
    return files
