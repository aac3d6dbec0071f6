#!/usr/bin/env bats
# pflow run when things go wrong around it: signals, time limits, kill -9, full disks, closed pipes.
# shellcheck disable=SC2016,SC2094,SC2154

load helper

setup_file() {
    mkdir "$BATS_FILE_TMPDIR/flows" && cd "$BATS_FILE_TMPDIR/flows" || exit
    # Each says in the file `there` which processes it has, and waits.
    cat >sleeper.py <<'END'
import os, time
from pflow import Node


class Sleeper(Node):
    """Wait.

    Interface:
    - Reads: shared["item"]: any = null  # anything
    - Writes: shared["slept"]: bool [pipe]  # true
    """

    def exec(self, prepared):
        with open("there", "a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(60)
END
    cat >pflow-waiter <<'END'
#!/bin/sh
# Interface:
# - Writes: shared["waited"]: bool [pipe]  # true
sleep 60 &
echo "$! $$" >>there
wait
END
    chmod +x pflow-waiter
    shell='sleep 60 & echo "$! $$" >>there; wait'
    step=$(printf '{"id":"%s","type":"sleeper"}' s)
    echo "{\"nodes\":[$step]}" >step.pflow.json
    echo '{"nodes":[{"id":"c","type":"shell","inputs":{"command":"'"${shell//\"/\\\"}"'"}}]}' >child.pflow.json
    echo '{"nodes":[{"id":"a","type":"shell","inputs":{"command":":"}},{"id":"x","type":"sleeper"},
        {"id":"y","type":"shell","inputs":{"command":"'"${shell//\"/\\\"}"'"}},{"id":"z","type":"waiter"},
        {"id":"m","type":"shell","inputs":{"command":"touch ran"}}],
        "edges":[{"from":"a","to":"x"},{"from":"a","to":"y"},{"from":"a","to":"z"},{"from":"x","to":"m"},{"from":"y","to":"m"},{"from":"z","to":"m"}],
        "mappings":{"a":{"output_mappings":{"stdout":"a.out","stderr":"a.err","exit_code":"a.code"}}}}' >fork.pflow.json
    echo '{"nodes":[{"id":"b","type":"sleeper","batch":{"over":"items","jobs":3}}],"inputs":{"items":{"type":"list","default":[1,2,3,4,5]}}}' >batch.pflow.json
    echo '{"nodes":[{"id":"in","type":"./fork.pflow.json"}]}' >nested.pflow.json
    for flow in step:1 child:2 fork:5 batch:3 nested:5; do echo "${flow#*:}" >"${flow%:*}.count"; done
}

setup() { export PFLOW_NODES=$BATS_FILE_TMPDIR/flows FLOWS=$BATS_FILE_TMPDIR/flows; }

# Start one of the flows above, with more words, and wait until all that it starts is there.
start() {
    rm -f there
    env --default-signal=INT,HUP,TERM,PIPE pflow run -n "$FLOWS/$1.pflow.json" "${@:2}" >out 2>err 3>&- &
    run=$!
    until_true eval '[ "$(wc -w 2>/dev/null <there)" = "$(cat "$FLOWS/'"$1"'.count")" ]'
}

# What it had started has ended, and its log can be read.
all_ended() {
    local pid id
    while read -r pid; do until_true ended "$pid" || { echo "$1: $pid is left" && return 1; }; done < <(tr ' ' '\n' <there)
    [ ! -e ran ]
    id=$(pflow runs | awk 'NR == 1 { print $1 }')
    pflow trace "$id" >trace || { echo "$1" && return 1; }
}

@test "a signal ends a run with all that it started, its code, one line and an error document" {
    need jq
    while read -r signal wanted flow; do
        # shellcheck disable=SC2086
        start $flow
        kill -s "$signal" "$run"
        code=0 && wait "$run" || code=$?
        [ "$code" -eq "$wanted" ] || { echo "$flow: $code" && return 1; }
        all_ended "$flow $signal"
        [ "$(jq '.["$pflow"].error.exit' out)" -eq "$code" ]
        [ "$(grep -v warning err)" = "pflow run: cannot finish: it was ended by SIG$signal; pflow resume $(pflow runs | awk 'NR == 1 { print $1 }') goes on" ] || { cat err && return 1; }
        grep -q 'did not end\|failed' trace
    done <<'END'
HUP 129 step
TERM 143 child
INT 130 batch
TERM 143 nested
TERM 143 fork --isolate
END
}

@test "kill -9 leaves no process of ours, and a log that can be read" {
    for flow in batch nested 'step --isolate'; do
        # shellcheck disable=SC2086
        start $flow
        kill -9 "$run"
        wait "$run" || [ $? -eq 137 ]
        all_ended "$flow"
        until_true eval 'pflow runs | head -n 1 | grep killed' # its branches may still be ending
        pflow runs | head -n 1 | grep -q ' >[0-9.]* m*s  killed' # up to its last event: the rest is not known
        pflow trace | grep -q ': killed, its last event after [0-9.]* m*s$'
    done
}

@test "kill -9 of one branch or worker fails the step, ends the others, and is said" {
    need pgrep
    for flow in fork batch 'step --isolate'; do
        # shellcheck disable=SC2086
        start $flow
        kill -9 "$(pgrep -P "$run" | head -n 1)"
        code=0 && wait "$run" || code=$?
        [ "$code" -eq 137 ] || { echo "$flow: $code" && cat err && return 1; }
        all_ended "$flow"
        grep -q 'its process is gone: signal 9 killed it' err
    done
}

@test "--timeout is 124 and leaves nothing, wherever the run is" {
    for flow in batch nested; do
        : >there
        run --separate-stderr pflow run -n "$FLOWS/$flow.pflow.json" --timeout=0.8 -r
        expect 124 '' 'pflow run: cannot finish: it took longer than the 0.8 s of its timeout'
        all_ended "$flow"
    done
}

@test "a step's own time limit names the step, in a subflow, a branch or a batch too" {
    sed 's/"type":"[^"]*"/&,"timeout":0.3/' "$FLOWS/step.pflow.json" >step.pflow.json
    sed 's/"id":"x","type":"sleeper"/&,"timeout":0.3/' "$FLOWS/fork.pflow.json" >fork.pflow.json
    sed 's/"id":"b","type":"sleeper"/&,"timeout":0.3/' "$FLOWS/batch.pflow.json" >batch.pflow.json
    echo '{"nodes":[{"id":"in","type":"./step.pflow.json","timeout":30}]}' >inner.pflow.json
    echo '{"nodes":[{"id":"in","type":"'"$FLOWS"'/nested.pflow.json","timeout":0.3}]}' >outer.pflow.json
    for flow in fork:'x (sleeper)' batch:'(sleeper): item ' inner:'in/s (sleeper)' outer:'in ('; do
        : >there
        run --separate-stderr pflow run -n "${flow%%:*}.pflow.json" -r --timeout=30
        expect 124 '' "pflow run: "
        [[ $stderr == *"${flow#*:}"*'cannot finish: it took longer than the 0.3 s of its timeout'* ]] || expect 124 '' "${flow#*:}"
        all_ended "$flow"
    done
}

@test "a signal while a flow's file is loaded ends the run as a signal does" {
    need strace
    strace -o trace pflow run -n "$FLOWS/step.pflow.json" --dry-run -q 2>/dev/null || missing 'strace may trace nothing here'
    signal_moments 30 >calls
    [ "$(wc -l <calls)" -gt 3 ]
    while IFS=: read -r call when; do
        code=0
        env --default-signal=TERM strace -o /dev/null -e trace="$call" -e inject="$call:signal=TERM:when=$when" \
            pflow run -n "$FLOWS/step.pflow.json" --dry-run -q 2>err || code=$?
        [[ $code == @(0|143) && $(wc -l <err) -le 2 ]] || { echo "$call:$when: $code" && cat err && return 1; }
        run -1 grep -i 'panic\|traceback\|a bug' err
    done <calls
}

@test "^C in a terminal ends a fork and its children" {
    in_terminal bash --norc -i
    type_line 'pflow run -n "$FLOWS/fork.pflow.json" -q; echo never >after'
    until_true eval '[ "$(wc -w 2>/dev/null <there)" = 5 ]'
    "${tmux[@]}" send-keys C-c
    all_ended fork
    type_line 'echo $? >code'
    until_true test -s code
    [ "$(cat code)" = 130 ]
    [ ! -e after ]
}

@test "a closed pipe ends a run silently with 141, with -r, the document or a stream" {
    for words in '' '-r --isolate'; do
        run --separate-stderr bash -c "pflow run -n 'shell --command=\"head -c 3000000 /dev/zero\"' $words | head -c 1 >/dev/null; exit \${PIPESTATUS[0]}"
        [ "$status" -eq 141 ]
        [ -z "$stderr" ]
    done
}

@test "a stdout that was closed from the start is 73, and no matter with -q" {
    in_shells '
        pflow run -n "shell --command=\"echo a >>ran\"" >&-; echo $?; pflow shell --command=: :: shell --command="touch ran" >&-; echo $?; ls
        pflow run -n "shell --command=\"echo a >>ran\"" -q >&-; echo $?; pflow shell -n --command=: :: shell --command=: -q >&-; echo $?; cat ran'
    expect 0 $'73\n73\n0\n0\na' 'pflow run: cannot write to stdout: it is closed; -q prints nothing'
    in_shells 'pflow run -n "shell --command=\"echo a\"" -r >/dev/full'
    expect 73 '' 'cannot write to stdout: no space left on device'
    in_shells 'pflow run -n "shell --command=\"echo a\"" -r 2>&-; pflow run -n "shell --command=\"exit 3\"" -r 2>&-; echo $?
        pflow run -n "shell --command=\"echo b\"" -r <&-'
    expect 0 $'a\n3\nb'
}

@test "a full disk under the log is a warning with --no-journal, and the result is the same; else the run is 73" {
    mkdir disk
    mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null || skip 'no file system may be mounted here'
    head -c 60000 /dev/zero >disk/fill
    export XDG_STATE_HOME=$PWD/disk
    run --separate-stderr sh -c '
        pflow run --no-journal -n "shell --command=\"echo a\" => shell --command=cat => shell --command=cat" -r
        head -c 100000 /dev/zero >disk/fill 2>/dev/null; pflow run --no-journal -n "shell --command=\"echo b\"" -r
        pflow run -n "shell --command=\"echo c\"" -r; echo $?; find disk -name "*.tmp"'
    umount disk
    expect 0 $'a\nb\n73' 'pflow run: warning: cannot'
    [ "$(grep -vc '^pflow run: warning: cannot .*: no space left on device' <<<"$stderr")" -eq 1 ]
}

@test "a limit on the size of files breaks no run but its log, and one with a journal with 73, until there is room" {
    in_shells 'ulimit -f 1; pflow run --no-journal -n "shell --command=\"seq 3\" => shell --command=cat => shell --command=cat => shell --command=wc\ -l" -r'
    expect 0 3
    export XDG_STATE_HOME=$PWD/state
    in_shells '
        (ulimit -f 8; pflow run -n "shell --command=\"seq 3\" => shell --command=\"seq 3000\" => shell --command=\"wc -l >ran\"" -q; echo $?); ls
        pflow resume last -q --redo=shell-2; cat ran'
    expect 0 $'73\n3000' "cannot keep the journal"
}
