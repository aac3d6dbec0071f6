"""Man pages: made from the spec of each command, in mdoc, the markup of man; and turned into plain text."""

import re
from collections.abc import Iterator

from pflow.catalog.registry import names_in
from pflow.help.spec import COMMON, DATA, PARAMS, TITLES, CommandSpec, field_text, metavar, word_count
from pflow.interface.interface import Field

DATE = "November 22, 2026"
"""The date of every page: the day of the build would change all pages at each build."""

_SENTENCES = {DATA: ["What it works on."], PARAMS: ["How it works."]}

ENVIRONMENT = (
    ("PATH", "directories in which programs called pflow-NAME are nodes"),
    ("PFLOW_NODES", "directories of your own nodes, separated by colons"),
    ("PFLOW_ROOT", "the directory that files of nodes and flows must be in, as with pflow mcp serve --root"),
    ("PFLOW_TRACE", "1 writes an event to stderr when a step starts and ends, and when an item of a batch ends; the "
     "name of a file or directory writes it there; unset, empty or 0 writes none"),
    ("TRACEPARENT", "the span of the wider trace that this is part of, as in W3C Trace Context; pflow passes it on"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS", "where pflow trace --send sends spans, its headers"),
    ("PFLOW_CACHE", "off turns the cache off, whatever flags and flows say"),
    ("PFLOW_CACHE_SIZE", "the size limit of the cache of answers: 500M, 2G; by default 1G"),
    ("PFLOW_PLAN_MODEL", "the model that plans, instead of PFLOW_MODEL and llm's default"),
    ("GITHUB_TOKEN, GH_TOKEN", "the key for GitHub; by default the key of gh"),
    ("ANTHROPIC_API_KEY", "the key that Claude Code uses; with it claude-code ignores your login and settings"),
    ("GH_REPO", "the repository on GitHub, as OWNER/NAME, instead of that of the remote origin"),
    ("GIT_SSH_COMMAND, GIT_SSH", "git's ssh, which is asked for the host that an alias in the remote's URL stands for"),
    ("GITHUB_API_URL", "the address of GitHub's API, instead of https://api.github.com"),
    ("PFLOW_MODEL", "the default model of the planner and of the nodes in a flow"),
    ("LLM_MODEL", "the default model if PFLOW_MODEL is not set, as for llm itself"),
    ("OPENAI_BASE_URL", "the server of OpenAI's models; cached answers of another server are not used for it"),
    ("OLLAMA_HOST", "the server of llm-ollama's models, which cost nothing if it is this machine or unset"),
    ("HTTP_PROXY, HTTPS_PROXY, ALL_PROXY", "the proxies, of http or socks5; none is used for this machine"),
    ("NO_PROXY", "the hosts that are reached without a proxy; if set, it must list this machine, too"),
    ("SSL_CERT_FILE, SSL_CERT_DIR", "the trusted certificates for https, instead of this machine's"),
    ("VISUAL, EDITOR", "the editor for a plan, instead of vi"),
    ("TMPDIR", "the directory of the editor's file, instead of /tmp"),
    ("PFLOW_EMBEDDING_MODEL", "the embedding model that finds saved flows, instead of llm's default"),
    ("LLM_USER_PATH", "the directory of the llm library's keys, settings and aliases"),
    ("LLM_LOAD_PLUGINS", "the plugins that the llm library loads, separated by commas, instead of all"),
    ("HOME", "the parent of ~/.local/bin, into which pflow save --command puts a program"),
    ("LC_ALL, LC_CTYPE, LANG", "the locale; unless it is UTF-8, pflow draws lines in ASCII"),
    ("COLUMNS", "the width of the terminal, in columns"),
    ("NO_COLOR", "turns colours off if it is not empty"),
    ("CLICOLOR_FORCE", "turns colours on, even outside a terminal, if it is neither empty nor 0"),
    ("TERM", "dumb or unset means a terminal without colour and progress"),
    ("MANPATH, XDG_DATA_DIRS", "the directories that man and the shells search: pflow setup says what is missing"),
    ("ZDOTDIR", "the directory of .zshrc, instead of the home directory"),
    ("XDG_CACHE_HOME", "the parent of kept answers, plans and the models for TAB, instead of ~/.cache"),
    ("XDG_CONFIG_HOME", "the parent of llm's settings and your prices of models, instead of ~/.config"),
    ("XDG_DATA_HOME", "the parent of your own nodes and saved flows, instead of ~/.local/share"),
    ("XDG_RUNTIME_DIR", "the parent of the sockets for MCP servers, instead of the temporary directory"),
    ("PFLOW_BROKER", "a run's own socket for MCP servers, which it sets for its children"),
    ("CODEX_HOME", "the directory of Codex's config.toml, for pflow mcp add --from=codex"),
    ("XDG_STATE_HOME", "the parent of the kept runs, instead of ~/.local/state"),
)  # fmt: skip
"""Each variable that pflow or a node reads, and its purpose."""

FILES = (
    ("~/.local/share/pflow/nodes/", "your own nodes: NAME.py, or programs called pflow-NAME"),
    ("~/.local/share/man/", "man pages"),
    ("~/.local/share/bash-completion/completions/", "completions for bash"),
    ("~/.local/share/zsh/site-functions/", "completions for zsh"),
    ("~/.local/share/fish/vendor_conf.d/", "completions for fish"),
    ("~/.local/share/pflow/setup.json", "the changes that pflow setup made, for --undo"),
    ("~/.bashrc, ~/.zshrc, ~/.config/fish/config.fish", "get lines from pflow setup, if their shell needs them"),
    ("~/.local/share/pflow/flows/", "saved flows: NAME.pflow.json, and their lock files: NAME.lock.json"),
    ("~/.local/share/pflow/flows/old/", "earlier versions of saved flows: NAME.N.pflow.json, the highest N is newest"),
    ("~/.local/bin/", "programs that run saved flows: pflow-NAME, from pflow save --command"),
    ("~/.local/state/pflow/runs/", "a directory for each run: its flow, snapshot, trace and keys of the cache"),
    ("~/.local/state/pflow/locks/", "the locks of running flows, for --if-running of pflow run"),
    ("~/.cache/pflow/results/", "answers of nodes, and digests of files: pflow cache manages them"),
    ("~/.cache/pflow/plans/", "plans: the same sentence is planned once"),
    ("~/.cache/pflow/completion/", "the models that TAB offers"),
    ("~/.cache/pflow/nodes.json", "facts from the files of nodes"),
    ("~/.cache/pflow/embeddings.db", "the embeddings of saved flows"),
    ("~/.config/pflow/prices.toml", "your prices of models, in dollars per million tokens: "
     '"MODEL" = { input = 0.5, output = 1.5 }'),
    ("~/.config/io.datasette.llm/", "the keys, settings and aliases of the llm library"),
)  # fmt: skip

# roff would interpret these characters, or print typographic ones instead, which a shell does not understand.
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", '"': "\\(dq", "^": "\\(ha", "~": "\\(ti"}
_DELIMITERS = frozenset("([.,:;)]?!|")
_OF_CODE = frozenset("/_=$<>{}[(\\@#|")
_STANDARD = ("NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO")
_WIDTH = 78
"""The width at which lines of the source are broken; man fills the lines anew."""
_READ = {**{made: char for char, made in _ESCAPES.items()}, "\\&": "", "\\%": "", "\\fB": "", "\\fP": "", "\\ ": " "}
_LONGEST = 16
"""The most characters of a tag whose text stands beside it."""
_WIDEST = 72
"""The width of an example on a page of 80 columns."""
_SHELL_WORD = re.compile(r"""(?:\\.|'[^']*'?|"(?:\\.|[^"\\])*"?|[^ '"\\])+""", re.DOTALL)


def files(specs: list[CommandSpec]) -> dict[str, str]:
    """Return the pages by name. A page depends on its own spec; the driver's page also on the specs of all commands."""
    return {f"{_page_name(spec)}.1": _page(spec, specs) for spec in specs}


def _page(spec: CommandSpec, specs: list[CommandSpec]) -> str:
    name = _page_name(spec)
    shown = re.sub(r"[^A-Za-z0-9._-]", "_", name).upper()
    rows = [f'.\\" Made by pflow from how the command is declared.\n.Dd {DATE}', f".Dt {shown} 1", ".Os"]
    rows += [".Sh NAME", f".Nm {word(name)}", f".Nd {_about(spec)}"]
    for title, section in _sections(spec, specs):
        rows += [heading(title), *section] if section else []
    return "\n".join([*rows, ""]).replace("\\[u2026]", "\\&...")  # a terminal without UTF-8 has no …


def _sections(spec: CommandSpec, specs: list[CommandSpec]) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections in order, each with its lines; a section without lines is omitted."""
    titled = [note.partition("\n") for note in spec.notes if note.partition("\n")[0].endswith(":")]
    notes = [note for note in spec.notes if not note.partition("\n")[0].endswith(":")]
    yield "SYNOPSIS", [line for form in spec.synopsis for line in _synopsis(spec.name, form)]
    yield "DESCRIPTION", paragraphs("\n\n".join(filter(None, [spec.summary, spec.description, *notes])))
    for group, flags in spec.groups():
        rows = listing([(_tag(flag), field_text(flag)) for flag in flags], compact=group == COMMON)
        yield TITLES[group].partition(" (")[0].upper(), _SENTENCES.get(group, []) + rows
    yield "WRITES", listing([(f"Va {word(key)}", text) for key, text in spec.writes])
    for title, _, text in titled:
        yield title.removesuffix(":").upper(), paragraphs(text)
    if spec.name == "pflow":  # not the nodes: users add some, and `pflow nodes` lists them
        yield "COMMANDS", _names("pflow ", specs)
        yield "TOOLS", _names("pflow-", [each for each in specs if not each.is_node])
    yield "ACTIONS", lines(spec.actions)
    yield "EFFECTS", [] if spec.effects is None else lines(", ".join(spec.effects) or "none")
    yield "REPEATS", lines(spec.repeats)
    own = [(flag.env, f"the default of {flag.names[-1]}") for flag in spec.flags if flag.env]
    rest = [] if spec.name == "pflow" else lines("pflow(1) lists all variables and files that pflow reads.")
    variables = own if rest else ENVIRONMENT
    yield "ENVIRONMENT", listing([(_joined("Ev", names.split(", ")), text) for names, text in variables]) + rest
    yield "FILES", [] if rest else listing([(f"Pa {word(path)}", text) for path, text in FILES])
    yield "EXIT STATUS", lines("0 on success; pflow-exit(7) explains all other codes.")
    yield "EXAMPLES", literal([line for example in spec.examples for line in folded(example)])
    yield "SEE ALSO", _see_also(spec)


def _page_name(spec: CommandSpec) -> str:
    return spec.name if spec.is_node else spec.name.replace(" ", "-")


def _about(spec: CommandSpec) -> str:
    """Return the line about the command that apropos shows."""
    text = " ".join(spec.summary.split()).partition(". ")[0].removesuffix(".").strip()
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return word(text).replace("\\ ", " ") if text else "a node of pflow"


def _synopsis(name: str, form: str) -> list[str]:
    """Return a line of the synopsis, with the name of the command in its macro."""
    rest = form.removeprefix(name).strip().replace("…", "...")
    return [f".Nm {word(name)}", *[at_line_start(escaped(rest))] * bool(rest)]


def _tag(flag: Field) -> str:
    """Return the names of a flag and of its value; for a secret, which has no flag, its own name."""
    names, value = flag.names, metavar(flag)
    if not names[0].startswith("-"):
        return f"Va {word(names[0])}"
    shown = f" Ar {word(value)}" if word_count(flag) else f" Ns Op = Ns Ar {word(value)}"
    return _joined("Fl", [name[1:] for name in names]) + shown * bool(value)


def _joined(macro: str, names: list[str]) -> str:
    return " , ".join(f"{macro} {word(name)}" for name in names)


def _names(prefix: str, specs: list[CommandSpec]) -> list[str]:
    found = [(each.name, each.summary) for each in specs if each.name.startswith(prefix)]
    return listing([(f"Cm {word(name.removeprefix('pflow '))}", text) for name, text in found])


def _see_also(spec: CommandSpec) -> list[str]:
    """Return the names of other pages as text, since mandoc warns of an Xr to a page not installed for all users."""
    said = re.findall(r"pflow[ -]([a-z-]+)", "\n".join([spec.summary, spec.description, *spec.examples]))
    others = ["exit(7)", "intro(7)", *(["flow(5)", "agents(7)"] if " " in spec.name else ["node(7)", "store(7)"])]
    others += [f"{name}(1)" for name in {*names_in("commands"), *names_in("store_commands")} & set(said)]
    pages = {"pflow(1)", *(f"pflow-{each}" for each in others)} - {f"{_page_name(spec)}(1)"}
    return lines(", ".join(sorted(pages, key=lambda page: (page[-2], page))))


def escaped(text: str) -> str:
    """Escape a text inside a line."""
    return "".join([_ESCAPES.get(char) or (char if char.isascii() else f"\\[u{ord(char):04X}]") for char in text])


def as_text(page: str) -> str:
    """Return one of our pages as plain text, for systems without man."""
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
    """Escape a text so that it is one word in a macro's line, and neither a macro nor a delimiter."""
    made = escaped(text).replace(" ", "\\ ")
    return "\\&" + made + "\\&" * (made[-1:] in _DELIMITERS)


def heading(title: str) -> str:
    """Return a section's heading. Our own titles end in \\&: mandoc takes ACTIONS for a misspelt AUTHORS."""
    return f".Sh {escaped(title)}" + "\\&" * (title not in _STANDARD)


def lines(text: str) -> list[str]:
    """Split a text into source lines: mdoc wants a line for each sentence. Break long lines."""
    made: list[str] = []
    line = ""
    for each in map(_unbroken, text.split()):
        is_sentence = line.endswith((".", "!", "?")) and not line.endswith("..") and not each[:1].islower()
        if line and (is_sentence or len(line) + len(each) >= _WIDTH):
            made.append(line)
            line = ""
        line = f"{line} {each}" if line else at_line_start(each)
    return [*made, line] if line else made


def _unbroken(word: str) -> str:
    """Escape a word of a text; forbid hyphens in a path and the like."""
    return "\\%" * (not _OF_CODE.isdisjoint(word)) + escaped(word)


def at_line_start(text: str) -> str:
    """Keep a text that begins a line from being read as a macro."""
    return "\\&" + text if text.startswith((".", "'")) else text


def literal(text: list[str], *, offset: bool = False) -> list[str]:
    """Return the source that shows these lines verbatim; empty without lines."""
    if not text:
        return []
    shown = [at_line_start(escaped(line.rstrip())) for line in text]
    return [".Bd -literal" + " -offset indent" * offset, *shown, ".Ed"]


def listing(rows: list[tuple[str, str]], width: str = "Ds", *, compact: bool = False) -> list[str]:
    """Return a list of tags, each already in mdoc, with a text for each; empty without tags."""
    if not rows:
        return []
    made = [f".Bl -tag -width {width}" + " -compact" * compact]
    for tag, text in rows:
        made += [f".It {tag}", *lines(text)]
    return [*made, ".El"]


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, separated by vertical space."""
    made: list[str] = []
    for each in filter(None, (part.strip("\n") for part in text.split("\n\n"))):
        rows = each.split("\n")
        start = next((n for n in range(len(rows)) if all(row.startswith("  ") for row in rows[n:])), len(rows))
        if start:
            made += [".Pp"] * bool(made) + lines(" ".join(rows[:start]))
        if rows[start:]:
            made += _block(rows[start:], [".Pp"] * bool(made))
    return made


def _block(rows: list[str], space: list[str]) -> list[str]:
    pairs = [tuple(map(str.strip, row.strip().partition("  ")))[::2] for row in rows]
    if not all(tag and text for tag, text in pairs):
        return literal([row[2:] for row in rows], offset=True)
    width = max(len(tag) for tag, _ in pairs)
    shape = f"{width + 2}n" if width <= _LONGEST else "Ds"
    return [*space, *listing([(f"Sy {word(tag)}", text) for tag, text in pairs], shape, compact=True)]


def folded(command: str) -> list[str]:
    """Split a long command into lines that a shell reads as the same command, breaking after each | of a pipe."""
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
