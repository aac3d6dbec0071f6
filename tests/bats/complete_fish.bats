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
    in_terminal fish -C 'function fish_greeting; end; function pflow; false; end; function fish_prompt; echo "> "; end'
    until_true eval 'screen | grep -qx ">"'
    "${tmux[@]}" send-keys -l "$1" \; send-keys Tab
}

# The lines of the screen that begin with a text, in order.
lines_with() { screen | grep -oE -- "$1" | tr '\n' ' '; }

@test "flags come in their groups, data first, each with its description" {
    tab 'pflow-llm --'
    shows '[data] the prompt'
    shows '[params] the model'
    [[ $(lines_with '^--[a-z-]+') == '--prompt --text --model --system '* ]]
    "${tmux[@]}" send-keys Tab Tab
    shows 'pflow-llm --'
}

@test "commands, nodes and values are completed" {
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
    tab "pflow run 'read-file --path=a => llm --sys"
    shows "> pflow run 'read-file --path=a => llm --system="
    teardown
    touch 'a file.md'
    tab "pflow 'write-file --path=a"
    shows "> pflow 'write-file --path=a\\\\ file.md"
    "${tmux[@]}" send-keys -l '=> ll' \; send-keys Tab
    shows "\\ file.md => llm"
}

@test "your own node is completed as soon as it exists, and never run" {
    mkdir -p data/pflow/nodes
    printf '#!/bin/sh\n# Interface:\n# - Params: the_size: int = 1  # how big\ntouch hurt\n' >data/pflow/nodes/pflow-its_own
    chmod +x data/pflow/nodes/pflow-its_own
    export XDG_DATA_HOME=$PWD/data PATH=$PWD/data/pflow/nodes:$PATH
    mkdir -p data/fish/vendor_conf.d
    cp "$HOME"/.local/share/fish/vendor_conf.d/pflow.fish data/fish/vendor_conf.d
    for line in 'pflow its-own' pflow-its_own; do
        tab "$line --the"
        shows "$line --the-size="
        "${tmux[@]}" kill-server
    done
    [ ! -e hurt ]
}
