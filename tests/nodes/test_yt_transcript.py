"""The yt-transcript node with the real library, against a small YouTube on 127.0.0.1."""

from __future__ import annotations

import os
import sys
import time

import pytest

from pflow.errors import PflowError
from pflow.files.installation import read_installation
from pflow.kit import extract
from pflow.nodes.yt_transcript import YtTranscript
from tests.peers.youtube import PAGES, PLAYERS, SEGMENTS, TRANSCRIPT, YouTube

VIDEOS = {*PAGES, *PLAYERS, "a", "cut", "deep", "stall"}
"""Names that are too short for an ID, which a URL may have."""


@pytest.fixture(scope="module")
def tube():
    with YouTube() as tube:
        yield tube


@pytest.fixture(autouse=True)
def _led_there(tube, monkeypatch):
    for name, value in tube.environment.items():
        monkeypatch.setenv(name, value)
    tube.requests.clear()


def run(url, **params):
    node, shared = YtTranscript(), {"url": f"https://youtu.be/{url}" if url in VIDEOS else url}
    node.set_params(params)
    assert node.run(shared) is None
    return shared


def failure(url, **params):
    with pytest.raises(PflowError) as caught:
        run(url, **params)
    error = caught.value
    assert "\n" not in error.message + error.hint
    return error


def test_the_captions_are_lines_and_segments(tube):
    assert run("jNQXAC9IVRw") == {"url": "jNQXAC9IVRw", "transcript": TRANSCRIPT, "segments": SEGMENTS}
    assert tube.requests == [
        "CONNECT www.youtube.com:443",
        "GET /watch?v=jNQXAC9IVRw",
        "POST /youtubei/v1/player?key=key jNQXAC9IVRw",
        "GET /api/timedtext?lang=en&kind=",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "abc_-123456",
        " abc_-123456\n",
        "https://www.youtube.com/watch?v=abc_-123456",
        "http://youtube.com/watch?feature=share&v=abc_-123456&t=42s#more",
        "https://m.youtube.com/watch?v=abc_-123456&list=PL1",
        "https://music.youtube.com/watch?v=abc_-123456",
        "www.youtube.com/watch?v=abc_-123456",
        "https://youtu.be/abc_-123456",
        "youtu.be/abc_-123456?si=x&t=3",
        "https://www.youtube.com/shorts/abc_-123456",
        "https://www.youtube.com/embed/abc_-123456?start=3",
        "https://www.youtube-nocookie.com/embed/abc_-123456",
        "https://www.youtube.com/live/abc_-123456?feature=share",
        "https://www.youtube.com/v/abc_-123456",
        "HTTPS://WWW.YOUTUBE.COM/watch?v=abc_-123456",
    ],
)
def test_every_form_of_a_url_names_the_video(url):
    assert extract.video_of(url) == "abc_-123456"


@pytest.mark.parametrize(
    "url",
    [
        "https://www.youtube.com/", "https://www.youtube.com/watch", "https://www.youtube.com/playlist?list=PL1",
        "https://youtu.be/", "https://youtu.be/a%20b", "https://vimeo.com/watch?v=abc", "https://evil.com/youtu.be/abc",
        "https://youtube.com.evil.com/watch?v=a", "https://youtube.com@evil.com/watch?v=a", "two words", "ä", "a\0b",
        "notaurl", "abcdefghijkl",
        "file:///youtu.be/abc", "ftp://youtu.be/abc", "https://[::1/watch?v=a", "../etc/passwd", "a?b", "x" * 65,
    ],
)  # fmt: skip
def test_what_names_no_video_is_refused_before_anything_is_asked(tube, url):
    error = failure(url)
    assert (error.exit, "not a YouTube video" in error.message) == (65, True)
    assert tube.requests == []


@pytest.mark.parametrize(
    ("video", "language", "asked"),
    [
        ("a", "en", "lang=en&kind="),
        ("a", "de", "lang=de&kind=asr"),
        ("a", "fr, de,en", "lang=de&kind=asr"),
        ("a", "pt", "lang=pt-BR&kind="),
        ("british", "en", "lang=en-GB&kind="),
        ("british", "fr,en", "lang=en-GB&kind="),
        ("consent", "en", "lang=en&kind="),
    ],
)
def test_the_first_language_that_there_is(tube, video, language, asked):
    run(video, language=language)
    assert tube.requests[-1].endswith(asked)


@pytest.mark.parametrize(
    ("video", "params", "exit", "said", "hint"),
    [
        ("", {}, 66, "the URL is empty", ""),
        ("german", {}, 66, "it does not exist in 'en'", "--language takes de"),
        ("german", {"language": "fr,en"}, 66, "it does not exist in 'fr, en'", "--language takes de"),
        ("silent", {}, 66, "the video has no transcript", ""),
        ("gone", {}, 66, "there is no such video", ""),
        ("private", {}, 66, "the video cannot be played: This video is private", ""),
        ("adults", {}, 77, "only adults who are logged in", ""),
        ("robot", {}, 69, "YouTube blocks requests from this address", "--proxy"),
        ("blocked", {}, 69, "YouTube blocks requests from this address", "--delay"),
        ("captcha", {}, 69, "YouTube blocks requests from this address", "--delay"),
        ("broken", {}, 75, "YouTube answers 503", ""),
        ("refused", {}, 69, "YouTube answers 403", ""),
        ("strange", {}, 69, "another form", "a newer version of the library"),
        ("odd", {}, 69, "another form", "a newer version of the library"),
        ("deep", {}, 69, "another form", "a newer version of the library"),
        ("cut", {}, 75, "the answer was cut", ""),
        ("a", {"language": " , "}, 2, "--language names no language", ""),
        ("a", {"delay": -1}, 2, "cannot wait -1 s", ""),
        ("a", {"delay": float("nan")}, 2, "cannot wait nan s", ""),
        ("a", {"proxy": "http://me:word@127.0.0.1"}, 2, "a password in --proxy", "env:NAME"),
        ("a", {"proxy": "env:NOBODY_SET_IT"}, 78, "the variable NOBODY_SET_IT is not set", ""),
        ("a", {"proxy": "http://127.0.0.1:1"}, 69, "the proxy refuses the connection", ""),
        ("a", {"proxy": "word"}, 69, "the proxy refuses the connection", ""),
        ("a", {"proxy": "word://127.0.0.1"}, 78, "the proxy's URL is not usable", "http://HOST:PORT"),
    ],
)
def test_what_it_refuses(video, params, exit, said, hint):
    error = failure(video, **params)
    assert (error.exit, said in error.message, hint in error.hint) == (exit, True, True), error.message


def test_another_server_in_youtube_s_place_is_not_believed(monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    assert (failure("a").exit, "the certificate is not YouTube" in failure("a").message) == (69, True)


def test_a_proxy_comes_before_the_environment_s_and_its_password_out_of_it(tube, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("WAY", f"http://me:secret@{tube.address}")
    assert run("a", proxy="env:WAY")["segments"] == SEGMENTS
    assert tube.requests[0].startswith("CONNECT www.youtube.com:443 Basic ")
    monkeypatch.setattr(tube, "refuses", True)
    error = failure("a", proxy="env:WAY")
    assert (error.exit, "secret" in f"{error.message} {error.hint}") == (69, False)


def test_a_silent_youtube_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(extract, "MAX_SILENCE", 0.1)
    assert (failure("stall").exit, failure("stall").message.endswith("YouTube does not answer")) == (75, True)


def test_without_the_library_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "youtube_transcript_api", None)
    error = failure("a")
    assert (error.exit, error.hint) == (78, read_installation().add("pflow-shell[youtube]"))


def test_calls_are_so_far_apart_as_delay_says(tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        run("a", delay=100)
    assert len(slept) == 1
    assert 90 < slept[0] <= 100
    os.utime(tmp_path / "pflow" / "yt-transcript", (time.time() + 5000, time.time() + 5000))
    run("a", delay=100)
    assert slept[1] == 100, "a clock that was put back makes nobody wait for longer"
    assert len(slept) == 2
