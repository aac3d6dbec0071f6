"""A model hub on 127.0.0.1, as huggingface_hub asks it, and any other server that answers GET."""

import gzip
import json
from hashlib import sha256
from http.server import BaseHTTPRequestHandler

from tests.peers.serving import Serving

FILE = "Tree-Q4_K_M.gguf"
CONTENT = b"GGUF" + bytes(range(256)) * 64
SIZES = {"large": 10**9 + 1, "vague": "some"}
STATUS = {"gated": 403, "cut": 503}


class Call(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.downloads += [self.headers] * self.path.endswith(".gguf")
        status, body, headers = self.server.answer(self.path, self.server.downloads)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Answering(Serving):
    def __init__(self, answer):
        super().__init__(Call)
        self.answer, self.downloads = answer, []


def hub(path, downloads):
    """Answer a path, given the headers of each file that was asked for; each owner behaves in one way."""
    owner = path.removeprefix("/api/models").split("/")[1]
    if path.startswith("/api/") and owner == "talker":
        return 200, gzip.compress(bytes(50 * 10**6)), {"Content-Encoding": "gzip"}
    if path.startswith("/api/"):
        lfs = {"sha256": sha256(CONTENT).hexdigest(), "size": SIZES.get(owner, len(CONTENT))}
        lfs["sha256"] = "../../../x" if owner == "climber" else lfs["sha256"]
        files = [{"rfilename": name, "lfs": {**lfs, "pointerSize": 1}} for name in ("mmproj-Q4_K_M.gguf", FILE)]
        about = json.dumps({"id": f"{owner}/tree", "sha": "a" * 40, "siblings": files}).encode()
        return 404 if owner == "gone" else 200, b"not json" if owner == "odd" else about, {}
    if owner == "cut" and len(downloads) == 1:
        return 200, CONTENT[:5000], {"Content-Length": str(len(CONTENT))}
    if owner in STATUS and len(downloads) < 3:
        return STATUS[owner], b"", {}
    if owner == "endless":
        return 200, gzip.compress(bytes(50 * 10**6)), {"Content-Encoding": "gzip"}
    begin = int(downloads[-1].get("Range", "bytes=0-")[6:-1])
    return 206 if begin else 200, (CONTENT.swapcase() if owner == "wrong" else CONTENT)[begin:], {}
