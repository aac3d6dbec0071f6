"""A small YouTube on 127.0.0.1: the proxy to www.youtube.com, and the end of the TLS that goes through it.

`with YouTube(directory) as youtube`: `youtube.environment` leads youtube-transcript-api there; `requests` has what it
was asked. Each video behaves in one way; any ID that is in no table is one with captions.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.peers.tunnel import TunnelCall, TunnelServer

CERTIFICATE = Path(__file__).parent / "youtube.pem"
CAPTIONS = [("A tide mill needs no river.", 0.0, 2.5), ("The sea comes in & opens\nthe gate <b>twice</b>.", 2.5, 3.25)]
TRANSCRIPT = "A tide mill needs no river.\nThe sea comes in & opens\nthe gate twice."
SEGMENTS = [
    {"text": text, "start": start, "duration": duration}
    for text, (_, start, duration) in zip(TRANSCRIPT.split("\n", 1), CAPTIONS, strict=True)
]
PAGE = '<html><script>{"INNERTUBE_API_KEY": "key"}</script></html>'
CONSENT = '<form action="https://consent.youtube.com/s"><input name="v" value="cb"></form>'
TRACKS = [("en", ""), ("de", "asr"), ("pt-BR", "")]
"""The language of each track, and its kind."""


def player(status: str = "OK", reason: str = "", tracks: list[tuple[str, str]] | None = TRACKS) -> dict[str, Any]:
    """What the player's interface answers."""
    captions = [
        {"baseUrl": f"https://www.youtube.com/api/timedtext?lang={code}&kind={kind}", "languageCode": code,
         "name": {"runs": [{"text": code.upper()}]}, "kind": kind, "isTranslatable": False}
        for code, kind in tracks or []
    ]  # fmt: skip
    tracklist = {} if tracks is None else {"captions": {"playerCaptionsTracklistRenderer": {"captionTracks": captions}}}
    return {"playabilityStatus": {"status": status, "reason": reason}, **tracklist}


PLAYERS: dict[str, dict[str, Any]] = {
    "silent": player(tracks=None),
    "gone": player("ERROR", "This video is unavailable"),
    "private": player("LOGIN_REQUIRED", "This video is private."),
    "adults": player("LOGIN_REQUIRED", "This video may be inappropriate for some users."),
    "robot": player("LOGIN_REQUIRED", "Sign in to confirm you’re not a bot"),
    "german": player(tracks=[("de", "asr")]),
    "british": player(tracks=[("en-GB", ""), ("de", "")]),
    "odd": {"captions": {"playerCaptionsTracklistRenderer": {"captionTracks": [1]}}, "playabilityStatus": {}},
}
PAGES = {
    "captcha": (200, '<div class="g-recaptcha"></div>'),
    "blocked": (429, "Too Many Requests"),
    "broken": (503, "try again"),
    "refused": (403, "no"),
    "strange": (200, "<html></html>"),
    "consent": (200, CONSENT),
}


def captions(code: str) -> str:
    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;")

    said = [f'<text start="{start}" dur="{length}">{escaped(text)}</text>' for text, start, length in CAPTIONS]
    return f'<?xml version="1.0"?><transcript lang="{code}">{"".join(said)}</transcript>'


class Call(TunnelCall, BaseHTTPRequestHandler):
    """One request."""

    server: YouTube
    certificate = CERTIFICATE

    def do_CONNECT(self) -> None:
        self.server.requests.append(f"CONNECT {self.path} {self.headers.get('Proxy-Authorization', '')}".strip())
        if self.server.refuses:
            self.send_error(407)
        else:
            super().do_CONNECT()

    def do_GET(self) -> None:
        self.server.requests.append(f"GET {self.path}")
        query = parse_qs(urlsplit(self.path).query)
        if self.path.startswith("/watch"):
            video = query["v"][0]
            if video == "stall":
                self.server.stopping.wait(60)
            status, page = PAGES.get(video, (200, PAGE))
            self._send(status, "text/html", PAGE if video == "consent" and "CONSENT=YES+cb" in self.cookies else page)
        else:
            self._send(200, "text/xml", captions(query["lang"][0]))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(f"POST {self.path} {asked['videoId']}")
        if asked["videoId"] == "cut":
            self._send(200, "application/json", "{", cut=True)
        elif asked["videoId"] == "deep":
            self._send(200, "application/json", "[" * 100_000 + "]" * 100_000)
        else:
            self._send(200, "application/json", json.dumps(PLAYERS.get(asked["videoId"], player())))

    @property
    def cookies(self) -> str:
        return self.headers.get("Cookie", "")

    def _send(self, status: int, kind: str, text: str, *, cut: bool = False) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body) + 100 * cut))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.close_connection or cut


class YouTube(TunnelServer):
    """The server as a context manager."""

    def __init__(self) -> None:
        super().__init__(Call)
        self.refuses = False
        self.environment = {"HTTPS_PROXY": f"http://{self.address}", "REQUESTS_CA_BUNDLE": str(CERTIFICATE)}

    def videos(self) -> list[str]:
        """The videos that were asked for, as often as they were."""
        return [each.split("v=")[1] for each in self.requests if each.startswith("GET /watch")]
