#!/usr/bin/env bats
# pflow "SENTENCE" --yes from the sentence to a file, planned by a model on this machine. `make` with the path below
# brings the model; PLANNER names another file.
# shellcheck disable=SC2154

load helper

unset BATS_TEST_TIMEOUT # a busy machine may need minutes for a plan

setup_file() {
    start_server
    export XDG_DATA_HOME=$BATS_FILE_TMPDIR/share # what the model has read is kept for all five
}
teardown_file() { stop_server; }

setup() {
    export XDG_DATA_HOME=$BATS_FILE_TMPDIR/share PFLOW_MODEL=reply
    PFLOW_PLAN_MODEL=$(realpath -m "${PLANNER-$BATS_TEST_DIRNAME/../../build/Qwen2.5-Coder-1.5B-Instruct.gguf}")
    export PFLOW_PLAN_MODEL
    [ -e "$PFLOW_PLAN_MODEL" ] || skip 'the model that plans is not here'
}

carry_out() { run --separate-stderr pflow "$1" --yes -n -q --timeout=1200 "${@:2}"; expect 0 '' || return; }

@test "a local model plans: the lines of a file are sorted by a command, and saved" {
    printf 'oak\nelm\nash\n' >names.txt
    carry_out 'sort the lines of names.txt and save them as sorted.txt' --allow=commands
    [ "$(cat sorted.txt)" = $'ash\nelm\noak' ]
}

@test "a local model plans: a table becomes JSON" {
    printf 'name,city,amount\nAda,London,12\nBob,Paris,7\n' >orders.csv
    carry_out 'convert orders.csv to orders.json'
    "$PYTHON" -c 'import json, sys; rows = json.load(open("orders.json")); sys.exit(len(rows) != 2 or rows[1]["city"] != "Paris")'
}

@test "a local model plans: each file of a directory is translated into another" {
    mkdir notes && echo 'The oven is old.' >notes/a.txt && echo 'The bakery is closed.' >notes/b.txt
    carry_out 'translate each of notes/*.txt to German, into german/' --allow=.
    [ "$(ls german)" = $'a.txt\nb.txt' ] && [ "$(cat german/b.txt)" = 'Oak, ash and elm.' ] && cmp german/{a,b}.txt
    [ "$(requests_with 'The oven is old.')" -eq 1 ] && [ "$(requests_with German)" -eq 2 ]
}

@test "a local model plans: a file is summarized into another" {
    cp "$NOTES" notes.txt
    carry_out 'summarize notes.txt into short.md'
    [ "$(cat short.md)" = 'Oak, ash and elm.' ]
    grep -F "$(head -n 1 notes.txt)" "$PEER/requests.jsonl" | grep -qi summar
}

@test "a local model plans: the newest commits go into a file" {
    own_git && git init -q
    for message in one two three; do git commit -q --allow-empty -m "The commit $message"; done
    carry_out 'write the last 2 commits into history.txt' --allow=./.git
    grep -q 'commit three' history.txt && grep -q 'commit two' history.txt && ! grep -q 'commit one' history.txt
}
