"""`pflow setup`: install man pages and completions below a prefix, list them there, and remove what is listed."""

import json
import os
import shlex
import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pflow import __version__
from pflow.catalog.find import PROGRAM, PYTHON, list_types
from pflow.catalog.registry import bundled_directory
from pflow.completion.names import LOADER
from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, MISSING, USAGE, PflowError
from pflow.files.atomic import replace
from pflow.files.directories import pflow_directory
from pflow.help.man import files as man_pages
from pflow.help.spec import CommandSpec, spec_of_node
from pflow.interface.source import NO_CLASS
from pflow.process.children import Child, Program, end, output_of
from pflow.values.digest import bytes_digest

FOLDERS = {
    "man": "man",
    "bash": "bash-completion/completions",
    "zsh": "zsh/site-functions",
    "fish": "fish/vendor_conf.d",
}
"""The directory below share/ in which each program looks."""

WRITE, UPDATE, REMOVE, KEEP, CHANGED = "write", "update", "remove", "keep", "changed"
"""The changes of a file: it is new, another version, no longer wanted, up to date, or was edited by the user."""

_BEGIN = "# >>> pflow setup (pflow setup --undo removes this block)"
_END = "# <<< pflow setup"

# bash-completion loads a command's completion at its first TAB; version 2.12 renamed the function that does it.
SHELLS = {
    "bash": "complete -p pflow-llm || _completion_loader pflow-llm || _comp_load pflow-llm"
    "; [[ $(complete -p pflow-llm) == *_pflow* ]]",
    "zsh": "(( $+functions[compdef] )) && f=${_comps[pflow-llm]:-$_patcomps[pflow-*]}"
    "; [[ -n $f ]] && autoload -Uz +X $f",
    "fish": "complete | string match -q '*__complete fish*'",
}


def share_directory(prefix: str | None) -> Path:
    """Return the share directory of a prefix, else the user's own. Raises PflowError (2, 78)."""
    if prefix == "":
        raise PflowError("cannot use '' as a prefix: it is empty", hint="--prefix DIR", exit=USAGE)
    if prefix is not None:
        return Path(os.path.abspath(os.path.expanduser(prefix)), "share")
    own = pflow_directory("XDG_DATA_HOME", ".local/share")
    if own is None:
        raise PflowError("cannot tell where to install: HOME is not set", hint="--prefix DIR", exit=BAD_CONFIG)
    return Path(os.path.abspath(own)).parent


@dataclass
class Setup:
    """The list of the things that setup has installed below a share directory, and of its changes elsewhere.

    `files` are names below share/, each with the SHA-256 of every version that setup wrote. `directories` and `made`
    are the directories and the start-up files that it made, `blocks` the lines that it added to start-up files.
    """

    share: Path
    files: dict[str, list[str]] = field(default_factory=dict)
    directories: list[str] = field(default_factory=list)
    blocks: dict[str, str] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)

    @property
    def list_file(self) -> Path:
        return self.share / "pflow" / "setup.json"

    def changes(self, wanted: dict[str, bytes]) -> dict[str, str]:
        """Return the change that each file needs so that share/ has the `wanted` ones.

        Raises PflowError (73) if a file that setup did not write is in the way.
        """
        names = [*wanted, *sorted(self.files.keys() - wanted)]
        found = {name: self._change(name, wanted.get(name)) for name in names}
        return {name: change for name, change in found.items() if change}

    def _change(self, name: str, wanted: bytes | None) -> str:
        path, known = self.share / name, self.files.get(name, [])
        if not os.path.lexists(path):
            return "" if wanted is None else WRITE
        digest = bytes_digest(path.read_bytes()) if path.is_file() and not path.is_symlink() else ""
        if wanted is not None and digest == bytes_digest(wanted):
            return KEEP
        if digest in known:
            return REMOVE if wanted is None else UPDATE
        if known:
            return CHANGED
        what = f"cannot write '{path}': another file is there, which pflow setup did not write"
        hint = "move it away, or take another --prefix; nothing was changed"
        raise PflowError(what, hint=hint, exit=CANNOT_WRITE)

    def install(self, wanted: dict[str, bytes]) -> None:
        """Make share/ hold the wanted files. Raises OSError.

        The list is saved before the files are written, so that after a kill the next setup knows all of them.
        """
        changes, is_first = self.changes(wanted), not self.files
        ours = [name for name, change in changes.items() if change in (WRITE, UPDATE)]
        for name in ours:
            self.files[name] = list(dict.fromkeys([*self.files.get(name, []), bytes_digest(wanted[name])]))
        try:
            for path in [self.list_file, *(self.share / name for name in ours)]:
                self._make_directory(path.parent)
            self._save()
            for name in ours:
                replace(str(self.share / name), wanted[name], mode=0o644)
        except OSError:
            if is_first:
                self.uninstall()
            raise
        self._remove(changes)
        self._save()

    def add_block(self, shell: str) -> None:
        """Add a shell's line at the end of its start-up file, after the lines that start completion. Raises OSError."""
        file, line = start_line(shell, self.share)
        text = start_file_text(file)
        self.blocks[file] = "\n".join([""] * bool(text and text[-1] != "\n") + [_BEGIN, line, _END, ""])
        self.made += [file] * (not os.path.lexists(file))
        self._make_directory(Path(file).parent)
        self._save()
        _write(file, text + self.blocks[file])

    def has_block(self, file: str) -> bool:
        """Return True if a start-up file has the block, unchanged."""
        return self.blocks[file] in start_file_text(file)

    def uninstall(self) -> None:
        """Remove the unedited blocks and files, then the list. Raises OSError."""
        for file in filter(self.has_block, self.blocks):
            rest = start_file_text(file).replace(self.blocks[file], "", 1)
            if rest or file not in self.made:
                _write(file, rest)
            else:
                os.unlink(file)
        self._remove(self.changes({}))
        self.list_file.unlink(missing_ok=True)
        self._remove_directories()

    def _remove(self, changes: dict[str, str]) -> None:
        for name in [name for name, change in changes.items() if change == REMOVE]:
            (self.share / name).unlink()
            del self.files[name]
        self._remove_directories()

    def _make_directory(self, directory: Path) -> None:
        """Make a directory that only its owner can write: zsh asks before it uses completions from any other."""
        if not directory.is_dir():
            self._make_directory(directory.parent)
            directory.mkdir(mode=0o755)
            self.directories.append(os.path.relpath(directory, self.share))

    def _remove_directories(self) -> None:
        """Remove the empty directories that setup made, children first: the list has parents before them."""
        for name in self.directories[::-1]:
            with suppress(OSError):
                os.rmdir(os.path.normpath(self.share / name))
                self.directories.remove(name)

    def _save(self) -> None:
        members = {name: value for name, value in vars(self).items() if name != "share"}
        replace(str(self.list_file), json.dumps({"by": f"pflow-shell {__version__}", **members}) + "\n", mode=0o600)


def read_setup(share: Path) -> Setup:
    """Read the list below share/; if it is missing, return an empty Setup. Raises PflowError (65) if it is damaged."""
    setup = Setup(share)
    try:
        members = json.loads(setup.list_file.read_bytes())
        return Setup(share, *(members[name] for name in ("files", "directories", "blocks", "made")))
    except (FileNotFoundError, NotADirectoryError):
        return setup
    except (ValueError, TypeError, KeyError):
        hint = "if you remove it, pflow does not know what an earlier setup installed"
        what = f"cannot read '{setup.list_file}': pflow setup did not write it"
        raise PflowError(what, hint=hint, exit=BAD_DATA) from None


def wanted_files() -> tuple[dict[str, bytes], list[str]]:
    """Return the files to install by name, and the reasons why faulty nodes of the user have none.

    Raises PflowError (66).
    """
    specs: list[CommandSpec] = []
    left_out: list[str] = []
    for node_type in [each for each in list_types() if each.origin in (PYTHON, PROGRAM)]:
        try:
            if node_type.interface.open or node_type.class_fault:
                raise PflowError(node_type.class_fault or node_type.interface.fault or "it has no interface")
            specs.append(spec_of_node(node_type.name, node_type.interface))
        except PflowError as error:
            left_out += [f"'{node_type.name}' is left out: {error.message}"] * (not error.message.endswith(NO_CLASS))
    pages = {f"{FOLDERS['man']}/man1/{name}": text for name, text in man_pages(specs).items()}
    loaders = {f"{FOLDERS['bash']}/{spec.name}": LOADER.format(name=spec.name) for spec in specs}
    own = {name: text.encode("utf-8", "replace") for name, text in (pages | loaders).items()}
    return own | _bundled(), left_out  # a user's node must not replace a page of pflow's


def _bundled() -> dict[str, bytes]:
    root = Path(bundled_directory())
    sources = {"man": root / "man"} | {shell: root / "completions" / shell for shell in ("bash", "zsh", "fish")}
    files = {
        f"{FOLDERS[program]}/{file.relative_to(source)}": file.read_bytes()
        for program, source in sources.items()
        for file in sorted(source.rglob("*"))
        if file.is_file()
    }
    if not files:
        raise PflowError(f"cannot find the man pages and completions in '{root}'", hint="make generate", exit=MISSING)
    return files


def start_file_text(file: str | Path) -> str:
    """Read a start-up file; empty if it is missing. Bytes that are not UTF-8 become surrogates, and are kept."""
    return Path(file).read_bytes().decode("utf-8", "surrogateescape") if os.path.isfile(file) else ""


def _write(file: str, text: str) -> None:
    replace(file, text.encode("utf-8", "surrogateescape"), mode=0o644)


def start_line(shell: str, share: Path) -> tuple[str, str]:
    """Return a shell's start-up file, and the line that makes the shell complete pflow's commands."""
    file, script = {
        "bash": ("~/.bashrc", "pflow"),
        "zsh": (f"{os.environ.get('ZDOTDIR') or '~'}/.zshrc", "pflow.zsh"),
        "fish": ("~/.config/fish/config.fish", "pflow.fish"),
    }[shell]
    return os.path.expanduser(file), f"source {shlex.quote(str(share / FOLDERS[shell] / script))}"


def advise(share: Path, answers: Mapping[str, bool | None]) -> dict[str, tuple[str, list[str]]]:
    """Return for man and each shell the advice, or "", and the lines to add. `answers` come from ask_shells."""
    lines = _man_lines(str(share / FOLDERS["man"])) if shutil.which("man") else []
    advice = {"man": ("add to your shell's profile" if lines else "", lines)} if shutil.which("man") else {}
    for shell, is_there in answers.items():
        file, line = start_line(shell, share)
        moved = f"move this line up in {file}, which ends or waits before it"
        todo = moved if line in start_file_text(file) else f"add to the end of {file}"
        advice[shell] = ("", []) if is_there else (todo, [line])
    return advice


def _man_lines(pages: str) -> list[str]:
    listed = os.environ.get("MANPATH", "").split(":")
    searched = ""
    if shutil.which("manpath"):
        _, searched, _ = output_of(["manpath", "-q"])
    if pages in [*listed, *searched.strip().split(":")]:
        return []
    return [f"export MANPATH={shlex.quote(':'.join([pages, *listed]))}"]


def ask_shells() -> dict[str, bool | None]:
    """Return for each installed shell True if it completes pflow-llm; None if it does not answer in 5 s.

    A new shell runs its start-up files, which may ask, loop or print: so each shell has a session of its own without a
    terminal, all run at once, and each answers by an exit code that no start-up file has.
    """
    environment = os.environ | {"TMUX": "/nowhere/tmux,0,0"}  # else some start-up files start tmux
    asked: dict[str, Child] = {}
    with ExitStack() as programs:
        for shell in filter(shutil.which, SHELLS):
            argv = [shell, "-c" if shell == "fish" else "-ic", f"{SHELLS[shell]} && exit 42; exit 43"]
            asked[shell] = programs.enter_context(Program(argv, on_stdout=-1, on_stderr=-1, env=environment))
        limit = time.monotonic() + 5
        while time.monotonic() < limit and not all(program.has_ended() for program in asked.values()):
            time.sleep(0.01)
        end(asked.values(), 0)
    return {shell: {42: True, 43: False}.get(program.code or 0) for shell, program in asked.items()}
