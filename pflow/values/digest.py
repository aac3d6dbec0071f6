"""Digests: the SHA-256 of a value, which is first encoded so that no two values have the same bytes."""

from __future__ import annotations

import sys

from pflow import TYPE_CHECKING, Any
from pflow.values.jsontext import plain

if TYPE_CHECKING:

    def sha256(data: bytes = b"", /) -> Any: ...
elif sys.version_info >= (3, 12):  # hashlib would load OpenSSL, which takes 3 ms, far longer than hashing a flow
    from _sha2 import sha256
else:
    from _sha256 import sha256

_BLOCK = 64
_MANY = 1 << 22


def digest_of(value: Any) -> str:
    """Return the SHA-256, in hex, of a JSON value or bytes. Raises PflowError (65) for anything else.

    Values that differ in type (1, 1.0, "1", true) or in the order of members have different digests.
    """
    return bytes_digest(frame(value))


def keyed_digest(key: bytes, value: Any) -> str:
    """Return the HMAC-SHA-256 of a value, in hex; without the key it reveals nothing about the value."""
    # RFC 2104 by hand: hmac would import hashlib, and with it OpenSSL.
    padded = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in padded) + frame(value)).digest()
    return str(sha256(bytes(byte ^ 0x5C for byte in padded) + inner).hexdigest())


def frame(value: Any) -> bytes:
    """Encode a value as bytes, each part after its type and length, so that no part runs into the next."""
    kind = value.__class__
    if kind is str:
        return _framed(b"s", value.encode("utf-8", "surrogatepass"))
    if kind is bytes:
        return _framed(b"b", value)
    if kind is list:
        return _framed(b"[", b"".join(map(frame, value)))
    if kind is dict:
        return _framed(b"{", b"".join(frame(part) for member in value.items() for part in member))
    if kind in _LETTERS:
        return _framed(_LETTERS[kind], repr(value).encode())
    return frame(plain(value))


_LETTERS = {int: b"i", float: b"d", bool: b"t", type(None): b"n"}


def _framed(letter: bytes, data: bytes) -> bytes:
    return letter + len(data).to_bytes(8, "big") + data


def bytes_digest(data: bytes) -> str:
    """Return the SHA-256, in hex, of raw bytes."""
    return str(hasher_for(len(data))(data).hexdigest())


def hasher_for(size: int) -> Any:
    """Return the faster hash for `size` bytes: OpenSSL's only if it saves more time than loading it takes."""
    if size < _MANY:
        return sha256
    import hashlib

    return hashlib.sha256
