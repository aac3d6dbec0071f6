"""Setup puts files below a prefix, and --undo leaves the tree as it was, whatever happened between the two."""

import os
from pathlib import Path

import pytest

from pflow.catalog.kinds import forget_kinds
from pflow.errors import PflowError
from pflow.setup import install as module
from pflow.setup.install import CHANGED, FOUND, KEEP, REMOVE, UPDATE, WRITE, Installation, read_installation
from pflow.setup.places import find_places, find_wanted, zshrc_path

PAGE, ZSH, FISH = "man/man1/pflow.1", "zsh/site-functions/_pflow", "fish/vendor_conf.d/pflow.fish"
WANTED = {PAGE: b"a page", ZSH: b"for zsh", FISH: b"for fish"}
NEWER = {PAGE: b"a newer page", ZSH: b"for zsh", "man/man7/new.7": b"new"}


def install(places, wanted, zshrc, *, is_dry=False):
    return (read_installation(places) or Installation(places)).put(wanted, zshrc, is_dry=is_dry)


def uninstall(places, *, is_dry=False):
    found = read_installation(places)
    return found and found.take_away(is_dry=is_dry)


def listing(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a directory: its mode, and a file's bytes."""
    paths = [root, *root.rglob("*")]
    return {str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in paths}


def files_below(places) -> dict[str, bytes]:
    found = {str(path.relative_to(places.share)): path for path in places.share.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if path != places.list_file}


@pytest.mark.parametrize("name", ["deep/prefix", "new\nline", "$(touch x)", "'\"", "ünï"])
def test_the_files_are_there_and_undo_leaves_the_tree_as_it_was(tmp_path, name):
    before = listing(tmp_path)
    places = find_places(str(tmp_path / name))
    assert install(places, WANTED, None).files == dict.fromkeys(WANTED, WRITE)
    assert files_below(places) == WANTED
    report = uninstall(places)
    assert report is not None
    assert report.files == dict.fromkeys(WANTED, REMOVE)
    assert listing(tmp_path) == before
    assert uninstall(places) is None


def test_what_others_have_there_stays(tmp_path, places):
    for name in ("man/man1", "pflow/nodes"):
        (places.share / name).mkdir(parents=True, mode=0o711)
    (places.share / "man/man1/other.1").write_text("another's")
    before = listing(tmp_path)
    install(places, WANTED, None)
    uninstall(places)
    assert listing(tmp_path) == before
    install(places, WANTED, None)
    (places.share / "zsh/site-functions/_other").write_text("another's")
    uninstall(places)
    assert files_below(places).keys() == {"man/man1/other.1", "zsh/site-functions/_other"}


def test_a_second_setup_updates_writes_anew_and_removes_what_is_no_longer_wanted(tmp_path, places):
    before = listing(tmp_path)
    install(places, WANTED, None)
    (places.share / ZSH).unlink()
    assert install(places, NEWER, None).files == {PAGE: UPDATE, ZSH: WRITE, "man/man7/new.7": WRITE, FISH: REMOVE}
    assert files_below(places) == NEWER
    assert not (places.share / "fish").exists()
    assert install(places, NEWER, None).files == dict.fromkeys(NEWER, KEEP)
    uninstall(places)
    assert listing(tmp_path) == before


def test_a_file_that_was_changed_since_is_left(places):
    install(places, WANTED, None)
    (places.share / PAGE).write_text("a page with my notes")
    (places.share / ZSH).rename(places.share / "moved")
    (places.share / ZSH).symlink_to(places.share / "moved")
    found = install(places, NEWER | {ZSH: b"newer"}, None).files
    assert (found[PAGE], found[ZSH]) == (CHANGED, CHANGED)
    report = uninstall(places)
    assert report is not None
    assert (report.files[PAGE], report.files[ZSH]) == (CHANGED, CHANGED)
    assert (places.share / PAGE).read_text() == "a page with my notes"
    assert (places.share / "moved").read_bytes() == b"for zsh"


@pytest.mark.parametrize("make", [os.mkdir, lambda path: os.symlink("/nowhere", path), os.mkfifo, Path.touch])
def test_what_is_not_setups_is_refused_before_anything_is_done(tmp_path, places, make):
    for name in (PAGE, ZSH):
        (places.share / name).parent.mkdir(parents=True)
        make(places.share / name)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(PflowError, match=r"cannot write '.*/pflow.1' and 1 more: another file is there") as caught:
        install(places, WANTED, None)
    assert caught.value.exit == 73
    assert set(tmp_path.rglob("*")) == before


def test_a_foreign_file_that_is_the_same_stays_a_foreign_file(tmp_path, places):
    (places.share / "man/man1").mkdir(parents=True)
    (places.share / PAGE).write_bytes(b"a page")
    before = listing(tmp_path)
    assert install(places, WANTED, None).files[PAGE] == FOUND
    uninstall(places)
    assert listing(tmp_path) == before


def test_a_dry_run_touches_nothing(tmp_path, places):
    before = listing(tmp_path)
    assert install(places, WANTED, None, is_dry=True).files == dict.fromkeys(WANTED, WRITE)
    assert uninstall(places, is_dry=True) is None
    assert listing(tmp_path) == before
    install(places, WANTED, None)
    there = listing(tmp_path)
    assert install(places, NEWER, None, is_dry=True).files[PAGE] == UPDATE
    report = uninstall(places, is_dry=True)
    assert report is not None
    assert report.files == dict.fromkeys(WANTED, REMOVE)
    assert listing(tmp_path) == there


def fail_at(monkeypatch, name: str):
    """Have the write of this file fail as on a full disk."""
    replace = module.replace

    def full(path, data, **more):
        if path.endswith(name):
            raise OSError(28, "No space left on device", path)
        return replace(path, data, **more)

    monkeypatch.setattr(module, "replace", full)


def test_when_a_write_fails_the_first_setup_is_taken_back(tmp_path, places, monkeypatch):
    before = listing(tmp_path)
    fail_at(monkeypatch, "pflow.fish")
    with pytest.raises(PflowError, match=r"cannot write '.*pflow.fish': no space left") as caught:
        install(places, WANTED, None)
    assert caught.value.exit == 73
    assert listing(tmp_path) == before


@pytest.mark.parametrize("then", [WANTED, NEWER, {}])
def test_an_update_that_failed_halfway_is_finished_or_undone_later(tmp_path, places, monkeypatch, then):
    before = listing(tmp_path)
    install(places, WANTED, None)
    with monkeypatch.context() as patch:
        fail_at(patch, "new.7")
        with pytest.raises(PflowError, match="no space left"):
            install(places, NEWER, None)
    install(places, then, None)
    assert files_below(places) == then
    uninstall(places)
    assert listing(tmp_path) == before


def test_a_prefix_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(PflowError, match="not a directory") as caught:
        install(find_places(str(tmp_path / "file")), WANTED, None)
    assert caught.value.exit == 73
    assert uninstall(find_places(str(tmp_path / "file"))) is None


def test_a_relative_prefix_begins_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_places("x/../y").share == tmp_path / "y" / "share"
    assert find_places("~/x").share == tmp_path / "home" / "x" / "share"


@pytest.mark.parametrize("text", ["{", "[]", '{"by": "x", "files": {"../../x": ["1"]}}'])
def test_a_list_that_setup_did_not_write_is_refused(places, text):
    places.list_file.parent.mkdir(parents=True)
    places.list_file.write_text(text)
    for act in (lambda: install(places, WANTED, None), lambda: uninstall(places)):
        with pytest.raises(PflowError, match=r"pflow setup did not write it") as caught:
            act()
        assert caught.value.exit == 65


def test_nobody_else_may_write_where_zsh_reads(places):
    mask = os.umask(0)
    try:
        install(places, WANTED, None)
    finally:
        os.umask(mask)
    assert all(path.stat().st_mode & 0o022 == 0 for path in (places.share / "zsh").rglob("*"))


@pytest.mark.parametrize("text", ["", "bindkey -e", "autoload -Uz compinit\ncompinit\n", "caf\udce9\r\n"])
def test_the_block_in_zshrc_comes_first_and_goes_exactly(places, own_home, text):
    zshrc, data = own_home / ".zshrc", text.encode("utf-8", "surrogateescape")
    zshrc.write_bytes(data)
    zshrc.chmod(0o600)
    assert install(places, WANTED, zshrc_path()).zshrc == WRITE
    after = zshrc.read_bytes()
    assert after.endswith(data)
    assert f"fpath=({places.share}/zsh/site-functions $fpath)\n".encode() in after
    assert after.count(b"compinit") >= 1
    assert install(places, WANTED, zshrc_path()).zshrc == KEEP
    uninstall(places)
    assert zshrc.read_bytes() == data
    assert zshrc.stat().st_mode & 0o777 == 0o600


def test_a_zshrc_that_was_made_goes_unless_something_was_added(places, own_home):
    zshrc = own_home / ".zshrc"
    zshrc.symlink_to("elsewhere")
    install(places, WANTED, zshrc_path())
    uninstall(places)
    assert not zshrc.exists()
    install(places, WANTED, zshrc_path())
    zshrc.write_text(zshrc.read_text() + "bindkey -e\n")
    uninstall(places)
    assert zshrc.read_text() == "bindkey -e\n"


def test_a_block_that_was_edited_is_left(places, own_home):
    zshrc = own_home / ".zshrc"
    install(places, WANTED, zshrc_path())
    edited = zshrc.read_text().replace("autoload", "#autoload")
    zshrc.write_text(edited)
    report = uninstall(places)
    assert report is not None
    assert report.zshrc == CHANGED
    assert zshrc.read_text() == edited


def test_a_directory_that_is_missing_is_not_made_for_zshrc(places, own_home, monkeypatch):
    monkeypatch.setenv("ZDOTDIR", str(own_home / "zsh"))
    with pytest.raises(PflowError, match=r"cannot write '.*/zsh/.zshrc': its directory does not exist"):
        install(places, WANTED, zshrc_path())
    assert not places.share.exists()


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
    forget_kinds()
    before, _ = find_wanted()
    (tmp_path / "word_stats.py").write_text(NODE.format(title="WordStats"))
    (tmp_path / "prose.py").write_text('class Prose:\n    """Only prose."""\n')
    (tmp_path / "broken.py").write_text(NODE.format(title="Broken").replace(": str", ": strange"))
    (tmp_path / "pflow-$(touch hurt)").write_text("#!/bin/sh\n")
    forget_kinds()
    wanted, left_out = find_wanted()
    forget_kinds()
    own = {"man/man1/pflow-word-stats.1", "bash-completion/completions/pflow-word-stats"}
    assert wanted.keys() - before.keys() == own
    assert sorted(line.split("'")[1] for line in left_out) == ["broken", "prose"]
