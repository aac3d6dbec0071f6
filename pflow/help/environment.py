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
    ("PFLOW_TRACE", "1 writes an event to stderr when a step starts and ends; the name of a file or of a directory "
     "writes it there; unset, empty or 0 writes none", (STAGE, "run", "mcp")),
    ("TRACEPARENT", "the span of a wider trace that this is a part of, as W3C Trace Context has it; it is handed on",
     (STAGE, "run")),
    ("PFLOW_PLAN_MODEL", "the model that plans, instead of that of PFLOW_MODEL and of llm's default",
     ("plan", "pflow", "mcp")),
    ("PFLOW_MODEL", "the model that plans, where no other is named; the nodes of a flow ask it too",
     ("plan", "pflow", "mcp")),
    ("VISUAL, EDITOR", "the editor for a plan, instead of vi", ("pflow",)),
    ("TMPDIR", "where the file lies that the editor has, instead of /tmp", ("pflow",)),
    ("PFLOW_EMBEDDING_MODEL", "the embedding model that finds saved flows, instead of llm's default",
     ("find", "plan", "pflow", "mcp")),
    ("LLM_USER_PATH", "where the llm library keeps its keys, settings and aliases",
     ("find", "plan", "pflow", "mcp", ASKING)),
    ("HOME", "where ~/.local/bin is, into which --command puts a program", ("save", "remove")),
    ("LC_ALL, LC_CTYPE, LANG", "whether the terminal shows UTF-8; without it, lines are drawn in ASCII",
     ("explain", "nodes", "list", "show", "find", "plan", "pflow")),
    ("COLUMNS", "how wide the terminal is taken to be",
     ("explain", "nodes", "list", "show", "find", "plan", "pflow")),
    ("NO_COLOR", "if it is not empty, nothing is coloured", (EVERY,)),
    ("CLICOLOR_FORCE", "if it is neither empty nor 0, everything is coloured, not on a terminal alone", (EVERY,)),
    ("TERM", "dumb, or unset, is a terminal without colour and without progress", (EVERY,)),
    ("MANPATH, FPATH, XDG_DATA_DIRS, BASH_COMPLETION_USER_DIR",
     "where man and the shells look: what is missing there is said", ("setup",)),
    ("ZDOTDIR", "where .zshrc is, instead of the home directory", ("setup",)),
    ("XDG_CACHE_HOME", "where plans and what TAB offers are kept, instead of ~/.cache",
     ("run", "nodes", "setup", "save", "remove", "find", "plan", "pflow", "mcp", ASKING)),
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
    ("~/.local/share/pflow/setup.json", "what setup did, for --undo", ("setup",)),
    ("~/.zshrc", "is given a block of lines by --zshrc, and only then", ("setup",)),
    ("~/.local/share/pflow/flows/", "saved flows: NAME.pflow.json",
     (*_FLOWS, "nodes", "pflow", "list", "remove", "find", "mcp")),
    ("~/.local/share/pflow/flows/old/", "what saved flows were before: NAME.N.pflow.json, the highest N the last",
     ("save", "show", "remove")),
    ("~/.local/bin/", "programs that run saved flows: pflow-NAME, from --command", ("save", "remove")),
    ("~/.local/state/pflow/runs/", "a directory for each run: its flow, snapshot and trace", ("run", "runs", "trace")),
    ("~/.cache/pflow/plans/", "what was planned: the same sentence is planned once", ("plan", "pflow", "mcp")),
    ("~/.cache/pflow/completion/", "the models that TAB offers",
     ("run", "nodes", "setup", "save", "remove", ASKING)),
    ("~/.cache/pflow/nodes.json", "what was read of the files of nodes", ("nodes", "setup")),
    ("~/.cache/pflow/embeddings/", "what the embedding model said of saved flows", ("find", "plan", "pflow", "mcp")),
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
