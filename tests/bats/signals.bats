#!/usr/bin/env bats
# Signals: children are ended, temporary files removed, and files are old or new.
# shellcheck disable=SC2016,SC2154

load helper

# Start a command in the background with a signal of its own choice at its default, as in the foreground of a shell.
start() {
    env --default-signal=INT,HUP,TERM,PIPE "$@" <&0 >out 2>err 3>&- &
    stage=$!
}

@test "a signal ends a shell stage with all its children, its code and an error document" {
    need jq
    for signal in TERM:143 INT:130 HUP:129; do
        rm -f pids
        start pflow-shell -n --command='sleep 60 & echo $! >>pids; sh -c "echo \$\$ >>pids; sleep 60; :" & echo $$ >>pids; wait'
        until_true eval '[ "$(wc -l 2>/dev/null <pids)" = 3 ]'
        kill -s "${signal%:*}" "$stage"
        code=0 && wait "$stage" || code=$?
        [ "$code" -eq "${signal#*:}" ]
        while read -r pid; do until_true ended "$pid"; done <pids
        [ "$(jq '.["$pflow"].error.exit' out)" -eq "$code" ]
        [[ $(cat err) == "pflow-shell: cannot finish"*"SIG${signal%:*}"* && $(wc -l <err) -eq 1 ]]
    done
}

@test "a child that ignores SIGTERM is ended too" {
    start pflow-shell -n --command='trap "" TERM; echo $$ >pid; while :; do sleep 1; done'
    until_true test -s pid
    kill "$stage"
    code=0 && wait "$stage" || code=$?
    [ "$code" -eq 143 ]
    until_true ended "$(cat pid)"
}

@test "a second ctrl-C leaves no child either" {
    start pflow-shell -n --command='trap "echo >>got" TERM; trap "" INT; echo $$ >pid; while :; do sleep 0.1; done'
    until_true test -s pid
    kill -INT "$stage"
    until_true test -e got # its first answer, which it waits for
    kill -INT "$stage"
    code=0 && wait "$stage" || code=$?
    [ "$code" -eq 130 ]
    until_true ended "$(cat pid)" || { kill -KILL "$(cat pid)" && return 1; }
}

@test "the stages after one that was killed have no effect and end with its code" {
    mkfifo ready
    echo old >o
    (
        { exec env --default-signal=TERM pflow-shell -n --command='echo $PPID >ready; exec sleep 60'; } |
            pflow-shell --command='touch ran' | pflow-write-file --path=o -q || echo $? >code
    ) 3>&- 2>err &
    local pipe=$!
    read -r pid <ready
    kill "$pid"
    wait "$pipe"
    [ "$(cat code)" -eq 143 ]
    [ "$(cat o)" = old ]
    [ ! -e ran ]
}

@test "a stage that is killed while it waits for its stdin ends at once" {
    mkfifo f
    exec 9<>f
    start pflow-write-file --path=o <f
    until_true grep -qa pflow-write-file "/proc/$stage/cmdline" # bash, which becomes it, catches signals too
    until_true grep '^SigCgt:.*[37bf]$' "/proc/$stage/status"   # it catches SIGHUP and SIGINT
    kill -INT "$stage"
    code=0 && wait "$stage" || code=$?
    exec 9>&-
    [ "$code" -eq 130 ]
    [ ! -e o ]
    run -1 grep Traceback err
}

@test "a signal at any moment of a stage's work is one line at most, and its own code" {
    need strace
    strace -o trace pflow-shell -n --command=: -q || missing 'strace may trace nothing here'
    signal_moments 15 >calls
    [ "$(wc -l <calls)" -gt 3 ]
    while IFS=: read -r call when; do
        code=0
        env --default-signal=INT strace -o /dev/null -e trace="$call" -e inject="$call:signal=INT:when=$when" \
            pflow-shell -n --command=: -q 2>err || code=$?
        [[ $code == @(0|130) && $(wc -l <err) -le 1 ]] || { echo "$call:$when: $code" && cat err && return 1; }
    done <calls
}

@test "what its parent ignores, a stage ignores" {
    mkfifo ready go
    (
        trap '' HUP
        exec pflow-shell -n --command='echo $PPID >ready; cat go' -r
    ) >out 3>&- &
    stage=$!
    read -r pid <ready
    kill -HUP "$pid"
    echo on >go
    wait "$stage"
    [ "$(cat out)" = on ]
}

@test "ctrl-C in a terminal ends the whole pipe, and no child stays" {
    for shell in 'dash -i' 'bash --norc -i' 'zsh -f -i' 'fish -N -i'; do
        need "${shell%% *}"
        # shellcheck disable=SC2086
        in_terminal $shell
        type_line 'pflow-shell -n --command="echo \$\$ >pid; exec sleep 60" | pflow-write-file --path=o'
        until_true test -s pid
        "${tmux[@]}" send-keys C-c
        until_true ended "$(cat pid)"
        type_line 'echo >typed'
        until_true test -e typed
        "${tmux[@]}" kill-server
        [ ! -e o ]
        rm pid typed
    done
}

@test "a loop in bash stops at ctrl-C" {
    echo 'for n in 1 2 3; do echo $n >>turns; pflow-shell -n --command="echo \$\$ >pid; exec sleep 60" -q; done; echo >after' >loop
    in_terminal bash --norc -i
    type_line 'bash loop; echo never >after'
    until_true test -s pid
    "${tmux[@]}" send-keys C-c
    until_true ended "$(cat pid)"
    type_line 'echo $? >code'
    until_true test -s code
    [ "$(cat code)" -eq 130 ]
    [ "$(cat turns)" = 1 ]
    [ ! -e after ]
}

# Each system call of a write-file from the making of the new file on, as CALL:WHEN.
calls_of_writing() {
    mkdir d && echo old >d/o
    strace -o trace pflow-write-file --path=d/o -q <new || missing 'strace may trace nothing here'
    awk -F'(' '/^[a-z]/ { n[$1]++; on = on || /O_TMPFILE|O_CREAT/; if (on && !/exit/) print $1 ":" n[$1] }' trace
}

@test "a SIGTERM at any moment of write-file leaves the old or the new file, and nothing else" {
    need strace
    echo new >new
    calls_of_writing >calls
    while IFS=: read -r call when; do
        echo old >d/o
        code=0
        strace -o /dev/null -e trace="$call" -e inject="$call:signal=TERM:when=$when" \
            pflow-write-file --path=d/o -q <new 2>err || code=$?
        [[ $code == @(143|0) && $(cat d/o) == @(old|new) && $(ls -A d) == o ]] ||
            { echo "$call:$when: $code $(ls -A d)" && cat err && return 1; }
        [[ $code -ne 0 || $(cat d/o) == new ]]
    done <calls
}

@test "kill -9 of a stage or a run ends what they had started, and what it cannot end holds the run's lock" {
    need setsid
    printf '%s\n' '#!/bin/sh' '# Interface:' '# - Reads: shared["text"]: str = ""' 'read -r _; echo $$ >>pids; sleep 60; :' >pflow-nap
    chmod +x pflow-nap
    export PATH=$PWD:$PATH
    # What they get on stdin comes once they are guarded.
    local nap='read -r _; sleep 60 & echo $! >>pids; sh -c "echo \$\$ >>pids; sleep 60; :"'
    for words in 'pflow-shell|-n|--input=x|'"$nap" 'pflow-nap|-n' "pflow|run|-n|shell '$nap' --input=x" 'pflow|run|-n|--isolate|nap'; do
        rm -f pids
        IFS='|' read -ra words <<<"$words"
        start "${words[@]}"
        until_true test -s pids
        kill -KILL "$stage"
        wait "$stage" || true
        while read -r pid; do until_true ended "$pid"; done <pids
    done
    until_true eval 'pflow runs | head -1 | grep killed'
    start pflow run -n "shell 'setsid sh -c \"echo \\\$\\\$ >pid; exec sleep 60\"'"
    until_true test -s pid
    kill -KILL "$stage"
    wait "$stage" || true
    pflow runs | head -1 | grep running
    kill "$(cat pid)"
    until_true eval 'pflow runs | head -1 | grep killed'
}
