#!/usr/bin/env bats
# What TAB does in a real fish, with what `pflow setup` puts in place.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() {
    mkdir -p "$BATS_FILE_TMPDIR/home"
    HOME=$BATS_FILE_TMPDIR/home pflow setup >/dev/null
}

setup() {
    need fish tmux
    export HOME=$BATS_FILE_TMPDIR/home XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
    unset FISH_VERSION XDG_DATA_DIRS
    cd "$BATS_TEST_TMPDIR" || return
}

# Type this in a new fish and press TAB.
tab() {
    in_terminal fish -C 'function fish_greeting; end; function fish_prompt; echo "> "; end'
    until_true eval 'screen | grep -qx ">"'
    "${tmux[@]}" send-keys -l "$1" \; send-keys Tab
}

# The lines of the screen that begin with a text, in order.
lines_with() { screen | grep -oE -- "$1" | tr '\n' ' '; }

@test "flags come in their groups, data first, each with its description" {
    tab 'pflow-llm --'
    shows '[data] what to ask'
    shows '[params] which model'
    [[ $(lines_with '^--[a-z-]+') == '--prompt --text --model --system '* ]]
    "${tmux[@]}" send-keys Tab Tab
    shows 'pflow-llm --'
}

@test "a flag that only one can be is completed" {
    tab 'pflow-llm --mod'
    shows '> pflow-llm --model='
}

@test "commands, nodes and values are completed" {
    tab 'pflow nodes re'
    shows '> pflow nodes read-file'
    teardown
    tab 'pflow ru'
    shows 'runs'
    shows '[command] Run a flow'
    teardown
    touch 'a file.md'
    tab 'pflow-write-file --path=a'
    shows '> pflow-write-file --path=a\ file.md'
    teardown
    tab 'pflow export --to=mer'
    shows '> pflow export --to=mermaid'
}

@test "runs are completed, newest first" {
    mkdir -p "$XDG_STATE_HOME"/pflow/runs/01JD{10,9A,A0}00000000000000000000 "$XDG_STATE_HOME/pflow/runs/more"
    tab 'pflow trace '
    shows 01JD10
    [ "$(lines_with '01JD..')" = '01JDA0 01JD9A 01JD10 ' ]
}

@test "a description is shown as it is, and what it has in it is never run" {
    mkdir -p "$XDG_CACHE_HOME/pflow/completion"
    printf 'odd-1\t%s\nodd-2\tanother\n' '"a" (touch hurt) $(touch hurt) `touch hurt` $HOME [x]: \ *' \
        >"$XDG_CACHE_HOME/pflow/completion/models"
    tab 'pflow-llm --model=odd'
    shows '"a" (touch hurt) $(touch hurt) `touch hurt` $HOME [x]: \ *'
    [ ! -e hurt ]
}

@test "steps are completed between :: and inside an open quote, their flags after them" {
    tab 'pflow run read-file --path=a :: ll'
    shows ':: llm'
    teardown
    tab "pflow 'read-file --path=a => ll"
    shows "> pflow 'read-file --path=a => llm"
    teardown
    tab "pflow run 'read-file --path=a => llm --sys"
    shows "> pflow run 'read-file --path=a => llm --system="
}

@test "- and _ are one in a node's name" {
    mkdir -p data/pflow/nodes
    printf '#!/bin/sh\n# Interface:\n# - Params: the_size: int = 1  # how big\n' >data/pflow/nodes/pflow-its_own
    chmod +x data/pflow/nodes/pflow-its_own
    export XDG_DATA_HOME=$PWD/data
    pflow setup >/dev/null
    for line in 'its_own' 'its-own' 'read_file :: its-own:x'; do
        tab "pflow $line --the"
        shows "pflow $line --the-size="
        "${tmux[@]}" kill-server
    done
}

@test "a hostile program on PATH is offered and never run" {
    mkdir bin
    printf '#!/bin/sh\ntouch %s/hurt\n' "$PWD" >bin/pflow-x
    chmod +x bin/pflow-x
    PATH=$PWD/bin:$PATH tab 'pflow nodes x'
    shows '> pflow nodes x'
    [ ! -e hurt ]
}

@test "TAB starts no process" {
    need strace
    touch a.txt
    mkdir -p "$XDG_CACHE_HOME/pflow/completion" "$XDG_STATE_HOME/pflow/runs/01JD1000000000000000000000"
    printf 'a-model\tof a provider\n' >"$XDG_CACHE_HOME/pflow/completion/models"
    for line in 'pflow ' 'pflow-llm --' 'pflow-llm --model=' 'pflow trace ' 'pflow-write-file --path=' \
        "pflow 'read-file => llm --" 'pflow run read-file :: '; do
        strace -qq -f -e trace=execve,fork,vfork -o trace \
            fish -N -C 'set -p fish_complete_path ~/.local/share/fish/vendor_completions.d' \
            -c 'complete -C $argv[1]' -- "$line" >offered
        [ -s offered ]
        [ "$(grep -c 'execve' trace)" -eq 1 ]
    done
}
