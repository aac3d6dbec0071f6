"""pflow: Run a command, a node, a saved flow, steps as a flow, or a flow planned from a sentence.

WORD is a command, a node or tool (pflow llm runs pflow-llm, as a stage of a pipe), or a saved flow, in this order.
pflow help WORD shows the help of each. All but saved flows have a man page: pflow-run(1) describes pflow run.

Steps with :: between them, or one argument with => between its steps, are a flow. It runs as with pflow run: checked
before anything runs, in one process, with a log. One argument can also be a single step, a node's name followed by a
flag or by words in quotes: pflow 'llm "Name a tree"'. A name with a hyphen in it always begins a step: pflow 'read-file
notes.txt'. pflow nodes lists the nodes.

Any other argument with white space in it is a sentence. A model plans a flow from it, which is shown to you to run,
edit or save; pflow 'SENTENCE' --help lists the flags. Without a terminal it runs only with --yes, which allows the
network, and files below this directory. --allow=commands, --allow=paths (any), --allow=DIRECTORY, --allow=mcp-NAME (an
MCP server's tools) and --allow=anything allow more. If the kernel has Landlock (Linux 6.2), commands can write only in
the allowed directories, unless any path is allowed; they can still read anywhere, and change modes and times of files
that are yours. pflow-plan(1) describes pflow plan, which prints the flow without running it.

Templates such as $name are pflow's: single quotes keep the shell from eating them.

\b
cat examples/notes.txt | pflow llm 'Summarize'
pflow 'read-file examples/notes.txt => llm "Summarize"' -r
pflow read-file examples/notes.txt :: shell 'wc -w'
pflow help llm
"""
