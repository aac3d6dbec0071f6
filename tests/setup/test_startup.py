"""The block in .zshrc: only where it was asked for, before completion starts, and taken out exactly."""

import os

import pytest

from pflow.errors import PflowError
from pflow.setup import startup
from pflow.setup.startup import zshrc_path
from pflow.setup.work import put, take_away

from .conftest import WANTED


@pytest.mark.parametrize("text", ["", "bindkey -e", "autoload -Uz compinit\ncompinit\n", "caf\udce9\r\n"])
def test_undo_leaves_the_file_as_it_was(places, own_home, text):
    zshrc = own_home / ".zshrc"
    zshrc.write_bytes(text.encode("utf-8", "surrogateescape"))
    zshrc.chmod(0o600)
    assert put(places, WANTED, zshrc_path()).zshrc == startup.ADD
    after = zshrc.read_bytes().decode("utf-8", "surrogateescape")
    assert after.endswith(text)
    assert f"fpath=({places.share}/zsh/site-functions $fpath)\n" in after
    assert after.count("compinit") >= 1
    assert put(places, WANTED, zshrc_path()).zshrc == startup.KEEP
    take_away(places)
    assert zshrc.read_bytes() == text.encode("utf-8", "surrogateescape")
    assert zshrc.stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_made_goes_unless_something_was_added(places, own_home):
    zshrc = own_home / ".zshrc"
    put(places, WANTED, zshrc_path())
    take_away(places)
    assert not zshrc.exists()
    put(places, WANTED, zshrc_path())
    zshrc.write_text(zshrc.read_text() + "bindkey -e\n")
    take_away(places)
    assert zshrc.read_text() == "bindkey -e\n"


def test_what_a_link_leads_to_goes_when_it_was_made(places, own_home):
    (own_home / ".zshrc").symlink_to("elsewhere")
    put(places, WANTED, zshrc_path())
    assert (own_home / "elsewhere").is_file()
    take_away(places)
    assert not (own_home / "elsewhere").exists()
    assert (own_home / ".zshrc").is_symlink()


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_directory_that_is_not_there_is_not_made_for_it(places, own_home, monkeypatch, is_dry):
    monkeypatch.setenv("ZDOTDIR", str(own_home / "zsh"))
    with pytest.raises(PflowError, match=r"cannot write '.*/zsh/.zshrc': its directory is not there"):
        put(places, WANTED, zshrc_path(), is_dry=is_dry)
    assert list(own_home.iterdir()) == []
    assert not os.path.exists(places.prefix)


def test_a_block_that_was_edited_is_left(places, own_home):
    zshrc = own_home / ".zshrc"
    put(places, WANTED, zshrc_path())
    edited = zshrc.read_text().replace("autoload", "#autoload")
    zshrc.write_text(edited)
    report = take_away(places)
    assert report is not None
    assert report.zshrc == startup.CHANGED
    assert zshrc.read_text() == edited


def test_without_being_asked_no_start_up_file_is_touched(places, own_home):
    put(places, WANTED, None)
    assert list(own_home.iterdir()) == []


def test_a_line_that_is_there_already_is_not_added_again(places, own_home):
    (own_home / ".zshrc").write_text(startup.fpath_line(places) + "\n")
    assert put(places, WANTED, zshrc_path()).zshrc == startup.KEEP
