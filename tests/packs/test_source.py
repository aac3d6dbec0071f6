"""Packs out of git: hostile repositories, cut downloads, and what is kept of a fetch. Nothing of a pack ever runs."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, DENIED, MISSING, TRY_AGAIN, UNAVAILABLE, PflowError
from pflow.packs import source
from pflow.packs.address import Address, parse_address
from pflow.packs.contents import LARGEST
from pflow.packs.source import fetch
from tests.packs.repositories import FILE, FOLDER, LINK, PROGRAM, SUBMODULE, Bare, Daemon
from tests.peers.repository import IDENTITY, git
from tests.tools import need, only_root


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The directory of a test, with a cache of its own."""
    need("git")
    for name, value in {**IDENTITY, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def repo(place):
    return Bare(place / "words.git")


@pytest.fixture
def daemon(place):
    with Daemon(place) as daemon:
        yield daemon


def get(address, commit="", **options):
    with pytest.MonkeyPatch.context() as patch:  # as in a hook of another repository
        patch.setenv("GIT_DIR", "/elsewhere")
        patch.setenv("GIT_OBJECT_DIRECTORY", "/elsewhere")
        address = address if isinstance(address, Address) else parse_address(str(address))
        return fetch(address, commit, **options)


def refusal(address, **options):
    with pytest.raises(PflowError) as caught:
        get(address, **options)
    assert caught.value.message.isprintable()
    return caught.value


def kept(place):
    return sorted(path.name for path in (place / "cache/pflow/packs").glob("*/*") if path.is_dir())


def test_a_tag_comes_before_a_branch_and_a_commit_by_its_whole_hash(repo, daemon, place):
    nodes = repo.tree((FOLDER, "sub", repo.tree((FILE, "words.py", b"1"))), (PROGRAM, "pflow-x", b"2"))
    tagged = repo.commit((FOLDER, "pack", repo.tree((FOLDER, "nodes", nodes))), ref="refs/tags/v1")
    branch = repo.pack((FILE, "a.py", b""), ref="refs/heads/v1")
    git(repo.place, "update-ref", "HEAD", tagged)
    for base in (str(repo.place), f"file://{repo.place}", f"{daemon.place}/words.git"):
        found = get(f"{base}#pack")
        assert (found.commit, get(f"{base}@v1#pack").commit) == (tagged, tagged)
    assert get(f"{repo.place}@{branch}").commit == branch
    assert {path: (file.data, file.is_program) for path, file in found.files.items()} == {
        "nodes/pflow-x": (b"2", True), "nodes/sub/words.py": (b"1", False)
    }  # fmt: skip
    found.put(str(place / "out"))
    assert get(place / "out").tree == found.tree
    for missing in ("@v2", f"@{'a' * 40}", "#other", f"@{branch[:12]}"):
        error = refusal(f"{repo.place}{missing}")
        assert (error.exit, "no directory 'other'" in error.message) == (MISSING, missing == "#other")
    assert "40 digits" in error.hint


def endless(repo):
    tree = repo.tree()
    for _ in range(20):
        tree = repo.tree(*((FOLDER, f"d{number}", tree) for number in range(10)))
    return repo.pack((FOLDER, "d", tree))


HOSTILE = {
    "fullPathname": lambda repo: repo.pack((FILE, "../x", b"")),
    "hasDotdot": lambda repo: repo.pack((FOLDER, "..", repo.tree((FILE, "x", b"")))),
    "hasDotgit": lambda repo: repo.pack((FOLDER, ".git", repo.tree((FILE, "config", b""))), (FILE, "a.py", b"")),
    "duplicateEntries": lambda repo: repo.pack((FILE, "a.py", b"1"), (LINK, "a.py", b"/etc")),
    "'nodes/a.py' is a link": lambda repo: repo.pack((LINK, "a.py", b"/etc/passwd")),
    "'nodes' is a link": lambda repo: repo.commit((LINK, "nodes", b"/etc")),
    "'nodes/sub' is a submodule": lambda repo: repo.pack((SUBMODULE, "sub", "a" * 40)),
    "pointer of Git LFS": lambda repo: repo.pack(
        (FILE, "a.py", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9")
    ),
    "too large": lambda repo: repo.pack((FILE, "a", bytes(LARGEST + 1))),
    "far more than 1,000 files and directories": endless,
    "neither nodes/ nor flows/": lambda repo: repo.commit((FILE, "README", b"")),
    "expected commit type": lambda repo: git(repo.place, "update-ref", "refs/tags/v1", repo.add("blob", b"x")),
}


@pytest.mark.parametrize("why", HOSTILE)
def test_a_tree_that_no_pack_may_have_is_refused(repo, daemon, place, why):
    HOSTILE[why](repo)
    error = refusal(f"{daemon.place}/words.git" + "@v1" * ("commit" in why))
    assert (error.exit, why in error.message) == (BAD_DATA, True)
    assert all(name.endswith(".git") for name in kept(place))
    assert {path.name for path in place.iterdir()} == {"words.git", "cache"}


def test_more_than_git_may_fetch_ends_it_but_older_commits_are_not_fetched(repo, place, monkeypatch):
    monkeypatch.setattr(source, "MOST_FETCHED", 1 << 20)
    repo.commit((FOLDER, "nodes", repo.tree((FILE, "a.py", b""))), (FILE, "other", os.urandom(2 << 20)))
    error = refusal(repo.place)
    assert (error.exit, "it may be too large" in error.hint, kept(place)) == (BAD_DATA, True, [])
    nodes = repo.tree((FOLDER, "nodes", repo.tree((FILE, "a.py", b""))))
    git(repo.place, "update-ref", "HEAD", git(repo.place, "commit-tree", "-m", "x", "-p", "HEAD", nodes))
    assert [*get(repo.place).files] == ["nodes/a.py"]


def test_nothing_that_a_repository_names_is_run(repo, place, monkeypatch):
    ran = place / "ran"
    command = f"touch {ran}; cat"
    attributes = (FILE, ".gitattributes", b"* filter=lfs diff=lfs merge=lfs\n")
    modules = (FILE, ".gitmodules", b'[submodule "x"]\npath = x\nurl = ./x\nupdate = none\n')
    nodes = repo.tree(attributes, (FILE, "words.py", b"1"))
    repo.commit(attributes, modules, (FOLDER, "nodes", nodes), (SUBMODULE, "x", "a" * 40))
    hooks = repo.place / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-upload-pack", "pre-receive", "reference-transaction", "fsmonitor"):
        (hooks / name).write_text(f"#!/bin/sh\n{command}\n")
        (hooks / name).chmod(0o755)
    for name in ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.alternateRefsCommand"):
        git(repo.place, "config", name, command)
    git(repo.place, "config", "core.hooksPath", hooks)
    users = place / "users.gitconfig"  # as that of somebody who has Git LFS
    users.write_text(f'[filter "lfs"]\nsmudge = {command}\nprocess = {command}\n[core]\nhooksPath = {hooks}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(users))
    assert [*get(repo.place).files] == ["nodes/words.py"]
    assert not ran.exists()
    # It lacks a file, which another "remote" has: git would ask that, by a command that the repository names.
    of_it = {"extensions.partialClone": "x", "remote.x.promisor": "true", "remote.x.uploadpack": command}
    of_it |= {"core.repositoryFormatVersion": "1", "remote.x.url": f"ext::{command}", "protocol.ext.allow": "always"}
    for name, value in of_it.items():
        git(repo.place, "config", name, value)
    lost = git(repo.place, "rev-parse", "main:nodes/words.py")
    (repo.place / "objects" / lost[:2] / lost[2:]).unlink()
    shutil.rmtree(place / "cache")
    assert refusal(repo.place).exit
    assert not ran.exists()


def test_settings_that_make_a_command_of_an_address_are_not_heeded(place, monkeypatch):
    users = place / "users.gitconfig"
    users.write_text(f'[url "ext::touch {place}/ran "]\ninsteadOf = https://evil/\n[protocol "ext"]\nallow = always\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(users))
    assert (refusal("https://evil/x").exit, (place / "ran").exists()) == (DENIED, False)
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "https:ext")
    assert refusal(f"file://{place}").exit == DENIED


def test_what_is_kept_needs_no_network_and_serves_when_there_is_none(repo, place, capfd):
    old = repo.pack((FILE, "words.py", b"old"), ref="refs/tags/v1")
    address = parse_address(f"{repo.place}@v1")
    assert get(address).commit == old
    new = repo.pack((FILE, "words.py", b"new"), ref="refs/tags/v1")
    assert (get(address).commit, get(address, old).commit) == (new, old)  # the tag was moved
    assert capfd.readouterr().err == ""
    repo.place.rename(place / "away")
    assert refusal(Address(str(repo.place), old, "other", is_git=True)).exit
    assert get(address, old).files["nodes/words.py"].data == b"old"
    assert capfd.readouterr().err == ""
    assert get(address).commit == new
    assert f"what was fetched before is used: commit {new[:12]}" in capfd.readouterr().err
    assert refusal(Address(str(repo.place), "v2", is_git=True)).exit == MISSING
    with pytest.raises(PflowError):
        get(address, "a" * 40)


def test_the_newest_commits_are_kept_and_a_damaged_one_is_fetched_again(repo, place):
    for number in range(6):
        newest = repo.pack((FILE, "words.py", b"%d" % number))
        found = get(repo.place)
    assert len(kept(place)) == 5
    for address in (parse_address(f"{repo.place}@{newest}"), repo.place):
        (packed,) = place.glob(f"cache/pflow/packs/*/{newest}.git/objects/pack/*.pack")
        packed.chmod(0o600)
        packed.write_bytes(b"")
        assert get(address).files == found.files


CUTS = (0, 1, 4, 100, 400, *range(1000, 12001, 1000))


def test_a_download_that_is_cut_leaves_nothing_and_the_next_one_is_whole(repo, daemon, place, capfd):
    repo.pack((FILE, "words.py", os.urandom(12_000)))
    address = parse_address(f"{daemon.place}/words.git")
    for daemon.most in CUTS:
        assert refusal(address).exit in (TRY_AGAIN, UNAVAILABLE)
        assert kept(place) == []
    daemon.most = 1 << 40
    first = get(address)
    repo.pack((FILE, "words.py", os.urandom(12_000)))
    for daemon.most in CUTS[::5]:
        assert get(address).files == first.files
    assert kept(place) == [f"{first.commit}.git"]
    daemon.most = 1 << 40
    assert get(address).commit != first.commit


def test_a_server_that_stalls_is_given_up(repo, daemon, place):
    repo.pack((FILE, "words.py", os.urandom(12_000)))
    daemon.most, daemon.stalls = 8_000, True
    error = refusal(f"{daemon.place}/words.git", seconds=0.5)
    assert (error.exit, "0.5 s of a fetch" in error.message) == (TRY_AGAIN, True)
    assert kept(place) == []


def forked(call):
    pid = os.fork()
    if not pid:
        try:
            call()
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def test_fetches_that_are_killed_or_at_once_leave_one_whole_commit(repo, daemon, place):
    commit = repo.pack((FILE, "words.py", os.urandom(12_000)))
    address = parse_address(f"{daemon.place}/words.git")
    for hundredths in range(0, 30, 4):
        pid = forked(lambda: get(address))
        time.sleep(hundredths / 100)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert all(name.startswith("new-") or name == f"{commit}.git" for name in kept(place))
    ended = [os.waitpid(pid, 0)[1] for pid in [forked(lambda: get(address)) for _ in range(3)]]
    assert (ended, kept(place)) == ([0, 0, 0], [f"{commit}.git"])
    assert get(address, commit).files


@only_root
def test_a_repository_of_another_user_is_told_how_to_trust(repo, place, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    repo.pack((FILE, "words.py", b""))
    for path in (repo.place, *repo.place.rglob("*")):
        os.chown(path, 12345, 12345)
    if not subprocess.run(["git", "ls-remote", repo.place], capture_output=True).returncode:
        pytest.skip("this git reads the repositories of other users")
    error = refusal(repo.place)
    assert (error.exit, f"--add safe.directory {repo.place} " in error.hint) == (DENIED, True)
    assert "Connection refused" in refusal("git://127.0.0.1:1/words").message


@pytest.mark.parametrize("said", ["write error: No space left on device", "could not set 'core.bare' to 'true'"])
def test_a_full_disk_is_told_from_bad_data(place, monkeypatch, said):
    (place / "git").write_text(f'#!/bin/sh\necho "error: {said}" >&2\nexit 128\n')
    (place / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(place), prepend=":")
    assert refusal("https://h/r").exit == CANNOT_WRITE


def test_without_git_a_directory_is_still_read(place, monkeypatch):
    (place / "words.py").touch()
    monkeypatch.setenv("PATH", "/nowhere")
    assert [*get(place).files] == ["nodes/words.py"]
    assert refusal("https://h/r").exit == BAD_CONFIG
