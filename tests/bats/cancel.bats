#!/usr/bin/env bats
# pflow cancel: a run that is going on is ended in order, wherever it runs, and can be resumed.
# shellcheck disable=SC2016,SC2154

load helper

# Begin a script with a run that waits until there is ./go; the run's id is $id.
begin() {
    rm -f began
    env --default-signal=TERM sh -c "$1"'; echo $? >code' >out 2>err 3>&- &
    until_true test -s began
    id=$(pflow runs -n 1 | cut -d' ' -f1)
}
wait='echo $$ >>began; until [ -e go ]; do sleep 0.02; done'

@test "a run is ended with its programs, in a pipe, a batch and a subshell, and goes on where it was" {
    for flow in "pflow run 'shell \"$wait\"' -n -q" "pflow run 'shell \"$wait\"' -n | pflow run 'shell \"touch never\"' -q" \
        "printf '1\n2\n' | pflow run 'shell \"$wait\" --each=stdin' --jobs=2 -q" "(pflow run 'shell \"$wait\"' -n -q; exit \$?)"; do
        rm -f go code
        begin "$flow"
        [ "$(pflow runs -n 1 --json | jq -r '.[].next[]')" = "pflow cancel $id" ]
        run --separate-stderr pflow cancel "${id::24}"
        expect 0 '' "pflow cancel: the run $id has ended: failed 143; pflow resume $id --redo=shell or pflow resume $id --skip=shell continues it"
        [ "$(pflow trace "$id" --json | jq -r .error.step)" = shell ]
        until_true test -s code
        [[ $(cat code) = 143 && $(cat err) == *'it was ended by SIGTERM'* && ! -e never ]]
        while read -r pid; do until_true ended "$pid"; done <began
        touch go
        pflow resume "$id" -q --redo=shell
        run --separate-stderr pflow cancel "$id"
        expect 1 '' "pflow: cannot cancel the run $id: it is not running (done); no run is running"
    done
}

@test "a run that is stopped ends; one that does not end is named, with the way to kill it" {
    begin "pflow run 'shell \"$wait\"' -n -q"
    pid=$(awk '{ print $1 }' .local/state/pflow/runs/*/lock)
    kill -STOP "$pid"
    pflow cancel last
    begin "env --ignore-signal=TERM pflow run 'shell \"$wait\"' -n -q"
    run --separate-stderr pflow cancel last --timeout=0.2
    pid=${stderr##*kill -KILL } && pid=${pid%% *}
    expect 75 '' "its process $pid has got SIGTERM, but not ended within 0.2 s; kill -KILL $pid ends it at once"
    run --separate-stderr pflow cancel @2
    expect 1 '' "is not running (failed 143); running: $id"
    kill -KILL "$pid"
    until_true ended "$pid"
}
