"""A real web server on 127.0.0.1, each of whose paths behaves in one way, well or badly.

From pytest: `with WebServer() as web`, and `web.url + "/echo"`; `web.requests()` has what came in. From a shell:
`python -m tests.peers.web_server DIR 3>&- &`, then wait for DIR/port; DIR/requests.jsonl has a line for each request,
before its answer. As a proxy it is every other server too, over TLS those of example.com. The program stops with the
process that started it, when its stdin is a pipe that closes, or after ten minutes.
"""

from __future__ import annotations

import gzip
import json
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.peers.lifetime import serve_until_left

CERTIFICATE = Path(__file__).parent / "tls.pem"
"""Its own, for https, until the year 2126; SSL_CERT_FILE makes a client trust it."""
PLAIN = "text/plain; charset=utf-8"
TEXT = "Öl und Äpfel\n"
PAGE = """<!DOCTYPE html><html><head><title>Tide mills</title></head><body><nav>Home | About</nav><article>
<h1>Tide mills</h1>
<p>A tide mill is a water mill driven by the rise and fall of the tide. A dam with a sluice is made across an inlet.</p>
<p>The rising water fills the mill pond through a one-way gate, and this gate closes by itself when the tide falls.</p>
</article><footer>All rights reserved</footer></body></html>"""
ZEROS = bytes(1 << 16)


class Call(BaseHTTPRequestHandler):
    """One request, and the ways to answer it."""

    server: Listener
    protocol_version = "HTTP/1.1"
    body: bytes

    def log_message(self, format: str, *args: Any) -> None:
        return

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The same in every answer, so that two answers are the same."""
        return "Sat, 03 Feb 2001 04:05:06 GMT"

    def handle_any(self) -> None:
        parts = urlsplit(self.path)
        self.query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self.words = parts.path.strip("/").split("/")
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.nth = self.server.record(self)
        try:
            PATHS.get(self.words[0], missing)(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_CONNECT(self) -> None:
        """As a proxy: be the server that is asked for, any of example.com's over TLS."""
        self.begin()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any  # noqa: N815

    def answer(
        self, body: bytes | str, kind: str = "text/plain; charset=utf-8", status: int = 200, **more: str
    ) -> None:
        """A whole answer; `more` are headers."""
        data = body.encode() if isinstance(body, str) else body
        self.begin(status, **{"Content_Type": kind, "Content_Length": str(len(data)), **more})
        if self.command != "HEAD":
            self.wfile.write(data)

    def begin(self, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def end(self) -> None:
        """Close the connection: the answer has what was written so far."""
        self.wfile.flush()
        self.close_connection = True

    def stall(self) -> None:
        self.wfile.flush()
        self.server.stopping.wait()
        self.close_connection = True


def echo(call: Call) -> None:
    """What came in, as JSON."""
    headers = {name.lower(): value for name, value in call.headers.items()}
    said = {"method": call.command, "path": call.path, "headers": headers, "body": call.body.decode(errors="replace")}
    call.answer(json.dumps(said), "application/json", X_Echo=str(call.headers.get("Authorization")))


def body(call: Call) -> None:
    """What came in, as it was."""
    call.answer(call.body, call.headers.get("Content-Type") or PLAIN)


def missing(call: Call) -> None:
    call.answer('{"message": "there is no such page"}', "application/json", 404)


def status(call: Call) -> None:
    """/status/503, with ?after=SECONDS for Retry-After."""
    more = {"Retry_After": call.query["after"]} if "after" in call.query else {}
    call.answer(f"this is {call.words[1]}", status=int(call.words[1]), **more)


def later(call: Call) -> None:
    """429, with a date some seconds ahead."""
    call.answer("slow down", status=429, Retry_After=formatdate(int(call.query["at"]), usegmt=True))


def flaky(call: Call) -> None:
    """/flaky/2: so many times 503, then fine."""
    call.answer(f"try {call.nth}", status=503 if call.nth <= int(call.words[1]) else 200)


def redirect(call: Call) -> None:
    """/redirect/302?to=URL; the status is one of 301, 302, 303, 307, 308."""
    call.answer("elsewhere", status=int(call.words[1]), Location=call.query["to"])


def hops(call: Call) -> None:
    """/hops/3: so many redirects, then an answer."""
    left = int(call.words[1])
    call.answer("", status=302, Location=f"/hops/{left - 1}") if left else call.answer("arrived")


def cookie(call: Call) -> None:
    """A redirect to itself, until the cookie comes back that it sets."""
    if "seen=1" in call.headers.get("Cookie", ""):
        call.answer("welcome")
    else:
        call.answer("", status=302, Location="/cookie", Set_Cookie="seen=1")


def stall_midway(call: Call) -> None:
    call.begin(Content_Length="100")
    call.wfile.write(b"half")
    call.stall()


def cut(call: Call) -> None:
    """It says more than it sends."""
    call.begin(Content_Length="1000")
    call.wfile.write(b"half")
    call.end()


def cut_chunks(call: Call) -> None:
    call.begin(Transfer_Encoding="chunked")
    call.wfile.write(b"4\r\nhalf\r\n")
    call.end()


def cut_gzip(call: Call) -> None:
    call.begin(Content_Encoding="gzip", Connection="close")
    call.wfile.write(gzip.compress(b"whole " * 1000)[:-20])
    call.end()


def too_long(call: Call) -> None:
    """It sends more than it says."""
    call.begin(Content_Length="4")
    call.wfile.write(b"halfand more")
    call.end()


def silent(call: Call) -> None:
    """No answer at all."""
    call.end()


def garbage(call: Call) -> None:
    call.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    call.end()


def raw(call: Call) -> None:
    """/raw?BYTES: the bytes of the query, whatever they are."""
    call.wfile.write(unquote_to_bytes(urlsplit(call.path).query))
    call.end()


def zeros(call: Call) -> None:
    """Gigabytes, as long as somebody reads."""
    call.begin(Content_Type="application/octet-stream", Connection="close")
    while not call.server.stopping.is_set():
        call.wfile.write(ZEROS)


def bomb(call: Call) -> None:
    """/bomb/4: so many gigabytes in as many megabytes of gzip."""
    call.answer(gzip.compress(bytes(1 << 24)) * 64 * int(call.words[1]), Content_Encoding="gzip")


def packed(call: Call) -> None:
    """Two gzip members, as `cat a.gz b.gz` has them."""
    call.answer(gzip.compress(b"first ") + gzip.compress(b"second"), Content_Encoding="gzip")


def bytes_of(body: bytes | str, kind: str) -> Callable[[Call], None]:
    return lambda call: call.answer(body, kind)


def page_of(html: str) -> Callable[[Call], None]:
    return bytes_of(html, "text/html; charset=utf-8")


EXAMPLES = {
    "items.json": bytes_of('{"items": [{"name": "oak"}]}', "application/json"),
    "search": echo,
    "me": echo,
    "notes": echo,
    "tide-mills": page_of(PAGE),
}
"""What the examples of the manual ask example.com for."""

PATHS: dict[str, Callable[[Call], None]] = {
    **EXAMPLES,
    "echo": echo,
    "body": body,
    "status": status,
    "later": later,
    "flaky": flaky,
    "redirect": redirect,
    "hops": hops,
    "loop": lambda call: call.answer("", status=302, Location="/loop"),
    "cookie": cookie,
    "stall": Call.stall,
    "stall-midway": stall_midway,
    "cut": cut,
    "cut-chunks": cut_chunks,
    "cut-gzip": cut_gzip,
    "too-long": too_long,
    "silent": silent,
    "garbage": garbage,
    "raw": raw,
    "large-header": lambda call: call.begin(X="a" * 200_000),
    "many-headers": lambda call: call.begin(**{f"X{number}": "a" for number in range(20_000)}),
    "zeros": zeros,
    "bomb": bomb,
    "packed": packed,
    "br": lambda call: call.answer(b"?", Content_Encoding="br"),
    "text": bytes_of(TEXT, "text/plain; charset=utf-8"),
    "latin-1": bytes_of(TEXT.encode("latin-1"), "text/plain; charset=ISO-8859-1"),
    "wrong-charset": bytes_of(TEXT, "text/plain; charset=nonsense"),
    "png": bytes_of(b"\x89PNG\r\n\x1a\n\xff\0", "image/png"),
    "empty": lambda call: call.begin(204),
    "page": page_of(PAGE),
    "links": page_of(PAGE.replace("a sluice", "the <a href='https://example.com/sluice'>sluice</a>")),
    "old-page": bytes_of(
        PAGE.replace("Tide mills", "Ölmühlen").replace("<head>", "<head><meta charset='latin-1'>").encode("latin-1"),
        "text/html",
    ),
    "untyped": lambda call: call.answer(TEXT, ""),
    "untyped-page": lambda call: call.answer(PAGE, ""),
    "deep-page": page_of("<html><body>" + "<div>" * 20_000 + "deep"),
    "bare-page": page_of("<html><head><title>Nothing</title></head><body></body></html>"),
    "json-error": lambda call: call.answer('{"error": {"message": "no oak\\nhere"}}', "application/problem+json", 400),
    "deep-error": lambda call: call.answer('{"error":' * 900 + "1" + "}" * 900, "application/json", 400),
    "no-json-error": lambda call: call.answer("<p>broken", "application/json", 400),
    "pdf": bytes_of(b"%PDF-1.7 ...", "application/pdf"),
    "json": bytes_of('{"items": [{"name": "oak"}]}', "application/json"),
}


class Listener(ThreadingHTTPServer):
    """The listening socket, and what its calls share."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, log: Path | None, *, tls: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(CERTIFICATE)
        if tls:
            self.socket = self.tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.stopping = threading.Event()
        self.seen: list[dict[str, Any]] = []
        self._log = log
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        return

    def record(self, call: Call) -> int:
        """Note a request; how many this path has had."""
        headers = {name.lower(): value for name, value in call.headers.items()}
        body = call.body.decode(errors="replace")
        seen = {"method": call.command, "path": call.path, "headers": headers, "body": body}
        with self._lock:
            self.seen.append(seen)
            if self._log:
                with open(self._log, "a") as log:
                    log.write(json.dumps(seen) + "\n")
            self._counts[call.path] += 1
            return self._counts[call.path]


class WebServer:
    """The server as a context manager; with `tls` it speaks https, by CERTIFICATE."""

    def __init__(self, log: Path | None = None, *, tls: bool = False) -> None:
        self._listener = Listener(log, tls=tls)
        self.port = self._listener.server_address[1]
        self.url = f"http{'s' * tls}://127.0.0.1:{self.port}"

    def __enter__(self) -> WebServer:
        threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.stopping.set()
        self._listener.shutdown()
        self._listener.server_close()

    def requests(self) -> list[dict[str, Any]]:
        """What came in so far: method, path, headers by their lower-case names, body."""
        return list(self._listener.seen)


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with WebServer(directory / "requests.jsonl") as server:
        serve_until_left(directory, server.port)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
