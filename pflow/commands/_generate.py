"""`make generate`: write the files that are generated from nodes and commands; with --check, name stale ones."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pflow.catalog.registry import names_in
from pflow.commands.help import specs, typed
from pflow.completion.names import LOADER, TABLE
from pflow.errors import BAD_DATA, FAILED, OK, USAGE, PflowError
from pflow.flow.rules import RULES
from pflow.help import man
from pflow.help.spec import choices_of, tab_of
from pflow.interface.interface import OPTION, Field
from pflow.interface.source import read_interface
from pflow.terminal.messages import say_error

ROOT = Path(__file__).parent.parent.parent
RULES_PAGE = "pflow-flow.5"

# A launcher is short, since it is not cached as bytecode: each stage compiles all its lines.
NODE_LAUNCHER = '#!python\nfrom pflow.stage.main import main\n\nmain("{name}")\n'
MODULE_LAUNCHER = "#!python\nfrom pflow.{module} import main\n\nmain()\n"


class Difference(NamedTuple):
    """A file that differs from the generated one: its path, the problem, and the right text (None for an orphan)."""

    path: Path
    problem: str
    text: str | None = None
    mode: int = 0


def launchers(root: Path) -> dict[str, str]:
    """Make the executables: the driver, one for each file in pflow/store_commands/, and one for each node."""
    texts = {"pflow": MODULE_LAUNCHER.format(module="commands.main")}
    for name in names_in(str(root / "pflow" / "store_commands")):
        texts[f"pflow-{name}"] = MODULE_LAUNCHER.format(module=f"store_commands.{name.replace('-', '_')}")
    for name in names_in(str(root / "nodes")):
        if f"pflow-{name}" in texts:
            file = f"nodes/{name.replace('-', '_')}.py"
            raise PflowError(f"cannot make 'pflow-{name}' for {file}: a tool has that name", exit=BAD_DATA)
        texts[f"pflow-{name}"] = NODE_LAUNCHER.format(name=name)
    return texts


def table(root: Path) -> dict[str, str]:
    """Make the table of commands and store commands for TAB, which reads the interfaces of nodes itself."""
    rows: dict[str, Any] = {each.name: [each.summary, _rows(each.flags), _rows(each.arguments)] for each in typed()}
    nodes = [read_interface(str(file)) for file in (root / "nodes").glob("[!_]*.py")]
    rows["pflow-get"][2][0]["choices"] = sorted(
        {key for node in nodes for key in node.writes}
        # For PATH, TAB offers the keys of nodes, which a store may have.
    )
    lines = [f"{json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in rows.items()]
    return {TABLE: "{" + ",\n".join(lines) + "}\n"}


def _rows(flags: list[Field]) -> list[dict[str, Any]]:
    facts = ("name", "doc", "letter", "word", "kind")
    rows = []
    for flag in flags:
        type = "str" if flag.type.choices else flag.type.name
        row = {**{fact: getattr(flag, fact) for fact in facts}, "type": type, "tab": tab_of(flag)}
        row["choices"] = choices_of(flag)
        rows.append({fact: value for fact, value in row.items() if value and (fact, value) != ("kind", OPTION)})
    return rows


def man_pages(root: Path) -> dict[str, str]:
    return man.files(specs(str(root)))


def loaders(root: Path) -> dict[str, str]:
    """Make the file that bash-completion finds by each command's name: it loads the shim."""
    return {name: LOADER.format(name=name) for name in launchers(root) if name != "pflow"}


def rules_page(root: Path) -> dict[str, str]:
    """Make pflow-flow(5), whose table lists the rules."""
    file = root / "man" / "man5" / RULES_PAGE
    page = file.read_text() if file.is_file() else ""
    before, first, rest = page.partition(".It Sy \\&PF01\n")
    rows = [[f".It Sy \\&{rule.id}", *man.lines(f"{rule.title} ({rule.otherwise})")] for rule in RULES.values()]
    text = "".join(f"{line}\n" for row in rows for line in row)
    return {RULES_PAGE: "".join([before, text, ".El\n", rest.partition("\n.El\n")[2]])} if first else {}


GENERATED: list[tuple[str, str, Callable[[Path], dict[str, str]]]] = [
    ("bin", "*", launchers),
    ("man/man1", "*", man_pages),
    ("man/man5", RULES_PAGE, rules_page),
    ("pflow/completion", TABLE, table),
    ("completions/bash", "pflow-*", loaders),
]
"""Each folder, the pattern of its generated files, and the function that makes their texts by name."""


def differences(root: Path) -> Iterator[Difference]:
    """Yield the files that `generate` would change. Raises PflowError (65) for a node without a good interface."""
    for node in names_in(str(root / "nodes")):
        file = os.path.relpath(root / "nodes" / f"{node.replace('-', '_')}.py")
        if read_interface(file).open:
            hint = "add a line 'Interface:' to its docstring, and after it a line for each item"
            raise PflowError(f"cannot find an interface in '{file}'", hint=hint, exit=BAD_DATA)
    for name, pattern, make in GENERATED:
        folder, texts, mode = root / name, make(root), 0o755 if name == "bin" else 0o644
        for file, text in sorted(texts.items()):
            if problem := _problem(folder / file, text, mode):
                yield Difference(folder / file, problem, text, mode)
        for path in sorted(folder.glob(pattern)):
            if path.name not in texts:
                yield Difference(path, "orphaned")


def _problem(path: Path, text: str, mode: int) -> str:
    if not path.is_file():
        return "missing"
    if path.read_bytes() != text.encode():
        return "stale"
    return "" if path.stat().st_mode & 0o100 == mode & 0o100 else "not executable" if mode & 0o100 else "executable"


def check(root: Path) -> list[str]:
    """Return a line for each stale file."""
    return [f"{change.path.relative_to(root)}: {change.problem}" for change in differences(root)]


def generate(root: Path) -> list[str]:
    """Bring every generated file up to date, and return a line for each change."""
    changes = list(differences(root))
    for change in changes:
        if change.text is None:
            change.path.unlink()
        else:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            change.path.write_bytes(change.text.encode())
            change.path.chmod(change.mode)
    return [f"{'removed' if change.text is None else 'wrote'} {change.path.relative_to(root)}" for change in changes]


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python -m pflow.commands._generate [--check]", file=sys.stderr)
        return USAGE
    if not (ROOT / "nodes").is_dir():
        print("pflow.commands._generate: cannot find nodes/: this is not a checkout of pflow", file=sys.stderr)
        return FAILED
    try:
        lines = check(ROOT) if arguments else generate(ROOT)
    except PflowError as error:
        say_error("pflow.commands._generate", error)
        return error.exit
    print("".join(f"{line}\n" for line in lines), end="")
    if arguments and lines:
        print("pflow.commands._generate: 'make generate' brings these up to date", file=sys.stderr)
        return FAILED
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
