"""A fast server of OpenAI's protocol, in a process of its own, which answers many at once and counts them.

From pytest: `with Server(rate=600) as server`, then `server.model()` is for --model and `server.counts()` says what
came. From a shell: `python tests/map/server.py --rate=600 --ms=50`, which prints its address and ends with its stdin.
Past `rate` requests a minute (`burst` at once), or `most` at once, it answers 429 with Retry-After and the usual
headers. The model no-credit is always refused, the models no-key and later (for 4,000 s) too; the answers of `unequal`
differ in length, those of `stalled`, `cut` and `silent` never come, break off and do not tell their tokens, and
`billed` says that each answer costs $2.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request

REFUSALS = {
    "no-credit": (429, "insufficient_quota"),
    "no-key": (401, "invalid_api_key"),
    "later": (429, "rate_limit_exceeded"),
}
ABOUT = '"id":"a","object":"chat.completion.chunk","created":1,"model":"m"'
STREAM = """data: {%s,"choices":[{"index":0,"delta":{"role":"assistant","content":%s}}]}

data: {%s,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {%s,"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d%s}}

data: [DONE]

"""


class Answering:
    """The server: its bucket of requests, which fills evenly, and its counts."""

    def __init__(self, rate: float, burst: float, ms: float, most: int, no_hint: int) -> None:
        self.rate, self.ms, self.most, self.no_hint = rate / 60, ms, most or 1 << 30, no_hint
        self.burst = self.bucket = burst or max(rate / 60, 1)
        self.filled, self.now = time.monotonic(), 0
        self.counts = {"requests": 0, "answers": 0, "refused": 0, "at_once": 0, "connections": 0, "tokens": 0}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts["connections"] += 1
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                size = int(head.partition("content-length:")[2].partition("\r")[0] or 0)
                body = await reader.readexactly(size)
                status, data, headers = 200, json.dumps(self.counts), [""]
                if not head.startswith("get"):
                    self.now += 1
                    status, data, headers = await self.answer(json.loads(body), size)
                    self.now -= 1
                kind = "text/event-stream" if data.startswith("data") else "application/json"
                lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(data.encode())}"]
                writer.write("\r\n".join([*lines, *filter(None, headers), "", data]).encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, asked: dict, size: int) -> tuple[int, str, list[str]]:
        self.counts["requests"] += 1
        self.counts["at_once"] = max(self.counts["at_once"], self.now)
        status, code = REFUSALS.get(asked["model"]) or (0 if self.has_room() else 429, "rate_limit_exceeded")
        if status:
            self.counts["refused"] += 1
            said = json.dumps({"error": {"message": code, "code": code}})
            return status, said, ["Retry-After: 4000"] if asked["model"] == "later" else self.hints(is_refused=True)
        await asyncio.sleep(self.ms / 1000)
        out = 1 + size * 7919 % 2000 if asked["model"] == "unequal" else 20
        self.counts["answers"] += 1
        self.counts["tokens"] += out
        if asked["model"] == "stalled":
            await asyncio.sleep(1000)
        if asked["model"] == "cut":
            return 200, STREAM.partition("%s")[0] + ABOUT + "}\n\n", self.hints()
        text = json.dumps(asked["messages"][-1]["content"])
        bill = ',"cost":2' if asked["model"] == "billed" else ""
        said = STREAM % (ABOUT, text, ABOUT, ABOUT, size // 4, out, size // 4 + out, bill)
        return 200, said.replace('"usage"', '"nothing"') if asked["model"] == "silent" else said, self.hints()

    def has_room(self) -> bool:
        """Take a request from the bucket, unless it is empty or too many are being answered."""
        now = time.monotonic()
        self.bucket, self.filled = min(self.bucket + (now - self.filled) * self.rate, self.burst), now
        if self.now > self.most or (self.rate and self.bucket < 1):
            return False
        self.bucket -= 1
        return True

    def hints(self, *, is_refused: bool = False) -> list[str]:
        if not self.rate or self.no_hint:
            return []
        name = "x-ratelimit-{}-requests: {}".format
        said = [name("limit", round(self.rate * 60)), name("remaining", int(self.bucket))]
        return [*said, f"Retry-After: {max((1 - self.bucket) / self.rate, 0.001):.3f}" if is_refused else ""]


class Server:
    """The server as a child process; keywords are its options."""

    def __init__(self, **options: object) -> None:
        flags = [f"--{name}={value}" for name, value in options.items()]
        command = [sys.executable, __file__, *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *about: object) -> None:
        self.process.communicate()

    def model(self, name: str = "m") -> str:
        return f"{self.url}#{name}"

    def counts(self) -> dict[str, int]:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{self.url}/counts") as answer:
            return json.load(answer)


async def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("port", "rate", "burst", "ms", "most", "no_hint"):
        parser.add_argument(f"--{name}", type=float, default=0)
    options = vars(parser.parse_args())
    port = int(options.pop("port"))
    server = await asyncio.start_server(Answering(**options).serve, "127.0.0.1", port, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    asyncio.get_running_loop().add_reader(0, lambda: os.read(0, 1024) or os._exit(0))
    await asyncio.sleep(1200)


if __name__ == "__main__":
    asyncio.run(main())
