"""Man pages, made from how each command is used, in mdoc: any text as lines that show it as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pflow.catalog.registry import names_in, tool_names
from pflow.help.usage import COMMON, DATA, PARAMS, TITLES, Flag, Usage

DATE = "November 22, 2026"
"""The date of every page: only what a page says changes it."""

_SENTENCES = {DATA: ["What it works on."], PARAMS: ["How it works."]}

ENVIRONMENT = (
    ("PATH", "where programs called pflow-NAME are nodes"),
    ("PFLOW_NODES", "directories of your own nodes, with colons between them"),
    ("PFLOW_ROOT", "a directory that no file of a node or flow is outside of, as with pflow mcp serve --root"),
    ("PFLOW_TRACE", "1 writes an event to stderr when a step starts and ends, and when an item of a batch ends; the "
     "name of a file or directory writes it there; no value, an empty one or 0 writes none"),
    ("TRACEPARENT", "the span of the wider trace that this is part of, as in W3C Trace Context; pflow hands it on"),
    ("PFLOW_CACHE", "off has nothing cached, whatever flags and flows say"),
    ("PFLOW_CACHE_SIZE", "how much room the cache of answers may take: 500M, 2G; 1G where it says nothing"),
    ("PFLOW_PLAN_MODEL", "the model that plans, instead of that of PFLOW_MODEL and of llm's default"),
    ("GITHUB_TOKEN, GH_TOKEN", "the key for GitHub; without one, what gh has"),
    ("ANTHROPIC_API_KEY", "the key that Claude Code uses; with it claude-code takes nothing else of yours"),
    ("GITHUB_API_URL", "where the interface of GitHub is, instead of https://api.github.com"),
    ("PFLOW_MODEL", "the model that plans, where no other is named; the nodes of a flow ask it too"),
    ("LLM_MODEL", "the model where PFLOW_MODEL names none, as for llm itself"),
    ("OPENAI_BASE_URL", "the server that OpenAI's models are asked at; an answer of another one is not taken for its"),
    ("VISUAL, EDITOR", "the editor for a plan, instead of vi"),
    ("TMPDIR", "where the file for the editor lies, instead of /tmp"),
    ("PFLOW_EMBEDDING_MODEL", "the embedding model that finds saved flows, instead of llm's default"),
    ("LLM_USER_PATH", "where the llm library keeps its keys, settings and aliases"),
    ("LLM_LOAD_PLUGINS", "the plugins that the llm library loads, with commas between them, instead of all"),
    ("HOME", "where ~/.local/bin is, into which pflow save --command puts a program"),
    ("LC_ALL, LC_CTYPE, LANG", "whether the terminal shows UTF-8; otherwise pflow draws lines in ASCII"),
    ("COLUMNS", "the width of the terminal, in columns"),
    ("NO_COLOR", "any value but an empty one turns colours off"),
    ("CLICOLOR_FORCE", "any value but an empty one or 0 turns colours on, also outside a terminal"),
    ("TERM", "dumb, or no value, means a terminal without colour and progress"),
    ("MANPATH, XDG_DATA_DIRS", "where man and the shells look: pflow setup says what is missing there"),
    ("ZDOTDIR", "where .zshrc is, instead of the home directory"),
    ("XDG_CACHE_HOME", "where answers, plans and the models for TAB are kept, instead of ~/.cache"),
    ("XDG_CONFIG_HOME", "where the settings of llm and your prices of models are, instead of ~/.config"),
    ("XDG_DATA_HOME", "where your own nodes and saved flows are, instead of ~/.local/share"),
    ("XDG_STATE_HOME", "where runs are kept, instead of ~/.local/state"),
)  # fmt: skip
"""Each variable that pflow or a node reads, and what it is for."""

FILES = (
    ("~/.local/share/pflow/nodes/", "your own nodes: NAME.py, or programs called pflow-NAME"),
    ("~/.local/share/man/", "man pages"),
    ("~/.local/share/bash-completion/completions/", "completions for bash"),
    ("~/.local/share/zsh/site-functions/", "completions for zsh"),
    ("~/.local/share/fish/vendor_conf.d/", "completions for fish"),
    ("~/.local/share/pflow/setup.json", "the list of what pflow setup did, for --undo"),
    ("~/.zshrc", "gets a block of lines with pflow setup --zshrc, and only then"),
    ("~/.local/share/pflow/flows/", "saved flows: NAME.pflow.json, and their lock files: NAME.lock.json"),
    ("~/.local/share/pflow/flows/old/", "earlier versions of saved flows: NAME.N.pflow.json, the highest N the last"),
    ("~/.local/bin/", "programs that run saved flows: pflow-NAME, from pflow save --command"),
    ("~/.local/state/pflow/runs/", "a directory for each run: its flow, snapshot, trace and keys of the cache"),
    ("~/.local/state/pflow/locks/", "what --if-running of pflow run knows of flows that are going"),
    ("~/.cache/pflow/results/", "answers of nodes, and digests of files: pflow cache looks after them"),
    ("~/.cache/pflow/plans/", "plans: the same sentence is planned once"),
    ("~/.cache/pflow/completion/", "the models that TAB offers"),
    ("~/.cache/pflow/nodes.json", "what pflow read in the files of nodes"),
    ("~/.cache/pflow/embeddings.db", "the embeddings of saved flows"),
    ("~/.config/pflow/prices.toml", "your prices of models, in dollars for a million tokens: "
     '"MODEL" = { input = 0.5, output = 1.5 }'),
    ("~/.config/io.datasette.llm/", "the keys, settings and aliases of the llm library"),
)  # fmt: skip


def files(usages: list[Usage]) -> dict[str, str]:
    """The pages by name. Each depends on its own usage alone, the driver's on those of commands and tools."""
    return {f"{_page_name(usage)}.1": _page(usage, usages) for usage in usages}


def _page(usage: Usage, usages: list[Usage]) -> str:
    name = _page_name(usage)
    shown = re.sub(r"[^A-Za-z0-9._-]", "_", name).upper()
    rows = [f'.\\" Made by pflow from how the command is declared.\n.Dd {DATE}', f".Dt {shown} 1", ".Os"]
    rows += [".Sh NAME", f".Nm {word(name)}", f".Nd {_about(usage)}"]
    for title, section in _sections(usage, usages):
        rows += [heading(title), *section] if section else []
    return "\n".join([*rows, ""])


def _sections(usage: Usage, usages: list[Usage]) -> Iterator[tuple[str, list[str]]]:
    """The sections in their order, each with its lines; those without lines are left out of the page."""
    titled = [note.partition("\n") for note in usage.notes if note.partition("\n")[0].endswith(":")]
    notes = [note for note in usage.notes if not note.partition("\n")[0].endswith(":")]
    yield "SYNOPSIS", [line for form in usage.synopsis for line in _synopsis(usage.name, form)]
    yield "DESCRIPTION", paragraphs("\n\n".join(filter(None, [usage.summary, usage.description, *notes])))
    for group, flags in usage.groups():
        rows = listing([(_tag(flag), flag.text) for flag in flags], compact=group == COMMON)
        yield TITLES[group].partition(" (")[0].upper(), _SENTENCES.get(group, []) + rows
    yield "WRITES", listing([(f"Va {word(key)}", text) for key, text in usage.writes])
    for title, _, text in titled:
        yield title.removesuffix(":").upper(), paragraphs(text)
    if usage.name == "pflow":  # nodes come and go: pflow nodes lists them
        yield "COMMANDS", _names("pflow ", usages)
        yield "TOOLS", _names("pflow-", [each for each in usages if not each.is_node])
    yield "ACTIONS", lines(usage.actions)
    yield "EFFECTS", [] if usage.effects is None else lines(", ".join(usage.effects) or "none")
    yield "REPEATS", lines(usage.repeats)
    own = [(flag.env, f"gives {flag.names[-1]} where no flag does") for flag in usage.flags if flag.env]
    rest = [] if usage.name == "pflow" else lines("pflow(1) lists all variables and files that pflow reads.")
    variables = own if rest else ENVIRONMENT
    yield "ENVIRONMENT", listing([(_joined("Ev", names.split(", ")), text) for names, text in variables]) + rest
    yield "FILES", [] if rest else listing([(f"Pa {word(path)}", text) for path, text in FILES])
    yield "EXIT STATUS", lines("0 when all is done; pflow-exit(7) tells what each other code means.")
    yield "EXAMPLES", literal([line for example in usage.examples for line in folded(example)])
    yield "SEE ALSO", _see_also(usage)


def _page_name(usage: Usage) -> str:
    return usage.name if usage.is_node else usage.name.replace(" ", "-")


def _about(usage: Usage) -> str:
    """The one line that apropos finds."""
    text = " ".join(usage.summary.split()).partition(". ")[0].removesuffix(".").strip()
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return word(text).replace("\\ ", " ") if text else "a node of pflow"


def _synopsis(name: str, form: str) -> list[str]:
    """A form in which the command is typed, its name as such."""
    rest = form.removeprefix(name).strip().replace("…", "...")
    return [f".Nm {word(name)}", *[_first(escaped(rest))] * bool(rest)]


def _tag(flag: Flag) -> str:
    """The names of a flag and its value; a secret, which has no flag, goes by its name."""
    if not flag.names[0].startswith("-"):
        return f"Va {word(flag.names[0])}"
    value = f" Ar {word(flag.metavar)}" if flag.words else f" Ns Op = Ns Ar {word(flag.metavar)}"
    return _joined("Fl", [name[1:] for name in flag.names]) + value * bool(flag.metavar)


def _joined(macro: str, names: list[str]) -> str:
    return " , ".join(f"{macro} {word(name)}" for name in names)


def _names(prefix: str, usages: list[Usage]) -> list[str]:
    found = [(each.name, each.summary) for each in usages if each.name.startswith(prefix)]
    return listing([(f"Cm {word(name.removeprefix('pflow '))}", text) for name, text in found])


def _see_also(usage: Usage) -> list[str]:
    """Other pages, as text: of an Xr, mandoc says that it finds no such page until pflow's are installed for all."""
    said = re.findall(r"pflow[ -]([a-z-]+)", "\n".join([usage.summary, usage.description, *usage.examples]))
    others = ["exit(7)", "intro(7)", *(["flow(5)", "agents(7)"] if " " in usage.name else ["node(7)", "store(7)"])]
    others += [f"{name}(1)" for name in {*names_in("commands"), *tool_names()} & set(said)]
    pages = {"pflow(1)", *(f"pflow-{each}" for each in others)} - {f"{_page_name(usage)}(1)"}
    return lines(", ".join(sorted(pages, key=lambda page: (page[-2], page))))


# What roff would take for something else, or print as a typographer would.
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", '"': "\\(dq", "^": "\\(ha", "~": "\\(ti"}

_DELIMITERS = frozenset("([.,:;)]?!|")
_OF_CODE = frozenset("/_=$<>{}[(\\@#|")
_STANDARD = ("NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO")

_WIDTH = 78
"""Where our own lines break; it does not show."""


def escaped(text: str) -> str:
    """A text inside a line."""
    return "".join([_ESCAPES.get(char) or (char if char.isascii() else f"\\[u{ord(char):04X}]") for char in text])


_READ = {**{made: char for char, made in _ESCAPES.items()}, "\\&": "", "\\%": "", "\\fB": "", "\\fP": "", "\\ ": " "}


def as_text(page: str) -> str:
    """One of our pages as plain text, where no man is there to show it."""
    rows = []
    for line in page.split("\n"):
        macro, _, rest = line.partition(" ") if line.startswith(".") else ("", "", line)
        shown = re.sub(r"\\\[u([0-9A-F]+)\]|\\fB|\\fP|\\\(..|\\.", _shown, rest)
        if macro in (".Sh", ".Ss", ".Pp", ".Bd", ".Bl"):
            rows.append("")
        if shown and macro in ("", ".Sh", ".Ss", ".Nm", ".Nd", ".It", ".Pa"):
            rows.append({".It": shown.removeprefix("Sy ").removeprefix("Pa "), ".Sh": shown}.get(macro, f"  {shown}"))
    return "\n".join(rows).lstrip("\n") + "\n"


def _shown(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _READ[escape[0]]


def word(text: str) -> str:
    """A text as one word of a macro's line, which is neither a macro there nor begins or ends with a delimiter."""
    made = escaped(text).replace(" ", "\\ ")
    return "\\&" + made + "\\&" * (made[-1:] in _DELIMITERS)


def heading(title: str) -> str:
    """A section's heading. What ends ours is for mandoc, which takes ACTIONS for AUTHORS, mistyped."""
    return f".Sh {escaped(title)}" + "\\&" * (title not in _STANDARD)


def lines(text: str) -> list[str]:
    """A text to be filled: a line ends with each sentence, and where it gets long."""
    made: list[str] = []
    line = ""
    for each in map(_unbroken, text.split()):
        if line and (len(line) + len(each) >= _WIDTH or _ends_sentence(line, each)):
            made.append(line)
            line = ""
        line = f"{line} {each}" if line else _first(each)
    return [*made, line] if line else made


def _unbroken(word: str) -> str:
    """A word of a text; a path or the like is not hyphenated."""
    return "\\%" * (not _OF_CODE.isdisjoint(word)) + escaped(word)


def _ends_sentence(line: str, following: str) -> bool:
    return line.endswith((".", "!", "?")) and not line.endswith("..") and not following[:1].islower()


def _first(text: str) -> str:
    return "\\&" + text if text.startswith((".", "'")) else text


def literal(text: list[str], *, offset: bool = False) -> list[str]:
    """Lines as they are; nothing for none."""
    if not text:
        return []
    shown = [_first(escaped(line.rstrip())) for line in text]
    return [".Bd -literal" + " -offset indent" * offset, *shown, ".Ed"]


def listing(rows: list[tuple[str, str]], width: str = "Ds", *, compact: bool = False) -> list[str]:
    """A list of tags, each already in mdoc, and a text for each; nothing for none."""
    if not rows:
        return []
    made = [f".Bl -tag -width {width}" + " -compact" * compact]
    for tag, text in rows:
        made += [f".It {tag}", *lines(text)]
    return [*made, ".El"]


_LONGEST = 16
"""Characters of a tag that has its text beside it."""


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each after the first with a space before it."""
    made: list[str] = []
    for each in filter(None, (part.strip("\n") for part in text.split("\n\n"))):
        prose, block = _split(each.split("\n"))
        if prose:
            made += [".Pp"] * bool(made) + lines(" ".join(prose))
        if block:
            made += _block(block, [".Pp"] * bool(made))
    return made


def _split(rows: list[str]) -> tuple[list[str], list[str]]:
    """A paragraph's lines, and those indented ones that it ends with."""
    start = next((n for n in range(len(rows)) if all(row.startswith("  ") for row in rows[n:])), len(rows))
    return rows[:start], rows[start:]


def _block(rows: list[str], space: list[str]) -> list[str]:
    pairs = [tuple(map(str.strip, row.strip().partition("  ")))[::2] for row in rows]
    if not all(tag and text for tag, text in pairs):
        return literal([row[2:] for row in rows], offset=True)
    width = max(len(tag) for tag, _ in pairs)
    shape = f"{width + 2}n" if width <= _LONGEST else "Ds"
    return [*space, *listing([(f"Sy {word(tag)}", text) for tag, text in pairs], shape, compact=True)]


_WIDEST = 72
"""How wide an example may be on a page of 80 columns."""

_SHELL_WORD = re.compile(r"""(?:\\.|'[^']*'?|"(?:\\.|[^"\\])*"?|[^ '"\\])+""", re.DOTALL)


def folded(command: str) -> list[str]:
    """A command in lines that are the same command to a shell: a long one goes on after each | of a pipe."""
    if len(command) <= _WIDEST:
        return [command]
    first, *words = _SHELL_WORD.findall(command)
    rows = [first]
    for each in words:
        is_piped = rows[-1].endswith(" |")
        if not is_piped and len(rows[-1]) + 1 + len(each) <= _WIDEST - 2:
            rows[-1] += f" {each}"
        else:
            rows[-1] += "" if is_piped else " \\"
            rows.append(f"    {each}")
    return rows
