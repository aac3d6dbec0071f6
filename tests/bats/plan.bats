#!/usr/bin/env bats
# pflow "SENTENCE" and pflow plan in scripts: what is a sentence, what runs, what is refused (DESIGN.md, sections 8 and 9).
# shellcheck disable=SC2016,SC2154

load helper


setup_file() { start_server; }
teardown_file() { stop_server; }

setup() {
    export PFLOW_MODEL=reply PFLOW_PLAN_MODEL=planner
    printf 'one\ntwo\n' >a.txt
    echo data >data.txt
}

SUMMARY='read data.txt, summarize it, write summary.md'

# Run the sentence with each of these models, each in a directory of its own with data.txt alone, whose files it lists.
each_model() {
    local wanted=$1 files=$2 model
    for model in "${@:3}"; do
        mkdir "$model" && cd "$model" && echo data >data.txt
        run --separate-stderr timeout 60 pflow "$SUMMARY" --model="$model" --yes -r --timeout=30
        echo "$model: exit $status, stdout: $output, files: $(ls | tr '\n' ' '), stderr: $stderr"
        [ "$status" -eq "$wanted" ]
        [ -z "$output" ] || [ "$status" -eq 0 ]
        [ "$(ls | tr '\n' ' ')" = "$files " ]
        [[ $stderr != *Traceback* ]]
        cd ..
    done
}

@test "a model that is right at once, or wraps its answer, or is right at the second or third try: it runs" {
    each_model 0 'data.txt summary.md' plan-right plan-right-native plan-prose plan-two-blocks plan-second plan-third
    [ "$(cat plan-third/summary.md)" = 'Oak, ash and elm.' ]
}

@test "faults of the first try are corrected: types, edges, mappings, nodes" {
    each_model 0 'data.txt summary.md' plan-wrong-type plan-missing-edge plan-missing-mapping plan-unknown-node plan-nonsense-once
}

@test "a model that is never right, or says no flow: 65, the best try on stderr, and nothing is touched" {
    each_model 65 data.txt plan-never plan-refuses plan-half plan-nonsense plan-nonsense-one-piece
    cd plan-never
    run --separate-stderr pflow "$SUMMARY" --model=plan-never --yes -r
    expect 65 '' 'The best try'
    expect 65 '' 'PF11'
}

@test "a provider that refuses, fails, cuts or stalls: its exit code, and nothing is touched" {
    each_model 1 data.txt plan-refuses-by-protocol
    each_model 75 data.txt plan-cut plan-broken plan-rate-limited
    each_model 77 data.txt plan-forbidden
    run --separate-stderr pflow "$SUMMARY" --model=plan-stalls --yes -r --timeout=1
    expect 124 '' 'took longer than 1 s'
}

@test "what an answer smuggles in is refused by the rules, or by what --yes allows" {
    each_model 65 data.txt plan-smuggle-node plan-smuggle-template plan-smuggle-input plan-smuggle-flow-file
    each_model 77 data.txt plan-smuggle-command plan-smuggle-path
    [ ! -e outside.txt ] && [ ! -e ../outside.txt ]
}

@test "each refusal names the step, what it would touch and the flag; with the flag it runs" {
    run --separate-stderr pflow 'count the lines of a.txt' --yes -r
    expect 77 '' 'not allowed: count runs commands: "wc -l" (--allow=commands)'
    run --separate-stderr pflow 'count the lines of a.txt' --yes --allow=commands -r
    expect 0 2
    mkdir here && cp a.txt here && cd here
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes -q --write-path=../b.txt
    expect 77 '' "write writes '../b.txt', which is not below this directory (--allow=$(realpath ..))"
    [ ! -e ../b.txt ]
    for allowed in .. paths anything "$(realpath ..)"; do
        run --separate-stderr pflow 'copy a.txt to b.txt' --yes -q --write-path=../b.txt --allow="$allowed"
        expect 0
        cmp a.txt ../b.txt
        rm ../b.txt
    done
}

@test "a link out of the directory is a path outside" {
    mkdir here && cd here && cp ../a.txt . && ln -s .. up
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes -q --write-path=up/b.txt
    expect 77 '' --allow=
    [ ! -e ../b.txt ]
}

@test "without a terminal and without --yes it is shown, and nothing runs" {
    run --separate-stderr pflow 'copy a.txt to b.txt' -r
    expect 77 '' 'write-file:write --path=b.txt'
    expect 77 '' '--yes runs it, pflow plan prints it'
    [ ! -e b.txt ]
    run --separate-stderr setsid -w pflow 'copy a.txt to b.txt' --allow=anything -r </dev/null
    expect 77 '' '--yes runs it'
    [ ! -e b.txt ]
}

@test "--dry-run shows what would happen, and runs nothing" {
    run --separate-stderr pflow 'copy a.txt to b.txt' --dry-run -q
    expect 0 '' 'would run write (write-file)'
    [ ! -e b.txt ]
}

@test "a --dry-run that is the value of another flag is no leave to run" {
    run --separate-stderr pflow 'copy a.txt to b.txt' -r --write-path --dry-run
    expect 77 '' '--yes runs it'
    [ ! -e b.txt ] && [ ! -e ./--dry-run ]
}

@test "flags of the run and of the flow go to the run; others are 2, before anything runs" {
    echo other >c.txt
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes -r --read-path c.txt --write.path=d.txt
    expect 0 other
    cmp c.txt d.txt
    for wrong in --nope=1 -x --read-path --timeout=0 --allow=here extra; do
        run --separate-stderr pflow 'copy a.txt to b.txt' --yes "$wrong"
        expect 2 '' 'cannot '
    done
    [ ! -e b.txt ]
}

@test "a sentence is a stage: its flow gets the stdin" {
    in_shells 'printf "1\n2\n3\n" | pflow "count what comes in" --model=d-count --yes --allow=commands | pflow-get stdout'
    expect 0 3
    run --separate-stderr sh -c 'printf x | pflow "copy a.txt to b.txt" --yes'
    expect 64 - 'no step takes its 1 bytes'
    [ ! -e b.txt ]
}

@test "a store that comes in changes no path that was checked" {
    mkdir here && cd here && cp ../a.txt . && echo secret >../s.txt
    run --separate-stderr sh -c 'pflow-set -n read_path=../s.txt | pflow "copy a.txt to b.txt" --yes -q'
    expect 0
    cmp a.txt b.txt
}

@test "a slip in a name is never sent to a model, nor is one step of pipe syntax" {
    for words in lllm 'lllm --prompt=slip-of-mine' 'lllm -r' 'frob => slip-of-mine' 'read-file --path=slip-of-mine' summarise \
        'lllm | slip-of-mine' 'pflow lllm --prompt=slip-of-mine' 'lllm ; slip-of-mine'; do
        run -127 --separate-stderr pflow "$words"
        [ -z "$output" ]
    done
    for words in lllm 'lllm --prompt=slip-of-mine' 'frob => slip-of-mine' 'read-fil --path=slip-of-mine => lllm' summarise; do
        run --separate-stderr pflow plan "$words"
        expect 65 '' 'there is no node'
    done
    run -127 --separate-stderr pflow 'lllm --prompt=x'
    expect 127 '' 'did you mean llm?'
    run -127 --separate-stderr pflow 'read-file --path=a.txt'
    expect 127 '' 'one step needs no quotes'
    run -127 --separate-stderr pflow summarize my notes
    expect 127 '' 'put quotes around it'
    [ "$(requests_with slip-of-mine)" -eq 0 ]
}

@test "pipe syntax after a command is the command's" {
    run --separate-stderr pflow plan 'read-file --path=a.txt => shell --command=cat'
    expect 0 - ''
    [ "$(jq -r '.nodes[1].type' <<<"$output")" = shell ]
    run --separate-stderr pflow plan read-file --path=a.txt :: shell --command=cat
    [ "$(jq -r '.nodes[0].inputs.path' <<<"$output")" = a.txt ]
    run --separate-stderr pflow plan 'read-file --path=a.txt => shel --command=cat'
    expect 65 '' 'cannot plan:'
}

@test "pflow plan prints IR of a sentence, in one word or several; --pipe prints pipe syntax, which pasted back runs" {
    run --separate-stderr pflow plan copy a.txt to b.txt
    expect 0
    [ "$(jq -r '.description, .inputs.read_path.default' <<<"$output")" = $'copy a.txt to b.txt\na.txt' ]
    one=$output
    run --separate-stderr sh -c 'echo "copy a.txt to b.txt" | pflow plan -'
    expect 0 "$one"
    run --separate-stderr pflow plan copy a.txt to b.txt --pipe
    expect 0
    pflow run "$output" -q
    cmp a.txt b.txt
}

@test "pflow plan refuses a flow that is there, and no words" {
    echo '{"nodes":[{"id":"a","type":"shell","inputs":{"command":"ls"}}]}' >f.pflow.json
    mkdir -p .local/share/pflow/flows && cp f.pflow.json .local/share/pflow/flows/mine.pflow.json
    for word in f.pflow.json mine; do
        run --separate-stderr pflow plan "$word"
        expect 2 '' '--edit'
    done
    run --separate-stderr pflow plan
    expect 2 '' 'there is no sentence'
}

@test "pipe syntax is planned without a model, and without what asks one" {
    PYTHONPROFILEIMPORTTIME=1 run --separate-stderr pflow plan 'read-file --path=a.txt => llm'
    expect 0 - 'pflow.commands.plan'
    ! grep -qE '\| +(llm|pflow\.models)' <<<"$stderr"
}

@test "a sentence that cannot be planned leaves stdout empty" {
    run --separate-stderr pflow plan "$SUMMARY" --model=plan-never
    expect 65 '' 'The best try'
    PFLOW_PLAN_MODEL='' PFLOW_MODEL='' run --separate-stderr env LLM_USER_PATH="$HOME/none" pflow "$SUMMARY" --yes -r
    expect 78 '' 'write-file'
}

@test "a saved flow that does the job is the plan, its inputs filled by the model" {
    mkdir -p .local/share/pflow/flows
    pflow plan 'copy a.txt to b.txt' >.local/share/pflow/flows/copier.pflow.json
    run --separate-stderr pflow 'use the copier for data.txt' --model=d-saved --yes -q
    expect 0
    cmp data.txt c.txt
}

@test "an input that nothing gives is 66 in a script, with its flag" {
    run --separate-stderr pflow 'copy something' --model=d-missing --yes -q
    expect 66 '' '--source='
    run --separate-stderr pflow 'copy something' --model=d-missing --yes -q --source=a.txt
    expect 0
    cmp a.txt b.txt
}

@test "closed and full files are said, before a model is asked where that can be told" {
    run --separate-stderr sh -c 'pflow "copy closed-out.txt to b.txt" --yes >&-'
    expect 73 '' 'it is closed'
    [ "$(requests_with closed-out)" -eq 0 ]
    run --separate-stderr sh -c 'pflow plan "copy a.txt to b.txt" >/dev/full'
    expect 73 '' 'cannot write to stdout'
    run --separate-stderr sh -c 'pflow "copy a.txt to b.txt" --yes -q >&- 2>&- <&-'
    expect 0
    cmp a.txt b.txt
}

@test "without a home, and in a directory that is gone, nothing breaks" {
    run --separate-stderr env -u HOME pflow 'copy a.txt to b.txt' --yes -q
    expect 0
    run --separate-stderr sh -c 'mkdir gone && cd gone && rmdir ../gone && pflow "copy a.txt to b.txt" --yes -q'
    expect 77 '' --allow=paths
}

@test "a signal while a model is silent ends it, with nothing touched" {
    pflow "$SUMMARY asked-and-killed" --model=plan-stalls --yes >out 2>err 3>&- &
    local pid=$!
    until_true eval '[ "$(requests_with asked-and-killed)" -eq 1 ]'
    kill -TERM "$pid"
    local code=0
    wait "$pid" || code=$?
    [ "$code" -eq 143 ]
    [ ! -s out ] && [ ! -s err ] && [ ! -e summary.md ]
}

@test "what does not come to a run is an error document in a pipe, and the last exit code is its own" {
    for words in 'count-lines 77' 'plan-never 65' 'plan-cut 75'; do
        set -- $words
        in_shells "pflow 'count the lines of a.txt' --model=${1/count-lines/planner} -n --yes 2>/dev/null | pflow-write-file --path=never.txt -q; echo \$?; ls"
        expect 0 "$2" ''
    done
}
