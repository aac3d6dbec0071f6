"""Setup puts files below a prefix, --undo leaves the tree as it was, and what a shell still needs is said."""

import os
from pathlib import Path

import pytest

import pflow.setup.setup
from pflow.catalog.find import forget_types
from pflow.errors import PflowError
from pflow.setup.setup import CHANGED, KEEP, REMOVE, UPDATE, WRITE, advise, read_setup, share_directory, wanted_files

PAGE, ZSH, FISH = "man/man1/pflow.1", "zsh/site-functions/_pflow", "fish/vendor_conf.d/pflow.fish"
WANTED = {PAGE: b"a page", ZSH: b"for zsh", FISH: b"for fish"}
NEWER = {PAGE: b"a newer page", ZSH: b"for zsh", "man/man7/new.7": b"new"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "ZDOTDIR", "MANPATH", "FPATH", "XDG_DATA_DIRS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # no power is cut here
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def share(tmp_path: Path) -> Path:
    return share_directory(str(tmp_path / "deep" / "prefix"))


def put(share, wanted):
    """What becomes of each file, then as it is done."""
    setup = read_setup(share)
    changes = setup.changes(wanted)
    setup.install(wanted)
    return changes


def take_away(share):
    setup = read_setup(share)
    changes = setup.changes({})
    setup.uninstall()
    return changes


def listing(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a directory: its mode, and a file's bytes."""
    paths = [root, *root.rglob("*")]
    return {str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in paths}


def files_below(share) -> dict[str, bytes]:
    found = {str(path.relative_to(share)): path for path in share.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name != "pflow/setup.json"}


def test_the_files_are_there_and_undo_leaves_the_tree_as_it_was(tmp_path):
    before = listing(tmp_path)
    share = share_directory(str(tmp_path / "new\n$(touch x)'\""))
    assert put(share, WANTED) == dict.fromkeys(WANTED, WRITE)
    assert files_below(share) == WANTED
    assert take_away(share) == dict.fromkeys(sorted(WANTED), REMOVE)
    assert listing(tmp_path) == before


def test_what_others_have_there_stays(tmp_path, share):
    for name in ("man/man1", "pflow/nodes"):
        (share / name).mkdir(parents=True, mode=0o711)
    (share / "man/man1/other.1").write_text("another's")
    (share / PAGE).write_bytes(b"a page")
    before = listing(tmp_path)
    assert put(share, WANTED)[PAGE] == KEEP
    take_away(share)
    assert listing(tmp_path) == before
    put(share, WANTED)
    (share / "zsh/site-functions/_other").write_text("another's")
    take_away(share)
    assert files_below(share).keys() == {"man/man1/other.1", PAGE, "zsh/site-functions/_other"}


def test_a_second_setup_updates_writes_anew_and_removes_what_is_no_longer_wanted(tmp_path, share):
    before = listing(tmp_path)
    put(share, WANTED)
    (share / ZSH).unlink()
    assert put(share, NEWER) == {PAGE: UPDATE, ZSH: WRITE, "man/man7/new.7": WRITE, FISH: REMOVE}
    assert files_below(share) == NEWER
    assert not (share / "fish").exists()
    assert put(share, NEWER) == dict.fromkeys(NEWER, KEEP)
    take_away(share)
    assert listing(tmp_path) == before


def test_a_file_that_was_changed_since_is_left(share):
    put(share, WANTED)
    (share / PAGE).write_text("a page with my notes")
    (share / ZSH).rename(share / "moved")
    (share / ZSH).symlink_to(share / "moved")
    for changes in (put(share, NEWER | {ZSH: b"newer"}), take_away(share)):
        assert (changes[PAGE], changes[ZSH]) == (CHANGED, CHANGED)
    assert (share / PAGE).read_text() == "a page with my notes"
    assert (share / "moved").read_bytes() == b"for zsh"


@pytest.mark.parametrize("make", [os.mkdir, lambda path: os.symlink("/nowhere", path), os.mkfifo, Path.touch])
def test_what_is_not_setups_is_refused_before_anything_is_done(tmp_path, share, make):
    (share / PAGE).parent.mkdir(parents=True)
    make(share / PAGE)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(PflowError, match=r"cannot write '.*/pflow.1': another file is there") as caught:
        put(share, WANTED)
    assert caught.value.exit == 73
    assert set(tmp_path.rglob("*")) == before


@pytest.fixture
def full_at(monkeypatch):
    """Has the write of a file fail as on a full disk."""
    replace = pflow.setup.setup.replace

    def fail_at(name):
        def full(path, data, **more):
            if name and path.endswith(name):
                raise OSError(28, "No space left on device", path)
            return replace(path, data, **more)

        monkeypatch.setattr(pflow.setup.setup, "replace", full)

    return fail_at


@pytest.mark.parametrize("then", [WANTED, NEWER, {}])
def test_an_update_that_failed_halfway_is_finished_or_undone_later(tmp_path, share, full_at, then):
    before = listing(tmp_path)
    put(share, WANTED)
    full_at("new.7")
    with pytest.raises(OSError, match="No space left"):
        put(share, NEWER)
    full_at("")
    put(share, then)
    assert files_below(share) == then
    take_away(share)
    assert listing(tmp_path) == before


@pytest.mark.parametrize("text", ["{", "[]", '{"by": "x"}'])
def test_a_list_that_setup_did_not_write_is_refused(share, text):
    (share / "pflow").mkdir(parents=True)
    (share / "pflow" / "setup.json").write_text(text)
    with pytest.raises(PflowError, match=r"pflow setup did not write it") as caught:
        read_setup(share)
    assert caught.value.exit == 65


def test_nobody_else_may_write_where_zsh_reads(share):
    mask = os.umask(0)
    try:
        put(share, WANTED)
    finally:
        os.umask(mask)
    assert all(path.stat().st_mode & 0o022 == 0 for path in (share / "zsh").rglob("*"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("text", ["bindkey -e", "autoload -Uz compinit\ncompinit\n", "caf\udce9\r\n", "", None])
def test_the_block_in_a_start_up_file_comes_last_and_goes_exactly(share, home, shell, text):
    place = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}[shell]
    script = {"bash": "bash-completion/completions/pflow", "zsh": "zsh/site-functions/pflow.zsh"}
    file, data = home / place, (text or "").encode("utf-8", "surrogateescape")
    if text is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o600)
    before = sorted(home.rglob("*"))
    put(share, WANTED)
    read_setup(share).add_block(shell)
    line = f"source {share}/{script.get(shell, 'fish/vendor_conf.d/pflow.fish')}"
    block = f"# >>> pflow setup (pflow setup --undo removes this block)\n{line}\n#"
    assert file.read_bytes().startswith(data + b"\n" * (text == "bindkey -e") + block.encode())
    take_away(share)
    assert sorted(home.rglob("*")) == before
    assert text is None or (file.read_bytes(), file.stat().st_mode & 0o777) == (data, 0o600)


NODE = '''from pflow import Node


class {title}(Node):
    """Do it.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the `text` of $x, "quoted"
    """
'''


def test_own_nodes_with_an_interface_get_a_page_and_a_loader(tmp_path, monkeypatch):
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    forget_types()
    before, _ = wanted_files()
    (tmp_path / "word_stats.py").write_text(NODE.format(title="WordStats"))
    (tmp_path / "prose.py").write_text('class Prose:\n    """Only prose."""\n')
    (tmp_path / "broken.py").write_text(NODE.format(title="Broken").replace(": str", ": strange"))
    (tmp_path / "pflow-$(touch hurt)").write_text("#!/bin/sh\n")
    forget_types()
    wanted, left_out = wanted_files()
    forget_types()
    own = {"man/man1/pflow-word-stats.1", "bash-completion/completions/pflow-word-stats"}
    assert wanted.keys() - before.keys() == own
    assert sorted(line.split("'")[1] for line in left_out) == ["broken", "prose"]


def test_what_each_shell_needs_is_said_by_what_it_answers(home, monkeypatch):
    monkeypatch.setattr(pflow.setup.setup.shutil, "which", lambda program: None if program == "manpath" else program)
    share = share_directory("/opt/m'y")
    pages, scripts = (f"/opt/m'\"'\"'y/share/{name}" for name in ("man:'", ""))
    answers = {"bash": False, "zsh": None, "fish": True}
    zsh = f"source '{scripts}zsh/site-functions/pflow.zsh'"
    assert advise(share, answers) == {
        "man": ("add to your shell's profile", [f"export MANPATH='{pages}"]),
        "bash": (f"add to the end of {home}/.bashrc", [f"source '{scripts}bash-completion/completions/pflow'"]),
        "zsh": (f"add to the end of {home}/.zshrc", [zsh]),
        "fish": ("", []),
    }
    (home / ".zshrc").write_text(f"exec tmux\n{zsh}\n")
    monkeypatch.setenv("MANPATH", "/opt/m'y/share/man:")
    advice = advise(share, answers)
    assert (advice["man"], advice["zsh"][0][:21]) == (("", []), "move this line up in ")
