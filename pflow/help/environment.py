"""The variables of the environment and the files that a command reads beside its words."""

from __future__ import annotations

from collections.abc import Iterable

from pflow.help.usage import MODEL, Usage

_FLOWS = ("run", "check", "explain", "export", "save", "show", "plan")
_NODES = (*_FLOWS, "import", "nodes", "test-node", "setup", "mcp")

EVERY, STAGE, ASKING = "every command", "a node", "a node with a model"
"""What the tables name beside commands: all of them, every node, every node with a param `model`."""

ENVIRONMENT = (
    ("PATH", "where programs called pflow-NAME are nodes", (*_NODES, "pflow")),
    ("PFLOW_NODES", "directories of your own nodes, with colons between them", (*_NODES, "pflow")),
    ("PFLOW_TRACE", "1 writes an event to stderr when a step starts and ends; the name of a file or directory "
     "writes it there; no value, an empty one or 0 writes none", (STAGE, "run", "mcp")),
    ("TRACEPARENT", "the span of the wider trace that this is part of, as in W3C Trace Context; pflow hands it on",
     (STAGE, "run")),
    ("PFLOW_PLAN_MODEL", "the model that plans, instead of that of PFLOW_MODEL and of llm's default",
     ("plan", "pflow", "mcp")),
    ("PFLOW_MODEL", "the model that plans, where no other is named; the nodes of a flow ask it too",
     ("plan", "pflow", "mcp")),
    ("VISUAL, EDITOR", "the editor for a plan, instead of vi", ("pflow",)),
    ("TMPDIR", "where the file for the editor lies, instead of /tmp", ("pflow",)),
    ("PFLOW_EMBEDDING_MODEL", "the embedding model that finds saved flows, instead of llm's default",
     ("find", "plan", "pflow", "mcp")),
    ("LLM_USER_PATH", "where the llm library keeps its keys, settings and aliases",
     ("find", "plan", "pflow", "mcp", ASKING)),
    ("HOME", "where ~/.local/bin is, into which --command puts a program", ("save", "remove")),
    ("LC_ALL, LC_CTYPE, LANG", "whether the terminal shows UTF-8; otherwise pflow draws lines in ASCII",
     ("explain", "nodes", "list", "show", "find", "plan", "pflow")),
    ("COLUMNS", "the width of the terminal, in columns",
     ("explain", "nodes", "list", "show", "find", "plan", "pflow")),
    ("NO_COLOR", "any value but an empty one turns colours off", (EVERY,)),
    ("CLICOLOR_FORCE", "any value but an empty one or 0 turns colours on, also outside a terminal", (EVERY,)),
    ("TERM", "dumb, or no value, means a terminal without colour and progress", (EVERY,)),
    ("MANPATH, FPATH, XDG_DATA_DIRS, BASH_COMPLETION_USER_DIR",
     "where man and the shells look: setup says what is missing there", ("setup",)),
    ("ZDOTDIR", "where .zshrc is, instead of the home directory", ("setup",)),
    ("XDG_CACHE_HOME", "where plans and the models for TAB are kept, instead of ~/.cache",
     ("run", "nodes", "find", "plan", "pflow", "mcp", ASKING)),
    ("XDG_CONFIG_HOME", "where the settings of llm and of fish are, instead of ~/.config",
     ("setup", "find", "plan", "pflow", "mcp", ASKING)),
    ("XDG_DATA_HOME", "where your own nodes and saved flows are, instead of ~/.local/share",
     (*_NODES, "pflow", "new-node", "list", "remove", "find")),
    ("XDG_STATE_HOME", "where runs are kept, instead of ~/.local/state", ("run", "runs", "trace", "mcp")),
)  # fmt: skip
"""Each variable, what it is for, and what reads it."""

FILES = (
    ("~/.local/share/pflow/nodes/", "your own nodes: NAME.py, or programs called pflow-NAME",
     (*_NODES, "pflow", "new-node")),
    ("~/.local/share/man/", "man pages", ("setup",)),
    ("~/.local/share/bash-completion/completions/", "completions for bash", ("setup",)),
    ("~/.local/share/zsh/site-functions/", "completions for zsh", ("setup",)),
    ("~/.local/share/fish/vendor_conf.d/", "completions for fish", ("setup",)),
    ("~/.local/share/pflow/setup.json", "the list of what setup did, for --undo", ("setup",)),
    ("~/.zshrc", "gets a block of lines with --zshrc, and only then", ("setup",)),
    ("~/.local/share/pflow/flows/", "saved flows: NAME.pflow.json",
     (*_FLOWS, "nodes", "pflow", "list", "remove", "find", "mcp")),
    ("~/.local/share/pflow/flows/old/", "earlier versions of saved flows: NAME.N.pflow.json, the highest N the last",
     ("save", "show", "remove")),
    ("~/.local/bin/", "programs that run saved flows: pflow-NAME, from --command", ("save", "remove")),
    ("~/.local/state/pflow/runs/", "a directory for each run: its flow, snapshot and trace", ("run", "runs", "trace")),
    ("~/.cache/pflow/plans/", "plans: the same sentence is planned once", ("plan", "pflow", "mcp")),
    ("~/.cache/pflow/completion/", "the models that TAB offers",
     ("run", "plan", "pflow", "mcp", ASKING)),
    ("~/.cache/pflow/nodes.json", "what pflow read in the files of nodes", ("nodes", "setup")),
    ("~/.cache/pflow/embeddings/", "the embeddings of saved flows", ("find", "plan", "pflow", "mcp")),
    ("~/.config/io.datasette.llm/", "the keys, settings and aliases of the llm library",
     ("find", "plan", "pflow", "mcp", ASKING)),
)  # fmt: skip


def variables(usage: Usage) -> list[tuple[str, str]]:
    """The variables that a command reads, with what each is for: those of its flags first."""
    own = [(flag.env, f"{flag.doc}, where no flag says it") for flag in usage.flags if flag.env]
    return own + _rows(ENVIRONMENT, usage)


def files(usage: Usage) -> list[tuple[str, str]]:
    """The files that a command reads or writes, with what each is for."""
    return _rows(FILES, usage)


def _rows(table: Iterable[tuple[str, str, tuple[str, ...]]], usage: Usage) -> list[tuple[str, str]]:
    readers = {EVERY, usage.name.removeprefix("pflow ")}
    if usage.is_node:
        readers = {EVERY, STAGE, *[ASKING] * any(flag.values == MODEL for flag in usage.flags)}
    return [(name, text) for name, text, wanted in table if readers.intersection(wanted)]
