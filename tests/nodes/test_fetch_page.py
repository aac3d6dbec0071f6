"""fetch-page: the readable text of a web page."""

import subprocess
import sys

import pytest

from pflow.errors import PflowError
from pflow.files.installation import read_installation
from pflow.nodes.fetch_page import FetchPage
from tests.peers.web_server import TEXT


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def fetch(url: str, **params: object) -> tuple[object, object]:
    node, shared = FetchPage(), {"url": url}
    node.set_params(params)
    node.run(shared)
    return shared["text"], shared["title"]


def test_a_page_is_what_there_is_to_read_on_it(web):
    text, title = fetch(web.url + "/page")
    assert title == "Tide mills"
    assert text.startswith("# Tide mills\n\nA tide mill is a water mill")
    assert text.endswith("when the tide falls.")
    assert "About" not in text
    assert "# " not in fetch(web.url + "/page", format="text")[0]


@pytest.mark.parametrize(
    ("words", "paths", "exit", "said"),
    [
        (["pflow-fetch-page"], ["/text"], 0, "Äpfel"),
        (["pflow", "fetch-page --each"], ["/text", "/text"], 0, r'Äpfel\n","Öl'),
        (["pflow-fetch-page"], ["/text", "/text"], 65, "it has several lines; --each"),
        (["pflow-http"], ["/text"], 66, "'$stdin' takes the pipe's, --each --as=url each"),
        (["pflow", "http --each --as=url"], ["/text", "/text"], 0, r'Äpfel\n","Öl'),
    ],
)
def test_the_address_comes_through_the_pipe_or_the_message_says_how(web, words, paths, exit, said):
    urls = "".join(f"{web.url}{path}\n" for path in paths)
    ran = subprocess.run([*words, "-r"], input=urls, capture_output=True, text=True, check=False)
    assert (ran.returncode, said in ran.stdout + ran.stderr) == (exit, True), ran


def test_links_are_kept_where_asked_and_lead_somewhere(web):
    assert "the [sluice](https://example.com/sluice)" in fetch(web.url + "/links", links=True)[0]
    assert "](" not in fetch(web.url + "/links")[0]


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("/text", TEXT, ""),
        ("/latin-1", TEXT, ""),
        ("/json", '{"items": [{"name": "oak"}]}', ""),
        ("/untyped", TEXT, ""),
        ("/untyped-page", "# Tide mills", "Tide mills"),
        ("/old-page", "# Ölmühlen", "Ölmühlen"),
    ],
)
def test_text_comes_as_it_is_and_a_page_in_its_charset(web, path, text, title):
    found = fetch(web.url + path)
    assert found[0][: len(text)] == text
    assert found[1] == title


@pytest.mark.parametrize(
    ("path", "exit", "words"),
    [
        ("/pdf", 65, "it is application/pdf"),
        ("/png", 65, "it is image/png"),
        ("/bare-page", 66, "it has no text"),
        ("/deep-page", 66, "it has no text"),
        ("/nowhere", 66, "404 Not Found"),
        ("/zeros", 73, "more than 1,000 bytes"),
    ],
)
def test_what_is_no_page_is_refused_in_words_and_nothing_else_is_said(web, capfd, path, exit, words):
    with pytest.raises(PflowError) as caught:
        fetch(web.url + path, max_size=1_000 if path == "/zeros" else 1_000_000)
    assert (caught.value.exit, words in caught.value.message) == (exit, True), caught.value.message
    assert capfd.readouterr() == ("", "")


def test_without_its_library_it_says_what_to_install(web, monkeypatch):
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(PflowError) as caught:
        fetch(web.url + "/page")
    assert (caught.value.exit, caught.value.hint) == (78, read_installation().add("pflow-shell[web]"))
    assert fetch(web.url + "/text") == (TEXT, "")
