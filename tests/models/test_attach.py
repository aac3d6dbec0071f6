"""The type of an attachment: by its content, whatever its name or a server says, and at addresses."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from pflow.errors import PflowError
from pflow.models import attach as module
from pflow.models.attach import attach, common_name, is_file, type_of

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1"
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1" + b"\0" * 20
PAGE = b"<!-- a -->\n<!DOCTYPE HTML><title>Log in</title>"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
AN_HTML_PAGE, A_POINTER = "it is an HTML page", "it is a Git LFS pointer, not the file itself"


def outcome(act):
    try:
        return act()
    except PflowError as error:
        return error.exit, error.message


def ftyp(brand):
    return b"\0\0\0\x18ftyp" + brand + b"\0\0\0\0mif1" + b"\0" * 20


@pytest.mark.parametrize(
    ("data", "name", "said", "found"),
    [
        (PNG, "", "", "image/png"),
        (PNG, "a.jpg", "image/jpeg", "image/png"),
        (PNG[:8], "a", "text/html", "image/png"),
        (JPEG, "a.png", "application/octet-stream", "image/jpeg"),
        (b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 20, "a.jpg", "", "image/webp"),
        (ftyp(b"avif"), "a.jpg", "", "image/avif"),
        (ftyp(b"heic"), "", "", "image/heic"),
        (ftyp(b"mif1"), "", "", "image/heif"),
        (ftyp(b"M4A "), "", "", "audio/mp4"),
        (ftyp(b"isom"), "a.mp3", "", "video/mp4"),
        (b"\xff\xf3\x90\x64" + b"\0" * 40, "", "", "audio/mpeg"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a.png", "text/plain", "application/pdf"),
        (b"\xef\xbb\xbf\n%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a.pdf", "", "application/pdf"),
        (b"\n%PDF-1.4\n", "", "", "application/pdf"),
        (b"%PDF-1", "a.pdf", "", "application/pdf"),
        (b"PDF", "a.pdf", "", "text/plain"),
        (b"<svg>\n</svg>", "a.png", "text/plain", "image/svg+xml"),
        (b"\0\1\2\xff", "a.wav", "", "audio/x-wav"),
        (b"\0\1\2\xfd", "a.wav", "audio/basic", "audio/basic"),
        (b"\0\1\2\3", "a.png", "", None),
        (b"a,b\n", "a.csv", "", "text/csv"),
        (b'{"error": "gone"}', "a.png", "image/png", "text/plain"),
        (b'{"error": "gone"}', "a.png", "application/json", "application/json"),
        (PAGE, "a.html", "", "text/html"),
        (PAGE, "", "", "text/html"),
        (PAGE, "a.png", "", AN_HTML_PAGE),
        (b"\xef\xbb\xbf \n<html lang=de>\xff", "", "application/pdf", AN_HTML_PAGE),
        (b'<?xml version="1.0"?>\n<!DOCTYPE html>', "a.mp3", "text/html", AN_HTML_PAGE),
        (POINTER, "a.png", "text/plain", A_POINTER),
        (POINTER, "", "", A_POINTER),
        ("é".encode("utf-16"), "a.txt", "", "it is UTF-16, not UTF-8 (byte 0xff at 0)"),
        (b"caf\xe9", "a.txt", "", "it is not UTF-8 (byte 0xe9 at 3), and of an unknown type"),
        (b"ARROW1\0\0\xff", "a", "", "it is an Arrow (Feather) file"),
    ],
)
def test_content_tells_the_type_and_then_the_server_and_then_the_name(data, name, said, found):
    told = outcome(lambda: type_of(data, "it", name, said))
    assert told == ((65, f"cannot attach it: {found}") if found and found.startswith("it is ") else found)


def test_a_type_has_the_name_that_the_model_knows():
    names = {
        " image/jpg; q=1": "image/jpeg",
        "IMAGE/JPEG": "image/jpeg",
        "audio/x-wav": "audio/wav",
        "a/b": "a/b",
        "Binary/octet-stream": None,
    }
    assert {name: common_name(name, ["image/jpeg", "audio/wav"]) for name in names} == names
    assert [common_name(None, []), common_name("audio/x-wav", [])] == [None, "audio/x-wav"]


def test_what_was_to_be_a_file_is_no_question():
    texts = ("%PDF-1.4\n", "<svg>", POINTER.decode(), "h\0i\0", "hi", "ab\0", PAGE.decode())
    assert [is_file(text) for text in texts] == [True] * 4 + [False] * 3


class Handler(BaseHTTPRequestHandler):
    """/HEAD/GET/NAME: the status of each; 0 ends the connection."""

    def do_GET(self):
        head, get, kind = self.path.split("/")[1:4]
        status = int(head if self.command == "HEAD" else get)
        if status:
            body = {"svg": b"<svg>\n</svg>\n", "page": PAGE}.get(kind, PNG + b"\0" * 100_000)
            kind = {"page": "text/html", "jpg": "image/jpg", "none": ""}.get(kind, "binary/octet-stream")
            self.send_response(status)
            self.send_header(*(("Content-Type", kind) if kind else ("X-A", "")))
            self.send_header("Location", "/200/200/vague/a")
            self.end_headers()
            if status != 204:
                self.wfile.write(body if self.command == "GET" else b"")

    def do_HEAD(self):
        self.do_GET()

    def log_message(self, *about):
        pass


@pytest.fixture(scope="module")
def url():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def model(base, *types):
    return SimpleNamespace(
        model_id="m", attachment_types={"image/png", "image/jpeg", *types}, api_base=base, needs_key=None
    )


@pytest.mark.parametrize(
    ("path", "found"),
    [
        *((f"/{status}/200/vague/a", "image/png") for status in (200, 400, 403, 404, 405, 501, 0)),
        *((f"/{status}/0/vague/a.png", "image/png") for status in (200, 400, 403, 404, 405, 501, 0)),
        ("/200/200/none/a", "image/png"),
        ("/200/0/jpg/a", "image/jpeg"),
        ("/200/302/vague/a", "image/png"),
        ("/200/200/page/a.png", (65, AN_HTML_PAGE)),
        ("/200/200/page/a", (65, "it is an HTML page, and the model 'm' takes image/jpeg, image/png")),
        ("/200/0/vague/a", (65, "it is of an unknown type, and the model 'm' takes image/jpeg, image/png")),
        ("/200/204/vague/a.png", (66, "it is empty")),
        ("/200/404/vague/a.png", (66, "404 Not Found")),
        ("/200/403/vague/a.png", (77, "403 Forbidden")),
        ("/503/0/vague/a.png", (75, "503 Service Unavailable")),
        ("/404/0/vague/a", (66, "404 Not Found")),
    ],
)
def test_the_type_at_an_address_is_that_of_its_beginning_if_the_server_gives_it(url, path, found):
    told = outcome(lambda: attach(model("http://localhost/v1"), "x", None, [url + path], {})[1][0])
    if isinstance(found, tuple):
        assert (told[0], found[1] in told[1]) == (found[0], True), told
    else:
        assert (told.type, told.url) == (found, url + path)


def test_a_file_near_by_goes_to_a_provider_far_away_as_content(url):
    for base in (None, "https://api.openai.com/v1"):
        _, (one,) = attach(model(base), "x", None, [f"{url}/200/200/vague/a"], {})
        assert (one.type, one.url, one.content[:8]) == ("image/png", None, PNG[:8])
    told = outcome(lambda: attach(model(None), "x", None, [f"{url}/200/404/vague/a.png"], {}))
    assert (told[0], told[1].startswith(f"cannot attach '{url}/200/404/")) == (66, True), told


def test_a_drawing_at_an_address_is_text_for_a_model_that_takes_none(url):
    place = f"{url}/200/200/svg/a"
    assert attach(model(url), "x", None, [place], {}) == ("<svg>\n</svg>\n\nx", [])
    assert attach(model(url, "image/svg+xml"), "x", None, [place], {})[1][0].url == place


def test_a_person_names_the_type_of_files_and_of_what_the_pipe_brings(tmp_path, monkeypatch):
    (tmp_path / "a=b.bin").write_bytes(b"\0\1")
    types = {str(tmp_path / "a=b.bin"): "image/jpg", module.PIPE: "image/png"}
    _, found = attach(model(None), "x", b"\0\2", [], types)
    assert [each.type for each in found] == ["image/png", "image/jpeg"]
