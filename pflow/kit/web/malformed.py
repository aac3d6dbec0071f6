"""What is wrong with an answer that is not HTTP, in place of the words of the library that refuses it."""

from ast import literal_eval
from traceback import walk_tb

from pflow.errors import causes, shorten
from pflow.words.printable import one_line

_PARTS = {
    **dict.fromkeys(("illegal header", "continuation line"), "a header"),
    **dict.fromkeys(("illegal status", "status_code", "response line", "upgrade"), "its status"),
    "content-length": "its Content-Length",
    "transfer-encoding": "its Transfer-Encoding",
    "chunk": "a chunk of its body",
}
"""The parts of an answer by the words of the library."""


def malformed(error: BaseException) -> str:
    """Return what is wrong with an answer that is not HTTP; "" for one that was cut, and for any other error."""
    said = str(error)
    if type(error).__name__ != "RemoteProtocolError" or "closed connection" in said or "too long" in said:
        return ""
    if "disconnected" in said:
        begun = _begun(error)
        return "" if "HTTP/1.".startswith(begun[:7]) else f"its answer is not HTTP: '{shorten(one_line(begun))}'"
    part = next((words for sign, words in _PARTS.items() if sign in said.lower()), "")
    line = literal_eval(said.partition("bytearray(")[2][:-1]).decode(errors="replace") if "header line" in said else ""
    name = shorten(one_line(line.partition(":")[0].strip() or line))
    what = f"its answer is not valid HTTP: {part} cannot be read" + (f": '{name}'" if name else "")
    return what if part else ""


def _begun(error: BaseException) -> str:
    """Return what came before a connection ended; the library keeps it, and does not tell."""
    for cause in causes(error):
        for frame, _ in walk_tb(cause.__traceback__):
            if state := getattr(frame.f_locals.get("self"), "_h11_state", None):
                return str(state.trailing_data[0], "latin-1").lstrip()
    return ""
