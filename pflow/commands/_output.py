"""The output of commands: text, tables and JSON on stdout, and files."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Sequence
from pflow.errors import BAD_DATA, OK, UNAVAILABLE, USAGE, Attempt, PflowError, not_written
from pflow.files.atomic import replace
from pflow.flow.findings import Finding, errors_of
from pflow.process.streams import write_pieces
from pflow.terminal.columns import colour_of, for_locale, table, terminal_width
from pflow.terminal.messages import say
from pflow.text.printable import clean, clean_json
from pflow.values.jsontext import compact

if TYPE_CHECKING:
    from pflow.flow.flow import FlowSpec
    from pflow.flow.wired_flow import WiredFlow


def write_output(file: str | None, data: bytes, *, mode: int = 0o666) -> None:
    """Write data to a file, whole or not at all, or to stdout. Raises PflowError (73, 77).

    On a terminal, control characters are escaped.
    """
    if file is None:
        lines = data.decode("utf-8", "surrogateescape").split("\n") if os.isatty(1) else []
        write_pieces(1, ["\n".join(map(clean, lines)).encode() if lines else data])
        return
    with Attempt(f"cannot write '{file}'", not_written):
        replace(file, data, mode=mode)
        if mode & 0o100 and not os.access(file, os.X_OK):  # replace() has kept the mode of an older file
            old = os.stat(file).st_mode
            os.chmod(file, old | (old & 0o444) >> 2)


def write_result(file: str | None, data: bytes) -> None:
    """Write a text with colours, in which control characters are escaped already, to a file or to stdout."""
    if file:
        write_output(file, data)
    else:
        write_pieces(1, [data])


def write_page(page: bytes, html: str | bool, output: str | None, name: str, *, opens: bool = False) -> None:
    """Write a page to the file of --html or -o, print its path, and open it if wanted.

    Without a file, write it to stdout, or if that is a terminal, to the file `name`. Raises PflowError: 73, 77, 69
    without a browser, 2 for two files.
    """
    named = html if isinstance(html, str) else None
    if named and output:
        raise PflowError(f"cannot take -o with --html={named}", hint="one of them names the file", exit=USAGE)
    file = named or output
    if not file and not os.isatty(1) and not opens:
        write_pieces(1, [page])
        return
    path = file or name
    write_output(path, page)
    print_text(f"{clean(path)}\n")
    if opens:
        import webbrowser
        from pathlib import Path

        if not webbrowser.open(Path(path).absolute().as_uri()):
            raise PflowError(f"cannot open '{path}': no browser is known", hint="BROWSER names one", exit=UNAVAILABLE)


def print_text(text: str) -> None:
    """Print a text to stdout, in ASCII if the locale has nothing else."""
    write_pieces(1, [for_locale(text).encode("utf-8", "replace")])


def print_table(rows: Sequence[Sequence[str]], when: str) -> None:
    """Print rows in columns, fitted to a terminal; elsewhere print each row as a line. `when` is --color."""
    lines = table(rows, terminal_width(otherwise=1 << 30), indent=0, first=colour_of(1, when).name)
    print_text("".join(f"{line}\n" for line in lines))


def print_json(value: Any) -> None:
    write_pieces(1, [json_line(value)])


def report_damaged_packs(program: str) -> None:
    """If the installed packs cannot be read, report on stderr why, since the printed list does not have them."""
    from pflow.catalog.packs import installed_packs
    from pflow.terminal.messages import say_error

    try:
        installed_packs()
    except PflowError as error:
        say_error(program, error, debug=False)


def json_line(value: Any) -> bytes:
    """Return a document as a line of JSON. A byte that is not UTF-8, such as in a file's name, becomes \\\\udcff."""
    text = "".join(f"\\\\u{ord(c):x}" if "\ud800" <= c <= "\udfff" else c for c in compact(value))
    return clean_json(text).encode() + b"\n"


def examined(flow: FlowSpec, program: str) -> tuple[WiredFlow, list[Finding], int]:
    """Wire and check a flow and print its errors; return it, its findings, and the exit code: 65 if it has errors."""
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire

    wired = wire(flow)
    findings = check(wired)
    errors = errors_of(findings)
    for error in errors:
        say(program, str(error))
    return wired, findings, BAD_DATA if errors else OK
