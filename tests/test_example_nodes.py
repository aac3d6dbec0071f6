"""The nodes of examples/nodes/, each in its own language, and of examples/pack/, with whatever a text may hold."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import need, need_for

FOLDER = Path(__file__).parent.parent / "examples" / "nodes"
PACK = FOLDER.parent / "pack"
TOOLS = {"slug": ["jq"], "front-matter": ["awk"], "redact": ["perl"], "chunk": ["node"], "measure": ["cc"]}
"""What each node is written in."""

NASTY = 'é😀\0\x1f "q" \\n \\\\ \t$x `y` </script>\r\n\u2028\u2029 & \\1 %s'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The nodes as a person installs them, the one in C compiled."""
    folder = tmp_path_factory.mktemp("nodes")
    for file in FOLDER.glob("pflow-*"):
        shutil.copy(file, folder)
    if shutil.which("cc"):
        words = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", folder / "pflow-measure", FOLDER / "pflow-measure.c"]
        subprocess.run(words, check=True)
    return folder


@pytest.fixture
def run(folder, tmp_path):
    """Runs `pflow NAME`; gives the store that it prints, or its exit code and what it said."""

    def run(name, *flags, text, path=()):
        need(*TOOLS[name])
        places = [*path, str(folder), str(Path(sys.executable).parent), os.environ["PATH"]]
        environment = {**os.environ, "PATH": ":".join(places), "HOME": str(tmp_path)}
        key = "title" if name == "slug" else "text"
        store = json.dumps({"$pflow": {"v": 1}, key: text, "other": NASTY}, ensure_ascii=False)
        words = ["pflow", name, *flags]
        ran = subprocess.run(words, input=store.encode(), capture_output=True, env=environment, timeout=60, check=False)
        assert "Traceback" not in ran.stderr.decode()
        if ran.returncode:
            return ran.returncode, ran.stderr.decode()
        document = json.loads(ran.stdout)
        assert (document[key], document["other"]) == (text, NASTY)
        return document

    return run


@pytest.mark.parametrize(
    ("title", "flags", "slug"),
    [
        ("\ufeff  Ünïcode & 日本 — 2", [], "Ünïcode-日本-2"),
        ("e\u0301\u0301 a\0b 😀", [], "e\u0301\u0301-a-b"),
        ("one two three", ["--length=8"], "one-two"),
        ("x" * 100, [], "x" * 60),
    ],
)
def test_slug(run, title, flags, slug):
    assert run("slug", *flags, text=title)["slug"] == slug


@pytest.mark.parametrize("title", ["", "?!", "😀"])
def test_slug_refuses_a_title_without_a_letter(run, title):
    exit, said = run("slug", text=title)
    assert (exit, "the title has no letter" in said) == (65, True)


FRONT_MATTERS = [
    ("---\na: 1\n---\n" + NASTY, NASTY, {"a": "1"}),
    ("---\na: 1\nnot closed", "---\na: 1\nnot closed", {}),
    ('---\nt: "\\"\nu: \\\nv:\n---\n', "", {"t": "\\", "u": "\\", "v": ""}),
    ("---\na: 1\na: 2\n- x\nno key\nb:c\nurl: http://x\n\td: 1\n---\n", "", {"a": "1", "url": "http://x"}),
    ("---\na:\t 😀\0 & \\1 \t\n---\n", "", {"a": "😀\0 & \\1"}),
]


@pytest.mark.parametrize("awk", ["gawk", "mawk"])
@pytest.mark.parametrize(("text", "body", "meta"), FRONT_MATTERS)
def test_front_matter(run, tmp_path, awk, text, body, meta):
    need(awk)
    (tmp_path / "awk").symlink_to(shutil.which(awk))
    document = run("front-matter", text=text, path=[str(tmp_path)])
    assert (document["body"], document["meta"]) == (body, meta)


@pytest.mark.parametrize(
    ("text", "redacted", "found"),
    [
        (NASTY, NASTY, 0),
        ("x" * 500_000, "x" * 500_000, 0),
        ("to bob.x+y@a-b.co.uk, é", "to [redacted], é", 1),
        ("ghp_abcdefghij0123456789 and sk-abcdefghij0123456789", "[redacted] and [redacted]", 2),
        ("call +47 123 45 678 by 2026-01", "call [redacted] by 2026-01", 1),
    ],
)
def test_redact(run, text, redacted, found):
    document = run("redact", text=text)
    assert (document["redacted"], document["found"]) == (redacted, found)


@pytest.mark.parametrize(
    ("text", "size", "chunks"),
    [
        ("", 9, []),
        ("a b\n\nc d\ne", 8, ["a b\n\n", "c d\ne"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("😀😀😀", 3, ["😀", "😀", "😀"]),
    ],
)
def test_chunk(run, text, size, chunks):
    assert run("chunk", f"--size={size}", text=text)["chunks"] == chunks


def test_chunks_are_the_text_whatever_it_is(run):
    for size in (2, 7, 40):
        chunks = run("chunk", f"--size={size}", text=NASTY * 9)["chunks"]
        assert "".join(chunks) == NASTY * 9
        assert all(len(chunk.encode("utf-16-le")) <= 2 * size for chunk in chunks)


@pytest.mark.parametrize("text", ["", " a  b\n", NASTY * 999, "\\\\n\\u0041", "a\vb\x1c\x7f"])
def test_measure(run, text):
    document = run("measure", text=text)
    words = len([word for word in "".join(" " if sign in "\v\f\r\t\n" else sign for sign in text).split(" ") if word])
    assert (document["words"], document["lines"], document["characters"]) == (words, text.count("\n"), len(text))


@pytest.fixture
def from_pack(tmp_path):
    """Runs pflow with the nodes of the pack."""

    def run(*words, **given):
        environment = {**os.environ, "HOME": str(tmp_path), "PFLOW_NODES": str(PACK / "nodes")}
        words = [sys.executable, "-m", "pflow", *words]
        ran = subprocess.run(
            words, capture_output=True, cwd=tmp_path, env=environment, timeout=60, check=False, **given
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.decode()

    return run


@pytest.mark.parametrize("file", ["frequent_words.py", "pflow-headline", "write_card.py"])
def test_each_node_of_the_pack_keeps_its_word(from_pack, file):
    need_for((PACK / "nodes" / file).read_text())
    assert " 0 failed, " in from_pack("test-node", str(PACK / "nodes" / file))


@pytest.mark.parametrize("text", ["", "a\\nb \\\\t\n\\", NASTY, '", "text":"'])
def test_a_headline_has_capitals_from_a_to_z_alone(from_pack, text):
    need("sed")
    capitals = "".join(sign.upper() if sign.isascii() else sign for sign in text)
    store = json.loads(from_pack("headline", input=json.dumps({"$pflow": {"v": 1}, "text": text}).encode()))
    assert store["headline"] == capitals
