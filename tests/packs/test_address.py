"""Addresses: which part is the place, the tag and the directory, and what git must never be given."""

import os

import pytest

from pflow.errors import DENIED, MISSING, USAGE, PflowError
from pflow.packs.address import Address, parse_address

READ = {
    "https://h/o/r": ("https://h/o/r", "", "", "r"),
    "https://h/o/r.git@v1": ("https://h/o/r.git", "v1", "", "r"),
    "https://h/@o/r@pkg@1.0#a/b/": ("https://h/@o/r", "pkg@1.0", "a/b", "b"),
    "ssh://git@h:22/o/r@v1": ("ssh://git@h:22/o/r", "v1", "", "r"),
    "git@h:o/r@feature/x": ("git@h:o/r", "feature/x", "", "r"),
    "file:///srv/r.git#d": ("file:///srv/r.git", "", "d", "d"),
}
REFUSED = {
    USAGE: ("", "-x", "h:-x", "ssh://-oProxyCommand=x/y", "ext::sh -c x", "ftp://h/x", "https://h", "https://h/r@",
            "https://h/r@-x", "https://h/r@a..b", "https://h/r@a:b", "https://h/r@+a b", "https://h/r@a@{1}",
            "https://h/r#../x", "https://h/r#a//b", "https://h/\x1b[31m", "https://h/r@\x9b", "https://h/\u202er",
            "https://h/r\nx", "transport::address", "https://h/r@v1\0"),
    DENIED: ("https://u:p@h/r", "https://token@h/r", "ssh://git:pw@h/r", "http://h/r?private_token=1"),
    MISSING: ("nowhere", "./nowhere@v1", "/nowhere#d", "x\x1b[31m"),
}  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_a_url_may_have_a_tag_and_a_directory(text):
    address = parse_address(text)
    assert (address.place, address.asked, address.directory, address.name) == READ[text]
    assert address.is_git


@pytest.mark.parametrize(("exit", "text"), [(exit, text) for exit, texts in REFUSED.items() for text in texts])
def test_what_is_an_option_a_command_a_secret_or_two_refs_is_refused_and_shown_harmless(exit, text):
    with pytest.raises(PflowError) as caught:
        parse_address(text)
    assert caught.value.exit == exit
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("place", [each for each in REFUSED[USAGE] if "@" not in each and "#" not in each])
def test_an_address_out_of_a_lock_file_is_held_to_the_same(place):
    with pytest.raises(PflowError):
        Address(place, is_git=True)


def test_a_path_that_is_there_as_written_is_taken_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("words", "words@v1", "a#b"):
        (tmp_path / name).mkdir()
    (tmp_path / "shout.py").touch()
    (tmp_path / "link").symlink_to("words")
    found = {text: parse_address(text) for text in ("words@v1", "words@v2", "a#b", "words#c", "link", "./shout.py")}
    parts = {text: (os.path.relpath(at.place), at.asked, at.directory, at.is_git) for text, at in found.items()}
    assert parts == {
        "words@v1": ("words@v1", "", "", False),
        "words@v2": ("words", "v2", "", True),
        "a#b": ("a#b", "", "", False),
        "words#c": ("words", "", "c", False),
        "link": ("words", "", "", False),
        "./shout.py": ("shout.py", "", "", False),
    }
    assert found["./shout.py"].name == "shout"
