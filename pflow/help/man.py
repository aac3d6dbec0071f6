"""Man pages, made from how each command is used."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pflow.catalog.registry import names_in, tool_names
from pflow.help.mdoc import at_line_start, escaped, folded, heading, lines, listing, literal, paragraphs, word
from pflow.help.usage import COMMON, DATA, PARAMS, TITLES, CommandUsage, Flag

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


def files(usages: list[CommandUsage]) -> dict[str, str]:
    """The pages by name. Each depends on its own usage alone, the driver's on those of commands and tools."""
    return {f"{_page_name(usage)}.1": _page(usage, usages) for usage in usages}


def _page(usage: CommandUsage, usages: list[CommandUsage]) -> str:
    name = _page_name(usage)
    shown = re.sub(r"[^A-Za-z0-9._-]", "_", name).upper()
    rows = [f'.\\" Made by pflow from how the command is declared.\n.Dd {DATE}', f".Dt {shown} 1", ".Os"]
    rows += [".Sh NAME", f".Nm {word(name)}", f".Nd {_about(usage)}"]
    for title, section in _sections(usage, usages):
        rows += [heading(title), *section] if section else []
    return "\n".join([*rows, ""])


def _sections(usage: CommandUsage, usages: list[CommandUsage]) -> Iterator[tuple[str, list[str]]]:
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


def _page_name(usage: CommandUsage) -> str:
    return usage.name if usage.is_node else usage.name.replace(" ", "-")


def _about(usage: CommandUsage) -> str:
    """The one line that apropos finds."""
    text = " ".join(usage.summary.split()).partition(". ")[0].removesuffix(".").strip()
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return word(text).replace("\\ ", " ") if text else "a node of pflow"


def _synopsis(name: str, form: str) -> list[str]:
    """A form in which the command is typed, its name as such."""
    rest = form.removeprefix(name).strip().replace("…", "...")
    return [f".Nm {word(name)}", *[at_line_start(escaped(rest))] * bool(rest)]


def _tag(flag: Flag) -> str:
    """The names of a flag and its value; a secret, which has no flag, goes by its name."""
    if not flag.names[0].startswith("-"):
        return f"Va {word(flag.names[0])}"
    value = f" Ar {word(flag.metavar)}" if flag.words else f" Ns Op = Ns Ar {word(flag.metavar)}"
    return _joined("Fl", [name[1:] for name in flag.names]) + value * bool(flag.metavar)


def _joined(macro: str, names: list[str]) -> str:
    return " , ".join(f"{macro} {word(name)}" for name in names)


def _names(prefix: str, usages: list[CommandUsage]) -> list[str]:
    found = [(each.name, each.summary) for each in usages if each.name.startswith(prefix)]
    return listing([(f"Cm {word(name.removeprefix('pflow '))}", text) for name, text in found])


def _see_also(usage: CommandUsage) -> list[str]:
    """Other pages, as text: of an Xr, mandoc says that it finds no such page until pflow's are installed for all."""
    said = re.findall(r"pflow[ -]([a-z-]+)", "\n".join([usage.summary, usage.description, *usage.examples]))
    others = ["exit(7)", "intro(7)", *(["flow(5)", "agents(7)"] if " " in usage.name else ["node(7)", "store(7)"])]
    others += [f"{name}(1)" for name in {*names_in("commands"), *tool_names()} & set(said)]
    pages = {"pflow(1)", *(f"pflow-{each}" for each in others)} - {f"{_page_name(usage)}(1)"}
    return lines(", ".join(sorted(pages, key=lambda page: (page[-2], page))))
