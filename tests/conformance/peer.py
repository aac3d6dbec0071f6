"""A node that speaks the protocol by itself, without pflow. Each of its parts may be replaced, by a broken one."""

import base64
import json
import os
import signal
import stat
import sys

READS = {"text": {"type": "str"}, "label": {"type": "str"}}
WRITES = {"words": {"type": "int"}}
PARAMS = {"minimum": {"type": "int", "default": 1}}
COMMON = {"describe", "help", "version", "raw", "quiet", "dry_run"}


class Refused(Exception):
    def __init__(self, exit, message):
        super().__init__(message)
        self.exit = exit


class Peer:
    """Counts the words of `text` that have `minimum` letters; `label` is what they are called."""

    known = (1,)

    def __init__(self):
        self.name = os.path.basename(sys.argv[0]).removeprefix("pflow-")
        self.header, self.members, self.flags = {"v": 1}, {}, {}

    def main(self):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        try:
            code = self.run(sys.argv[1:])
        except Refused as refused:
            self.say(str(refused))
            self.fail(refused)
            code = refused.exit
        sys.stdout.flush()
        sys.exit(code)

    def run(self, words):
        self.flags = self.take_flags(words)
        for name in ("describe", "help", "version"):
            if name in self.flags:
                return self.put(getattr(self, name)().encode())
        data = self.read()
        if data is not None:
            self.take(data)
        if "error" in self.header:
            return self.pass_on(data)
        if self.header.get("skipped"):
            return self.pass_skipped(data)
        reads = self.find_reads()
        if "dry_run" in self.flags:
            return self.pretend()
        self.store_flags()
        self.work(reads)
        self.answer()
        return self.end()

    def take_flags(self, words):
        flags, rest = {}, self.spell_out(list(words))
        while rest:
            name, equals, text = rest.pop(0).removeprefix("--").partition("=")
            name = name.replace("-", "_")
            if name in COMMON:
                flags[name] = True
            elif name in READS | PARAMS:
                flags[name] = self.convert(name, text if equals else rest.pop(0))
            else:
                raise Refused(2, f"cannot take --{name}: no such flag")
        return flags

    def spell_out(self, words):
        """The words, each as a flag: the one after -- is the label, and -m is short for --minimum."""
        words = ["--minimum" if word == "-m" else word for word in words]
        at = words.index("--") if "--" in words else len(words)
        return [*words[:at], *(f"--label={word}" for word in words[at + 1 :])]

    def convert(self, name, text):
        try:
            return int(text) if (READS | PARAMS)[name]["type"] == "int" else text
        except ValueError:
            raise Refused(2, f"cannot take --{name}={text}: it is no int") from None

    def describe(self):
        about = {"name": self.name, "version": "1.0.0", "reads": READS, "writes": WRITES}
        return json.dumps({**about, "params": PARAMS}) + "\n"

    def help(self):
        return "".join(f"--{name}\n" for name in READS | PARAMS)

    def version(self):
        return f"pflow-{self.name} 1.0.0\n"

    def read(self):
        """The bytes of stdin; None for /dev/null."""
        if stat.S_ISCHR(os.fstat(0).st_mode):
            return None
        data = sys.stdin.buffer.read()
        if not data and "text" not in self.flags:
            raise Refused(66, "stdin was empty")
        return data

    def take(self, data):
        document = self.parse(data)
        if document is None:
            return self.take_raw(data)
        self.header = document.pop("$pflow")
        self.members = document
        if self.header["v"] not in self.known:
            header, self.header, self.members = self.header, {"v": 1}, {}
            raise Refused(65, f"cannot read version {header['v']}: this knows version 1")
        return None

    def parse(self, data):
        if not data.startswith(b"{") or b'"$pflow"' not in data:
            return None
        try:
            document = json.loads(data)
        except ValueError:
            raise Refused(65, "cannot read the document: it does not parse") from None
        return document if "$pflow" in document else None

    def take_raw(self, data):
        try:
            self.members["stdin"] = data.decode()
        except UnicodeDecodeError:
            self.members["stdin"] = {"$bytes": base64.b64encode(data).decode()}
        self.header["last"] = "stdin"

    def find_reads(self):
        reads = {"text": self.find_text(), "label": self.find_label()}
        for name, value in reads.items():
            self.check(name, value)
        return reads

    def find_text(self):
        if "text" in self.flags:
            return self.flags["text"]
        for key in (self.header.get("last"), "text"):
            if key in self.members:
                return self.members[key]
        raise Refused(66, "cannot find 'text': nothing gives it")

    def find_label(self):
        if "label" not in self.flags:
            raise Refused(66, "cannot find 'label': nothing gives it")
        return self.flags["label"]

    def check(self, name, value):
        if not isinstance(value, str):
            raise Refused(65, f"cannot read '{name}': it is no text")

    def store_flags(self):
        for name in READS:
            if name in self.flags:
                self.members.setdefault(name, self.flags[name])

    def work(self, reads):
        minimum = self.flags.get("minimum", 1)
        self.members["words"] = sum(len(word) >= minimum for word in reads["text"].split())
        self.header["last"] = "words"

    def answer(self):
        if "quiet" in self.flags:
            return
        self.put(self.carried() if "raw" in self.flags else self.document())

    def carried(self):
        return json.dumps(self.members["words"]).encode() + b"\n"

    def document(self):
        header = {name: value for name, value in self.header.items() if name != "members"}
        return json.dumps({"$pflow": header, **self.members}, ensure_ascii=False).encode() + b"\n"

    def put(self, data):
        sys.stdout.buffer.write(data)
        return 0

    def pretend(self):
        self.header["dry"] = ["words"]
        self.answer()
        return 0

    def pass_on(self, data):
        if "raw" not in self.flags and "quiet" not in self.flags:
            self.put(data)
        return self.header["error"]["exit"]

    def pass_skipped(self, data):
        return 0 if {"raw", "quiet"} & {*self.flags} else self.put(data)

    def fail(self, refused):
        if "raw" not in self.flags and "quiet" not in self.flags:
            error = {"step": self.name, "node": self.name, "exit": refused.exit, "message": str(refused)}
            self.header["error"] = error
            self.put(self.document())

    def say(self, text):
        sys.stderr.write(f"pflow-{self.name}: {text}\n")

    def end(self):
        return 0
