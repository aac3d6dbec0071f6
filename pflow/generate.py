"""`make generate`: writes what follows from the nodes, tools and commands; with --check, names what is out of date."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pflow.commands._usages import typed, usages
from pflow.completion.names import LOADER, TABLE
from pflow.errors import BAD_DATA, FAILED, OK, USAGE, PflowError
from pflow.flow.rules import RULES
from pflow.help import man
from pflow.help.usage import Flag
from pflow.source import read_interface
from pflow.terminal.messages import say_error

ROOT = Path(__file__).parent.parent
RULES_PAGE = "pflow-flow.5"

# Every line costs each stage its time: what a launcher imports is all that it does.
NODE_LAUNCHER = '#!python\nfrom pflow.stage.main import main\n\nmain("{name}")\n'
TOOL_LAUNCHER = "#!python\nfrom pflow.{module} import main\n\nmain()\n"


def launchers(root: Path) -> dict[str, str]:
    """The executables: the driver, one for each tool in pflow/plumbing/, one for each node in nodes/."""
    texts = {"pflow": TOOL_LAUNCHER.format(module="commands.main")}
    for tool in modules(root / "pflow" / "plumbing"):
        texts[f"pflow-{_command(tool)}"] = TOOL_LAUNCHER.format(module=f"plumbing.{tool.stem}")
    for node in modules(root / "nodes"):
        name = _command(node)
        if f"pflow-{name}" in texts:
            raise PflowError(f"cannot make 'pflow-{name}' of nodes/{node.name}: a tool has that name", exit=BAD_DATA)
        texts[f"pflow-{name}"] = NODE_LAUNCHER.format(name=name)
    return texts


def table(root: Path) -> dict[str, str]:
    """What TAB knows of commands and tools; it reads the interfaces of nodes themselves."""
    rows = {each.name: [each.summary, _rows(each.flags), _rows(each.arguments)] for each in typed()}
    lines = [f"{json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in rows.items()]
    return {TABLE: "{" + ",\n".join(lines) + "}\n"}


def _rows(flags: list[Flag]) -> list[list[Any]]:
    return [[flag.names, flag.text, flag.group, flag.values, flag.choices, flag.repeats] for flag in flags]


def man_pages(root: Path) -> dict[str, str]:
    return man.files(usages(str(root)))


def loaders(root: Path) -> dict[str, str]:
    """What bash-completion finds by a command's name: a line that loads the shim."""
    return {name: LOADER.format(name=name) for name in launchers(root) if name != "pflow"}


def rules_page(root: Path) -> dict[str, str]:
    """pflow-flow(5), whose table of rules follows from them."""
    file = root / "man" / "man5" / RULES_PAGE
    page = file.read_text() if file.is_file() else ""
    before, first, rest = page.partition(".It Sy \\&PF01\n")
    rows = [[f".It Sy \\&{rule.id}", *man.lines(f"{rule.title} ({rule.otherwise})")] for rule in RULES.values()]
    text = "".join(f"{line}\n" for row in rows for line in row)
    return {RULES_PAGE: "".join([before, text, ".El\n", rest.partition("\n.El\n")[2]])} if first else {}


GENERATORS: tuple[tuple[str, str, Callable[[Path], dict[str, str]]], ...] = (
    ("bin", "*", launchers),
    ("man/man1", "*", man_pages),
    ("man/man5", RULES_PAGE, rules_page),
    ("pflow/completion", TABLE, table),
    ("completions/bash", "pflow-*", loaders),
)
"""A folder, the pattern of the files in it that follow from the sources, and what gives each by its name and text."""


def modules(folder: Path) -> list[Path]:
    """The Python files of a folder, in order; a leading underscore keeps one out."""
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))


def _command(module: Path) -> str:
    return module.stem.replace("_", "-")


def check_interfaces(root: Path) -> None:
    """Parse every node's interface. Raises PflowError (65), with file and line, at the first that is missing or bad."""
    for node in modules(root / "nodes"):
        file = os.path.relpath(node)
        if read_interface(file).open:
            hint = "the docstring of its class has a line 'Interface:', and one item a line after it"
            raise PflowError(f"cannot find an interface in '{file}'", hint=hint, exit=BAD_DATA)


def out_of_date(root: Path) -> dict[Path, str | None]:
    """Each file that is not as generated, and the text that it should have; None for an orphan."""
    found: dict[Path, str | None] = {}
    for folder, pattern, generator in GENERATORS:
        texts = {root / folder / name: text for name, text in generator(root).items()}
        found |= {path: text for path, text in sorted(texts.items()) if not _is_current(path, text)}
        found |= {path: None for path in sorted((root / folder).glob(pattern)) if path not in texts}
    return found


def _is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode() and os.access(path, os.X_OK) == _is_launcher(path)


def _is_launcher(path: Path) -> bool:
    return path.parent.name == "bin"


def check(root: Path) -> list[str]:
    """What is out of date, a line a file."""
    check_interfaces(root)
    found = out_of_date(root)
    words = {
        path: "orphaned" if text is None else "stale" if path.exists() else "missing" for path, text in found.items()
    }
    return [f"{path.relative_to(root)}: {problem}" for path, problem in words.items()]


def generate(root: Path) -> list[str]:
    """Bring every generated file up to date. What was done, a line a file."""
    check_interfaces(root)
    found = out_of_date(root)
    for path, text in found.items():
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            path.chmod(0o755 if _is_launcher(path) else 0o644)
    return [f"{'removed' if text is None else 'wrote'} {path.relative_to(root)}" for path, text in found.items()]


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python -m pflow.generate [--check]", file=sys.stderr)
        return USAGE
    if not (ROOT / "nodes").is_dir():
        print("pflow.generate: cannot find nodes/: this is not a checkout of pflow", file=sys.stderr)
        return FAILED
    try:
        lines = check(ROOT) if arguments else generate(ROOT)
    except PflowError as error:
        say_error("pflow.generate", error, debug=False)
        return error.exit
    print("".join(f"{line}\n" for line in lines), end="")
    if arguments and lines:
        print("pflow.generate: 'make generate' brings these up to date", file=sys.stderr)
        return FAILED
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
