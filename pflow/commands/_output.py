"""Where a command puts a text: on stdout, or into a file of its own."""

from __future__ import annotations


def put(file: str | None, data: bytes, *, is_program: bool = False) -> None:
    """Write data to stdout, or make it all that a file holds. Raises PflowError (73, 77)."""
    from pflow.errors import CANNOT_WRITE, DENIED, PflowError

    if file is None:
        from pflow.process.stdout import write_pieces

        write_pieces(1, [data])
        return
    from pflow.atomic import replace

    try:
        replace(file, data, mode=0o777 if is_program else 0o666)
    except OSError as error:
        exit = DENIED if isinstance(error, PermissionError) else CANNOT_WRITE
        reason = (error.strerror or str(error)).lower()
        raise PflowError(f"cannot write '{file}': {reason}", exit=exit) from None
