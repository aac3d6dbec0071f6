import json
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from pflow.errors import PflowError
from pflow.files.beneath import CONFINED
from pflow.mcp.client import node as client
from pflow.mcp.client import sockets
from pflow.mcp.client.node import McpNode, call, is_listening, request
from pflow.process.confine import has_landlock, restrict


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv(sockets.RUN, raising=False)
    return tmp_path / "pflow"


def answering(path, *lines):
    """Answer one request on a socket with these lines, then hang up; return the list of what came."""
    sockets.make_place(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    came = []

    def talk():
        with listener, listener.accept()[0] as peer, peer.makefile("rwb") as file:
            came.append(json.loads(file.readline()))
            file.write(b"".join(line + b"\n" for line in lines))

    threading.Thread(target=talk, daemon=True).start()
    return came


def a_run():
    sockets.begin_run()
    return sockets.run_socket()


def test_a_call_tells_its_progress_and_returns_files_as_bytes():
    reply = {"result": {"n": 1}, "files": [{"type": "image/png", "data": "/wA="}], "links": []}
    came = answering(a_run(), b'{"progress": "half"}', json.dumps({"result": reply}).encode())
    told = []
    assert call("time", "now", {"zone": "1"}, told.append) == {
        "result": {"n": 1}, "files": [{"type": "image/png", "data": b"\xff\x00"}], "links": [],
    }  # fmt: skip
    assert told == ["half"]
    assert came == [{"call": {"server": "time", "tool": "now", "arguments": {"zone": "1"}, "timeout": None}}]


@pytest.mark.parametrize(
    ("lines", "exit", "message"),
    [
        ([b'{"error": {"message": "no", "hint": "so", "exit": 77}}'], 77, "no"),
        ([], 69, "cannot call 'now' of the MCP server 'time': the broker ended"),
        ([b'{"progress": "half"}'], 69, "cannot call 'now' of the MCP server 'time': the broker ended"),
        ([b'{"result": {"result": 1, "files": [{"data": "a"}], "links": []}}'], 65, "not in base64"),
        ([b'{"result": {"result": 1}}'], 65, "not in base64"),
        ([b"[]"], 69, "the broker has another version"),
        ([b'{"done": 1}'], 69, "the broker has another version"),
        ([b'{"error": {"message": "no", "exit": "77"}}'], 69, "the broker has another version"),
        ([b'{"error": {"message": "no", "exit": 256}}'], 69, "the broker has another version"),
        ([b'{"result": {"result": 1e999, "files": [], "links": []}}'], 65, "does not fit in a float"),
    ],
)
def test_a_failed_call_is_one_error(lines, exit, message):
    answering(a_run(), *lines)
    with pytest.raises(PflowError) as failure:
        call("time", "now", {}, print)
    assert failure.value.exit == exit
    assert message in failure.value.message


def test_bytes_are_no_argument():
    with pytest.raises(PflowError, match="hold bytes") as failure:
        call("time", "now", {"a": [b"\xff"]}, print)
    assert failure.value.exit == 65


def test_a_run_keeps_its_broker_within_it_and_forgets_that_of_a_run_that_ended(monkeypatch):
    path = a_run()
    assert os.environ[sockets.RUN] == path
    assert sockets.owner_of(path) == os.getpid()
    monkeypatch.setenv(sockets.RUN, sockets.socket_of(str(os.getppid())))
    assert a_run() == sockets.socket_of(str(os.getppid()))
    monkeypatch.setenv(sockets.RUN, sockets.socket_of("4194305"))  # above the highest process id
    assert a_run() == path
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    assert sockets.run_socket() == ""  # its servers are others


@pytest.mark.parametrize("fault", ["mode", "link", "length"])
def test_a_directory_that_is_not_ours_alone_is_refused(fault, directory, tmp_path, monkeypatch):
    if fault == "mode":
        directory.mkdir()
        directory.chmod(0o755)
    elif fault == "link":
        (tmp_path / "else").mkdir(mode=0o700)
        directory.symlink_to(tmp_path / "else")
    else:
        (tmp_path / ("x" * 100)).mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("x" * 100)))
    with pytest.raises(PflowError) as failure:
        call("time", "now", {}, print)
    assert failure.value.exit == 77


def test_many_that_start_at_once_start_one_broker_and_a_killed_one_is_replaced():
    path = a_run()
    sockets.make_place(path)
    left = [sockets.socket_of("4194305"), os.path.join(os.path.dirname(path), sockets.PEER + "killed")]
    for file in left:  # by a broker that was killed with its owner, and by a client
        with open(file, "w"):
            os.utime(file, (0, 0))

    def status(_=0):
        return request(path, {"status": True}, "ask")["pid"]

    with ThreadPoolExecutor(20) as pool:
        (first,) = set(pool.map(status, range(100)))
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    assert not is_listening(path)
    second = status()
    assert second != first
    assert request(path, {"down": True}, "end") == {}
    os.waitpid(second, 0)
    assert os.listdir(os.path.dirname(path)) == []


@pytest.mark.parametrize(("piped", "sent"), [("Oslo\n", "Oslo"), ("a\nb\n", "a\nb\n"), ("Oslo", "Oslo"), ("\n", "")])
def test_a_single_line_from_the_pipe_loses_its_newline(piped, sent):
    class Now(McpNode):
        """Now.

        Interface:
        - Reads: shared["zone"]: str [pipe]  # where
        - Reads: shared["note"]: str = ""  # why
        - Writes: shared["result"]: any [pipe]  # when
        """

        properties = {"zone": "timeZone"}  # noqa: RUF012

    assert Now().prep({"zone": piped, "note": "x\n"}) == {"timeZone": sent, "note": "x\n"}


def test_what_a_confined_process_asks_is_refused_by_client_and_broker(directory, tmp_path, monkeypatch):
    path = sockets.socket_of("up")
    broker = request(path, {"status": True}, "ask")["pid"]
    with socket.socket(socket.AF_UNIX) as peer:
        peer.bind(str(tmp_path / "elsewhere"))
        peer.connect(path)
        with suppress(OSError):  # it may hang up before it has read
            peer.sendall(b'{"status": true}\n')
            assert peer.recv(1) == b""
    monkeypatch.setenv(CONFINED, json.dumps({"here": str(tmp_path), "folders": [], "shut": [str(directory)]}))
    if has_landlock():
        with ThreadPoolExecutor(1, initializer=restrict) as confined:
            found = confined.submit(request, path, {"status": True}, "ask").exception()
        assert (found.exit, "this process may only write" in found.message) == (77, True)
    monkeypatch.delenv(CONFINED)
    assert request(path, {"down": True}, "end") == {}
    os.waitpid(broker, 0)


def test_a_socket_of_another_user_is_not_used(directory, monkeypatch):
    path = sockets.socket_of("up")
    sockets.make_place(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(client, "make_place", lambda path: None)
    with listener, pytest.raises(PflowError, match="a process of another user listens there"):
        request(path, {"status": True}, "ask")
