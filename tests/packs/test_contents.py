"""The files of a pack in a directory: what belongs to it, what is left out, what no pack may have."""

import os
import stat

import pytest

from pflow.errors import BAD_DATA, PflowError
from pflow.packs import contents
from pflow.packs.address import parse_address
from pflow.packs.contents import Contents
from pflow.packs.source import fetch
from tests.tools import only_root

FILE = 0o100644

PATHS = {
    "nodes/../../x": "leads out of it",
    "/etc/passwd": "leads out of it",
    "nodes//x": "leads out of it",
    "nodes/a\x1b[2Jb": "control characters",
    "nodes/a\nb": "control characters",
    "nodes/\u202ea": "control characters",
    "nodes/\udcff": "control characters",
    f"nodes/{'x' * 201}": "too long a name",
    f"nodes/{'x/' * 400}x": "too long a name",
    "nodes/WORDS.py": "the same name",
    "nodes/words.py/x": "",
    "nodes/U\u0308ber": "the same name",
    "nodes/\ufb01le": "the same name",
}
"""Paths beside nodes/words.py, nodes/über and nodes/file, and why they are refused."""


def write(place, files):
    for name, data in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    return place


def read(place):
    return fetch(parse_address(str(place)))


def refusal(place):
    with pytest.raises(PflowError) as caught:
        read(place)
    assert caught.value.exit == BAD_DATA
    assert caught.value.message.isprintable()
    return caught.value.message


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_leads_out_or_is_another_name_elsewhere_is_refused(path):
    chosen = Contents("cannot fetch 'x'")
    assert all(chosen.admits(f"nodes/{name}", FILE, 1) for name in ("words.py", "über", "file"))
    if PATHS[path]:
        with pytest.raises(PflowError, match=PATHS[path]) as caught:
            chosen.admits(path, FILE, 1)
        assert caught.value.message.isprintable()
    else:
        assert chosen.admits(path, FILE, 1)


def test_a_pack_is_its_nodes_flows_and_texts_and_no_bit_but_the_executable_one(tmp_path):
    files = ["README", "flows/x.pflow.json", "nodes/a.py", "nodes/go", "nodes/sub/help.py"]
    others = ["setup.py", "nodes/.env", "nodes/a.pyc", "nodes/__pycache__/a", ".git/config"]
    pack = write(tmp_path / "pack", dict.fromkeys(files + others, b"x"))
    (pack / "nodes/.link").symlink_to("/")
    (pack / "nodes/go").chmod(0o6777)
    (tmp_path / "link").symlink_to("pack")
    found = read(tmp_path / "link")
    assert [*found.files] == files
    found.put(str(tmp_path / "out"))
    put = {path: (tmp_path / "out" / path) for path in found.files}
    assert {path: file.read_bytes() for path, file in put.items()} == {p: f.data for p, f in found.files.items()}
    assert [path for path, file in put.items() if file.stat().st_mode & 0o7133] == ["nodes/go"]
    assert read(tmp_path / "out").tree == found.tree
    (tmp_path / "out/nodes/a.py").chmod(0o755)
    assert read(tmp_path / "out").tree != found.tree


@pytest.mark.parametrize("path", ["nodes/w.py", "nodes/pflow-w", "flows/w.pflow.json"])
def test_one_node_or_flow_is_a_pack_alone_or_at_the_top_of_a_directory(tmp_path, path):
    name = os.path.basename(path)
    write(tmp_path / "w", {name: b"x", "README.md": b"", "Makefile": b""})
    assert [*read(tmp_path / "w").files] == ["README.md", path]
    assert [*read(tmp_path / "w" / name).files] == [path]
    assert parse_address(str(tmp_path / "w" / name)).name == "w"


def make_bytes(pack):
    os.close(os.open(os.fsencode(pack) + b"/nodes/\xff\x1b", os.O_CREAT))


def make_large(pack, number=5, size=contents.LARGEST):
    for name in range(number):
        os.truncate(os.open(pack / f"nodes/b{name}", os.O_CREAT | os.O_WRONLY), size)


HOSTILE = {
    "link": lambda pack: (pack / "nodes/l").symlink_to("/etc/passwd"),
    "link to a directory": lambda pack: (pack / "nodes/l").symlink_to("/etc"),
    "linked root": lambda pack: (pack / "flows").symlink_to("nodes"),
    "file for a root": lambda pack: (pack / "flows").touch(),
    "fifo": lambda pack: os.mkfifo(pack / "nodes/f"),
    "device": lambda pack: os.mknod(pack / "nodes/zero", stat.S_IFCHR | 0o666, os.makedev(1, 5)),
    "large": lambda pack: make_large(pack, 1, contents.LARGEST + 1),
    "large in all": make_large,
    "many": lambda pack: [(pack / f"nodes/{number}").touch() for number in range(contents.MOST)],
    "bytes": make_bytes,
}


@pytest.mark.parametrize("name", [pytest.param(each, marks=[only_root] * (each == "device")) for each in HOSTILE])
def test_a_directory_with_what_no_pack_may_have_is_refused(tmp_path, name):
    HOSTILE[name](write(tmp_path, {"nodes/a.py": b""}))
    assert refusal(tmp_path).startswith(f"cannot fetch '{tmp_path}': ")


def test_a_directory_of_the_address_is_no_link(tmp_path):
    write(tmp_path / "other", {"nodes/a.py": b""})
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/sub").symlink_to("../other")
    assert "'sub' is a link" in refusal(f"{tmp_path}/pack#sub")
