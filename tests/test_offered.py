"""The lists that TAB offers: kept fresh by normal runs, never in their way."""

import os

import pytest

from pflow.catalog.offered import MODELS, RUNS, offer, offer_one, offer_only, offered_file


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def lines(kind: str) -> list[str]:
    with open(offered_file(kind)) as file:
        return file.read().splitlines()


def test_a_value_and_what_is_said_of_it_are_a_line():
    offer(MODELS, [("a/b:latest", 'it says "$HOME" and `x` [y] \\ z'), ("plain", "")])
    assert lines(MODELS) == ['a/b:latest\tit says "$HOME" and `x` [y] \\ z', "plain\t"]


def test_what_would_break_a_line_or_move_the_cursor_becomes_a_space():
    offer(MODELS, [("a", "one\ttwo\nthree\x1b[2J")])
    assert lines(MODELS) == ["a\tone two three [2J"]


def test_a_value_that_is_not_printable_is_left_out():
    offer(MODELS, [("a\nb", ""), ("c", "")])
    assert lines(MODELS) == ["c\t"]


def test_a_list_that_has_not_changed_is_not_written_again():
    offer(MODELS, [("a", "")])
    before = os.stat(offered_file(MODELS))
    offer(MODELS, [("a", "")])
    assert os.stat(offered_file(MODELS)) == before


def test_the_lists_are_their_users_alone(cache):
    offer(MODELS, [("a", "")])
    assert os.stat(offered_file(MODELS)).st_mode & 0o777 == 0o600
    assert os.stat(cache / "pflow" / "completion").st_mode & 0o777 == 0o700


def test_one_more_is_added_at_the_end():
    offer_one(RUNS, "first", "began")
    offer_one(RUNS, "second", "began")
    offer_one(RUNS, "first", "done")
    assert lines(RUNS) == ["first\tbegan", "second\tbegan", "first\tdone"]


def test_a_list_that_grows_large_keeps_its_newer_half():
    for number in range(700):
        offer_one(RUNS, str(number), "x" * 100)
    kept = [line.partition("\t")[0] for line in lines(RUNS)]
    assert kept == [str(number) for number in range(int(kept[0]), 700)]
    assert os.path.getsize(offered_file(RUNS)) <= 1 << 16


def test_what_is_gone_is_no_longer_offered():
    for value in ("first", "second", "first"):
        offer_one(RUNS, value, "about it")
    offer_only(RUNS, ["first", "unknown"])
    assert lines(RUNS) == ["first\tabout it"] * 2
    offer_only(RUNS, [])
    assert lines(RUNS) == []
    offer_only(MODELS, [])
    assert not os.path.exists(offered_file(MODELS))


@pytest.mark.parametrize("place", ["", "relative"])
def test_without_a_place_for_it_nothing_is_offered_and_nothing_said(place, monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    monkeypatch.delenv("HOME")
    offer(MODELS, [("a", "")])
    offer_one(RUNS, "a", "")
    assert offered_file(MODELS) is None
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("spoil", [lambda place: place.touch(), lambda place: (place / "runs").mkdir(parents=True)])
def test_a_list_that_cannot_be_written_is_in_nobodys_way(spoil, cache, capfd):
    (cache / "pflow").mkdir(parents=True)
    spoil(cache / "pflow" / "completion")
    offer(RUNS, [("a", "")])
    offer_one(RUNS, "a", "")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("put_it", [os.mkfifo, lambda file: os.symlink("/dev/zero", file)])
def test_what_is_no_file_in_place_of_a_list_holds_nobody_up(cache, put_it):
    (cache / "pflow" / "completion").mkdir(parents=True)
    put_it(cache / "pflow" / "completion" / "runs")
    offer_one(RUNS, "a", "")
    offer(RUNS, [("a", "")])


@pytest.mark.parametrize("add", [lambda: offer(RUNS, [("a", "")]), lambda: offer_one(RUNS, "a", "")])
def test_a_list_that_is_too_large_to_read_begins_anew(cache, add):
    (cache / "pflow" / "completion").mkdir(parents=True)
    with open(cache / "pflow" / "completion" / "runs", "wb") as file:
        file.truncate(1 << 40)
    add()
    assert lines(RUNS) == ["a\t"]
