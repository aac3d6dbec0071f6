#!/usr/bin/env bats
# The dialogue about a plan, on a terminal.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

setup() {
    export PFLOW_MODEL=planner
    printf 'one\ntwo\n' >a.txt
    unset VISUAL EDITOR
}

QUESTION='Run it? [r]un, [e]dit, [s]ave, e[x]plain, [n]o:'
AGAIN='[e]dit again, [b]ack to the plan as it was:'
NAME='Name [copy-a-txt-to-b-txt]:'
REPLACE="'copy-a-txt-to-b-txt' is there: replace it? [y]es, [n]o:"

# A terminal in which a plan is asked about.
asked() {
    in_terminal "$@" sh
    type_line "pflow 'copy a.txt to b.txt'; echo code=\$?"
    shows "$QUESTION"
}

# Answer a question, once it is asked: what is typed before that answers nothing.
answer() {
    until_true eval "[[ \$(screen | tail -n 1) == *$(printf %q "$1") ]]" || { screen && return 1; }
    type_line "$2"
}

# An editor that runs a script on the file, which is its $1.
editor() {
    printf '#!/bin/sh\n%s\n' "$1" >editor
    chmod +x editor
}

wide() { "${tmux[@]}" resize-window -x 160 -y 100; }

@test "the flow is shown, an unknown key says what the keys do, x explains it, r runs it" {
    asked
    wide
    shows 'As a pipe'
    shows 'writes files  write  path "b.txt"'
    answer "$QUESTION" q
    shows 'r  run it'
    answer "$QUESTION" x
    shows 'The store at the end'
    [ ! -e b.txt ]
    answer "$QUESTION" r
    shows code=0
    cmp a.txt b.txt
}

@test "y, Y and yes run it as r does; Enter and other words ask again, at every question" {
    editor 'echo nonsense >"$1"'
    EDITOR=$PWD/editor asked
    answer "$QUESTION" e
    answer "$AGAIN" ''
    answer "$AGAIN" y
    answer "$AGAIN" b
    for word in y Y yes; do
        answer "$QUESTION" ''
        answer "$QUESTION" yep
        answer "$QUESTION" "$word"
        shows code=0
        cmp a.txt b.txt
        rm b.txt
        type_line "clear; pflow 'copy a.txt to b.txt'; echo code=\$?"
    done
    answer "$QUESTION" n
}

@test "the end of the file is no, 77, and ^C is 130; --yes asks nothing" {
    asked
    "${tmux[@]}" send-keys C-d
    shows code=77
    type_line "clear; pflow 'copy a.txt to b.txt'; echo code=\$?"
    shows "$QUESTION"
    interrupt
    type_line 'code=$?; clear; echo code=$code'
    shows code=130
    [ ! -e b.txt ]
    type_line "clear; pflow 'copy a.txt to b.txt' --yes -q; echo code=\$?"
    shows code=0
    cmp a.txt b.txt
}

@test "while it plans, a terminal is told, and what was typed before the question answers nothing" {
    in_terminal sh
    type_line "pflow 'copy a.txt to b.txt' --model=d-waits; echo code=\$?"
    shows 'asking d-waits'
    type_line r
    : >"$PEER/go"
    answer "$QUESTION" n
    shows code=77
    [ ! -e b.txt ]
}

@test "what comes back from the editor is checked, shown and run; what is wrong is edited again or left" {
    editor 'echo x >>times; cp "$1" seen
        case $(wc -l <times) in
        1) echo "=> =>" >"$1" ;;
        2) printf "read-file --path=a.txt => lllm\n" >"$1" ;;
        4) sed -i s/b.txt/c.txt/ "$1" ;;
        esac'
    asked "VISUAL=$PWD/editor" EDITOR=false
    wide
    answer "$QUESTION" e
    answer "$AGAIN" e
    shows 'did you mean llm'
    answer "$AGAIN" b
    answer "$QUESTION" e
    shows 'Nothing was changed.'
    answer "$QUESTION" e
    shows '--path=c.txt'
    grep -q '^# copy a.txt to b.txt$' seen
    answer "$QUESTION" r
    shows code=0
    cmp a.txt c.txt
    [ ! -e b.txt ]
}

@test "an editor that fails, leaves nothing or is missing changes nothing" {
    editor 'exit 3'
    asked "EDITOR=$PWD/editor"
    answer "$QUESTION" e
    shows 'the editor ended with exit code 3'
    editor ': >"$1"'
    answer "$QUESTION" e
    shows 'it is empty'
    rm editor
    answer "$QUESTION" e
    shows 'cannot find the editor'
    answer "$QUESTION" r
    shows code=0
    cmp a.txt b.txt
}

@test "the editor has the terminal, also where stdin is a pipe, and ^C in it ends nothing" {
    editor 'test -t 0 && test -t 1 && : >terminal; echo editing >&2; read -r line; echo "$line" >line; sed -i s/b.txt/c.txt/ "$1"'
    in_terminal "EDITOR=$PWD/editor" sh
    type_line "true | pflow 'copy a.txt to b.txt' -n; echo code=\$?"
    answer "$QUESTION" e
    shows editing
    "${tmux[@]}" send-keys C-c
    shows 'ended with signal 2'
    answer "$QUESTION" e
    until_true eval '[ "$(screen | grep -c ^editing)" -eq 2 ]'
    type_line typed
    shows '--path=c.txt'
    answer "$QUESTION" n
    shows code=77
    [ -e terminal ] && [ "$(cat line)" = typed ]
}

@test "what was typed while the editor ran answers nothing, and an editor that is killed leaves the terminal as it was" {
    editor 'stty raw -echo; : >ready; until [ -e go ]; do sleep 0.02; done; rm go; sed -i s/b.txt/c.txt/ "$1"; [ -e kept ] || kill -9 $$'
    asked "EDITOR=$PWD/editor"
    answer "$QUESTION" e
    until_true test -e ready
    : >go
    shows 'ended with signal 9'
    rm ready && : >kept
    answer "$QUESTION" e
    until_true test -e ready
    type_line r
    : >go
    shows '--path=c.txt'
    answer "$QUESTION" n
    shows code=77
    [ ! -e c.txt ]
}

@test "s saves it, asks before it replaces, says what cannot be saved, and goes on; no is then no failure" {
    mkdir -p .local/share/pflow/flows/blocked.pflow.json
    echo '{"nodes":[{"id":"a","type":"shell","inputs":{"command":"echo old"}}]}' >.local/share/pflow/flows/copy-a-txt-to-b-txt.pflow.json
    asked
    wide
    answer "$QUESTION" s
    answer "$NAME" 'no name/at all'
    shows "cannot call a flow 'no name/at all'"
    answer "$NAME" blocked
    shows "cannot save 'blocked'"
    answer "$QUESTION" s
    answer "$NAME" ''
    answer "$REPLACE" ''
    answer "$REPLACE" n
    answer "$NAME" ''
    answer "$REPLACE" y
    shows 'Run it by: pflow copy-a-txt-to-b-txt'
    answer "$QUESTION" n
    shows code=0
    [ ! -e b.txt ]
    grep -rq 'echo old' .local/share/pflow/flows/old
    run --separate-stderr pflow copy-a-txt-to-b-txt -q
    expect 0
    cmp a.txt b.txt
}

@test "a terminal that shows ASCII only, and is narrow, gets all of it" {
    in_terminal LC_ALL=C TERM=dumb sh
    "${tmux[@]}" resize-window -x 62 -y 60
    type_line "pflow 'copy a.txt to b.txt'; echo code=\$?"
    shows "$QUESTION"
    shows '< path: path'
    ! "${tmux[@]}" capture-pane -p | LC_ALL=C grep -q '[^ -~]'
    answer "$QUESTION" n
    shows code=77
}

@test "a plan's stdin is the pipe, its questions are the terminal's" {
    in_terminal sh
    type_line "printf 'three\n' | pflow 'count what comes in' --model=d-count -r >out; echo code=\$?"
    answer "$QUESTION" r
    shows code=0
    [ "$(cat out)" = 1 ]
}

@test "hostile text of a model is shown with its escapes, on a terminal of any kind" {
    in_terminal sh
    type_line "pflow 'write something odd' --model=d-hostile; echo code=\$?"
    shows "$QUESTION"
    wide
    shows '\x1b'
    ! "${tmux[@]}" capture-pane -p | grep -q OWNED
    answer "$QUESTION" n
    shows code=77
    [ "$("${tmux[@]}" display-message -p '#{pane_title}')" != OWNED ]
}
