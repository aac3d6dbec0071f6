#!/usr/bin/env bats
# --if-running: a flow for cron, of which one run goes on at a time.
# shellcheck disable=SC2016,SC2154

load helper

# A run of the saved flow nap, which goes on until there is ./go, as process $napping.
begin_nap() {
    local flows=.local/share/pflow/flows command='echo $$ >began; until [ -e go ]; do sleep 0.02; done'
    mkdir -p "$flows"
    echo '{"name": "nap", "nodes": [{"id": "shell", "repeats": true, "inputs": {"command": "'"$command"'"}}]}' >"$flows/nap.pflow.json"
    rm -f began go
    pflow nap -n -q --if-running=fail 3>&- &
    napping=$!
    until_true test -s began
}

# Kill the run, and wait for the end of its command, which a guard ends a moment later.
kill_nap() {
    kill -KILL "$napping"
    wait "$napping" || true
    until_true eval '! kill -0 "$(cat began)"'
}

teardown() { [ -z "${napping-}" ] || kill "$napping" 2>/dev/null || true; }

@test "while a run goes on, the next of its flow does nothing, fails or waits, as it is told" {
    begin_nap
    ln -s .local/share/pflow/flows/nap.pflow.json other.pflow.json
    run --separate-stderr sh -c 'pflow run other.pflow.json -n --if-running=skip -v | pflow-shell "touch never" -q'
    expect 0 '' 'nothing to do: run '
    [ ! -e never ]
    run --separate-stderr pflow run nap -n -q --if-running=skip
    [ "$status$output$stderr" = 0 ]
    run --separate-stderr pflow nap -n -q --if-running=fail
    expect 75 '' "cannot run 'nap': run $(pflow runs | awk '/running/ { print $1 }') is still going (process $napping)"
    run --separate-stderr pflow nap -n -q --if-running=wait --timeout=0.1
    expect 124 '' 'it took longer than the 0.1 s'
    pflow run 'shell true' -n -q --if-running=fail
    pflow nap -n -q --if-running=fail --dry-run
    pflow nap -n -q --if-running=wait -v 2>said 3>&- &
    until_true grep 'waiting: run' said
    touch go
    wait "$napping"
    wait $!
    pflow nap -n -q --if-running=fail
}

@test "a killed run leaves no lock, one that started a daemon neither, an orphan holds it" {
    need setsid
    begin_nap
    kill_nap
    touch go
    pflow nap -n -q --if-running=fail
    pflow 'shell "setsid sleep 60 >/dev/null 2>&1 & echo $! >pid"' -n -q --if-running=fail
    pflow 'shell "setsid sleep 60 >/dev/null 2>&1 & echo $! >>pid"' -n -q --if-running=fail
    pflow 'shell "setsid sleep 60 & echo $! >>pid; wait"' -n -q --if-running=fail 3>&- &
    until_true eval '[ "$(wc -l <pid)" = 3 ]'
    until_true grep -x sleep "/proc/$(tail -n 1 pid)/comm"
    kill -KILL $!
    wait $! || true
    run --separate-stderr pflow 'shell "setsid sleep 60 & echo $! >>pid; wait"' -n -q --if-running=fail
    expect 75 '' "is still going ($(tail -n 1 pid) (sleep))"
    while read -r pid; do kill "$pid"; done <pid
}

@test "a run that was begun without --if-running, or resumed, is one that is going too" {
    begin_nap
    kill_nap
    rm began
    pflow resume last -q 3>&- &
    napping=$!
    until_true test -s began
    run --separate-stderr pflow nap -n -q --if-running=fail
    expect 75 '' " is still going ($napping "
    touch go
    pflow nap -n -q --if-running=wait
    wait "$napping"
    local text='shell "echo >began; until [ -e go ]; do sleep 0.02; done"'
    rm began go
    pflow run "$text" -n -q 3>&- &
    napping=$!
    until_true test -s began
    run --separate-stderr pflow run "$text" -n -q --if-running=fail
    expect 75 '' " is still going (process $napping)"
    pflow run "$text " -n -q --if-running=wait --dry-run
    touch go
    wait "$napping"
}
