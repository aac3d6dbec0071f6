# What the shell tests stand on: the installed executables, a directory a test, two shells, a terminal, a server for models.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0
type -P ps pkill >/dev/null && export BATS_TEST_TIMEOUT=120 # by these bats ends a test
PYTHON=$(dirname "$(command -v pflow)")/python
NOTES=$(realpath "$BATS_TEST_DIRNAME/../../examples/notes.txt")
export PYTHON NOTES HOME=${BATS_TEST_TMPDIR:-${BATS_FILE_TMPDIR:-$BATS_RUN_TMPDIR}}
export LLM_USER_PATH=${PEER-$HOME}/llm PFLOW_MODEL=${PEER:+echo}
unset PFLOW_NODES PFLOW_TRACE TRACEPARENT NO_COLOR CLICOLOR_FORCE OPENAI_API_KEY XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME
unset "${!LC_@}"
export TERM=xterm LANG=C.UTF-8
umask 022
cd "$HOME" || exit

# Skip the test where a tool is missing; fail it in CI, where all are there.
need() {
    local tool
    for tool; do
        type -P "$tool" >/dev/null || missing "$tool is not installed" || return # a test may have a function of that name
    done
}

missing() {
    [ -n "${CI-}" ] || skip "$1"
    echo "$1, and this is CI"
    return 1
}

# Run a script, the argument or stdin, in sh or in each of $SHELLS, in a new directory inside the test's; all must end
# and print alike.
in_shells() {
    local shell seen='' script
    script=${1-$(cat)}
    for shell in ${SHELLS-sh}; do
        need "$shell"
        cd "$(mktemp -d -p "$BATS_TEST_TMPDIR")" || return
        run --separate-stderr timeout 60 "$shell" -c "$script"
        [ "${seen:-$status $output}" = "$status $output" ] || expect "${seen%% *}" "${seen#* }"
        seen="$status $output"
    done
    cd "$BATS_TEST_TMPDIR" || return
}

# The exit code of what was run, what it printed (- is anything), and a part of what it said on stderr.
expect() {
    if [ "$status" -eq "$1" ] && [[ ${2--} == @(-|"$output") && ${stderr-} == *"${3-}"* ]]; then return; fi
    printf 'wanted: %s\n' "$@"
    printf 'exit:   %s\nstdout: %s\nstderr: %s\n' "$status" "$output" "${stderr-}"
    return 1
}

# Run a script as somebody who is not almighty: for root, modes of files mean nothing.
as_mortal() {
    if [ "$(id -u)" -ne 0 ]; then
        sh -c "$1"
    else # 24: PR_CAPBSET_DROP; the program that is executed has no capability then
        "$PYTHON" -c 'import ctypes, os, sys; drop = ctypes.CDLL(None).prctl
for capability in range(64): drop(24, capability)
os.execvp("sh", ["sh", "-c", sys.argv[1]])' "$1"
    fi
}

# Wait until a command succeeds, 20 seconds at most.
until_true() {
    local end=$((SECONDS + 20))
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS > end)); then echo "never: $*" && return 1; fi
        sleep 0.1
    done
}

# Whether a process is no more, or only its parent has not heard of it yet.
ended() {
    ! grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null
}

# A node in Python of this name: its interface's lines, and on stdin its methods.
node() {
    local name=$1 title
    title=$(sed 's/_\(.\)/\u\1/g; s/^./\u&/' <<<"$name")
    {
        printf 'from pflow import Node\n\n\nclass %s(Node):\n    """Do %s.\n\n    Interface:\n' "$title" "$name"
        printf '    - %s\n' "${@:2}"
        printf '    """\n\n'
        cat
    } >"$name.py"
}

# A linear flow, one text, as a shell pipe; its first stage reads nothing.
as_pipe() { sed 's/ => / | pflow /g; s/^[a-z-]*/pflow & -n/' <<<"$1"; }

# Of what strace put into ./trace, every so many-th system call from where signals are caught to the end, as CALL:WHEN.
signal_moments() {
    awk -F'(' -v every="$1" '/^[a-z]/ { n[$1]++; on = on || /^rt_sigaction\(SIGHUP, *\{sa_handler=0x/
        if (on && !/exit/ && ++all % every == 0) print $1 ":" n[$1] }' trace
}

# An interactive shell in a terminal of its own, which ends with the test.
in_terminal() {
    need tmux
    tmux=(tmux -S "$(mktemp -u -p "$BATS_TEST_TMPDIR")" -f /dev/null) # a server that is ending still has its socket
    "${tmux[@]}" new-session -d -x 120 -y 50 env PS1='> ' "$@" 3>&-
    until_true eval 'screen | grep -q .'
}

teardown() { [ -z "${tmux-}" ] || "${tmux[@]}" kill-server 2>/dev/null || true; }

type_line() { "${tmux[@]}" send-keys -l "$1" \; send-keys Enter; }

# ^C, and wait for the shell's prompt: what is typed before it may be dropped.
interrupt() {
    "${tmux[@]}" send-keys C-c
    until_true eval "screen | tail -n 1 | grep -qx '> *'"
}

screen() { "${tmux[@]}" capture-pane -p | sed '/^$/d'; }

# Wait until the screen has this; not for what the typed line or an older screen has already.
shows() { until_true eval "screen | grep -qF -- $(printf %q "$1")" || { screen && return 1; }; }

# The server of tests/peers, with models that each behave in one way; as long as setup_file's process at most.
start_server() {
    export PEER=$BATS_FILE_TMPDIR/server
    mkdir "$PEER" && : >"$PEER/requests.jsonl"
    PYTHONPATH=$BATS_TEST_DIRNAME/../.. "$PYTHON" -m tests.peers.openai_server "$PEER" >/dev/null 2>&1 3>&- &
    export PEER_PID=$!
    until_true test -e "$PEER/port"
}

stop_server() { kill "$PEER_PID"; }

# Git as somebody who has no settings: a repository of a test is Ada's.
own_git() {
    need git
    export GIT_CONFIG_GLOBAL=$PWD/gitconfig GIT_CONFIG_NOSYSTEM=1
    git config --global user.name Ada
    git config --global user.email ada@example.org
    git config --global init.defaultBranch main
}

# llm's settings, keys and log for one test alone: others run at the same time.
own_llm() {
    cp -r "$PEER/llm" llm
    export LLM_USER_PATH=$PWD/llm
}

# Put a pflow-llm first on PATH that is quick, in ./bin: its answers are like the server's, and it asks nobody.
quick_llm() {
    mkdir -p bin
    { echo "#!$PYTHON" && cat "$BATS_TEST_DIRNAME/../peers/quick_llm.py"; } >bin/pflow-llm
    chmod +x bin/pflow-llm
    export PATH=$PWD/bin:$PATH PEER=${PEER-$HOME} PFLOW_MODEL=echo
    : >>"$PEER/requests.jsonl"
}

# How many requests the server saw that hold this text.
requests_with() { grep -c -F -e "$1" "$PEER/requests.jsonl" || true; }

# The small local model, where `make test` has put it, at the place where pflow looks for it. The test keeps to one
# processor: beside other tests the engine's threads spin while they wait for one another.
need_local_model() {
    local file
    file=$(realpath -m "$BATS_TEST_DIRNAME/../../.venv/share/pflow/models/SmolLM2.gguf")
    [ -e "$file" ] || missing 'the small local model is not here' || return
    mkdir -p "$HOME/.local/share/pflow/models"
    ln -s "$file" "$HOME/.local/share/pflow/models/"
    "$PYTHON" -c "import os; os.sched_setaffinity($$, {min(os.sched_getaffinity(0))})"
}
