#!/usr/bin/env bats
# pflow "SENTENCE" and pflow plan in scripts: what is a sentence, what runs, what is refused.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

setup() {
    export PFLOW_MODEL=reply PFLOW_PLAN_MODEL=planner
    printf 'one\ntwo\n' >a.txt
    echo data >data.txt
}

untouched() { [ "$(ls -I 'separate-*')" = $'a.txt\ndata.txt' ]; } # bats keeps a file here

SUMMARY='read data.txt, summarize it, write summary.md'

@test "a plan that fails, or does what --yes does not allow, ends with its code and touches nothing" {
    while IFS=: read -r wanted seconds model said; do
        run --separate-stderr pflow "$SUMMARY" --model="$model" --yes -r --timeout="$seconds"
        expect "$wanted" '' "$said"
        untouched && [[ $stderr != *Traceback* ]]
    done <<'END'
65:60:d-line-never:  read-file --pth=a.txt => write-file --path=b.txt
75:60:cut:cut before its end
77:60:plan-smuggle-command:--allow=commands
124:2:stall:took longer than the 2 s of --timeout
END
}

@test "each refusal names the step, what it would touch and the flag; with the flag it runs" {
    run --separate-stderr pflow 'count the lines of a.txt' --yes -r
    expect 77 '' 'not allowed: count runs commands: "wc -l" (--allow=commands)'
    run --separate-stderr pflow 'count the lines of a.txt' --yes --allow=commands -r
    expect 0 2
    mkdir here && cp a.txt here && ln -s .. here/up && cd here
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes -q --write-path=up/b.txt # a link out of the directory
    expect 77 '' "write writes 'up/b.txt': it is not below a directory that is allowed (--allow=$(realpath ..))"
    [ ! -e ../b.txt ]
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes -q --write-path=../b.txt --allow=..
    expect 0
    cmp a.txt ../b.txt
}

@test "a plan that does not say what its sentence says is not run with --yes, until a flag gives the value" {
    run --separate-stderr pflow 'copy a.txt to c.txt' --yes -q --write.path=c.txt
    expect 0
    cmp a.txt c.txt && rm c.txt
    run --separate-stderr pflow 'copy a.txt to c.txt' --yes -q # the plan is kept, and its doubts are made anew
    expect 77 '' "in doubt: 'c.txt' is in no step"
    [[ $stderr == *"in doubt: 'b.txt' of --path is not in the sentence"*'cannot run the plan: 2 doubts'* ]]
    untouched
}

@test "a name that begins with a dot is not read and not written, by whatever name it goes" {
    mkdir -p here/.git/hooks here/sub .local/share/pflow/flows && cp a.txt here
    printf '%s' '{"inputs": {"name": {"type": "str", "default": ".git/hooks/x"}, "text": {"type": "str", "default": "x"}},
        "nodes": [{"id": "w", "type": "write-file"}],
        "mappings": {"w": {"input_mappings": {"path": "name", "content": "text"}}}}' \
        >.local/share/pflow/flows/hook.pflow.json
    cd here && ln -s .git/hooks hooks && ln -s sub .up
    for flag in --write-path=hooks/pre-commit --read-path=.git/hooks/a; do
        run --separate-stderr pflow 'copy a.txt to b.txt' --yes -q "$flag"
        expect 77 '' ': it is hidden (--allow='
    done
    run --separate-stderr pflow 'use the hook' --model=d-hook --yes -q
    expect 77 '' "hook/w writes '.git/hooks/x': it is hidden"
    [ ! -e b.txt ] && [ -z "$(ls -A .git/hooks)" ]
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes -q --write-path=.up/b.txt # where that leads is not hidden
    expect 0
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes -q --write-path=hooks/pre-commit --allow=.git/hooks
    expect 0
    cmp a.txt sub/b.txt && cmp a.txt .git/hooks/pre-commit
}

@test "a link that a plan moves leads nowhere else, after a resume too" {
    mkdir -p out here/out here/sub .local/share/pflow/flows && echo secret >out/s.txt && echo inside >here/out/s.txt
    cd here && ln -s ../out/s.txt sub/link
    plan() { # its first step is this, its second reads the link
        printf '{"nodes": [{"id": "first", "type": %s}, {"id": "then", "type": "read-file", "inputs": {"path": "new"}}],
            "edges": [{"from": "first", "to": "then"}]}' "$1" >../.local/share/pflow/flows/hook.pflow.json
    }
    plan '"move-file", "inputs": {"path": "sub/link", "destination": "new"}'
    run --separate-stderr pflow 'use the hook' --model=d-hook --yes
    expect 77 - "cannot move 'sub/link', a link to '../out/s.txt': it is not below a directory that is allowed"
    plan '"shell", "inputs": {"command": "ls made || ! : >made"}' # which fails at its first visit only
    run --separate-stderr pflow 'use the hook' --model=d-hook --yes --allow=commands -q
    expect 1 '' "$("$PYTHON" -c 'from pflow.process.confine import has_landlock as has
print("its commands could write only in the allowed directories: --allow=DIR, or --allow=paths" * has())')"
    ln -s ../out/s.txt new
    for again in resume replay; do
        run --separate-stderr pflow "$again" last -r
        expect 77 '' "cannot use 'new': it is not below a directory that is allowed"
    done
    [ "$(cat ../out/s.txt sub/link) $(ls)" = $'secret\ninside made\nnew\nout\nsub' ]
    run --separate-stderr pflow 'use the hook' --model=d-hook --yes --allow=paths --allow=commands -r
    expect 0 secret
}

@test "paths that only the run knows take a directory, and each is held when it is used" {
    mkdir -p here/many .local/share/pflow/flows && echo secret >out && echo one >here/many/a && cd here
    echo '{"nodes": [{"id": "list", "type": "list-files", "inputs": {"pattern": "many/*"}, "params": {"kind": "all"}},
        {"id": "read", "type": "read-file", "batch": {"over": "files", "as": "path", "jobs": 2}}]}' \
        >../.local/share/pflow/flows/hook.pflow.json
    run --separate-stderr pflow 'use the hook' --model=d-hook --yes -r
    expect 77 '' 'reads a file that is not known yet: path from path of each in files (--allow=DIR)'
    run --separate-stderr pflow 'use the hook' --model=d-hook --yes -r --allow=many
    expect 2
    run --separate-stderr pflow 'use the hook' --model=d-hook --yes -r --allow=./many
    expect 0 '["one\n"]'
    ln -s ../../out many/b
    run --separate-stderr pflow 'use the hook' --model=d-hook --yes -r --allow=./many
    expect 77 '' "cannot use 'many/b': it is not below a directory that is allowed"
}

@test "without a terminal and without --yes it is shown, and nothing runs, nor with --dry-run" {
    need setsid
    run --separate-stderr setsid -w pflow 'copy a.txt to b.txt' --allow=anything -r </dev/null
    expect 77 '' 'write-file:write --path=b.txt'
    expect 77 '' '--yes runs it, pflow plan prints it'
    run --separate-stderr pflow 'copy a.txt to b.txt' --dry-run -q
    expect 0 '' 'would run write (write-file)'
    run --separate-stderr pflow 'copy a.txt to b.txt' -r --write-path --dry-run # here it is the value of another flag
    expect 77 '' '--yes runs it'
    untouched
}

@test "flags of the run and of the flow go to the run; another is 2, before anything runs" {
    echo other >c.txt
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes -r --read-path c.txt --write.path=d.txt
    expect 0 other
    cmp c.txt d.txt
    run --separate-stderr pflow 'copy a.txt to b.txt' --yes --nope=1
    expect 2 - 'cannot '
    [ ! -e b.txt ]
}

@test "a sentence is a stage: its flow gets the stdin, and a store changes no path that was checked" {
    in_shells 'printf "1\n2\n3\n" | pflow "count what comes in" --model=d-count --yes --allow=commands | pflow-get stdout'
    expect 0 3
    mkdir here && cd here && cp ../a.txt . && echo secret >../s.txt
    run --separate-stderr sh -c 'pflow-set -n read_path=../s.txt | pflow "copy a.txt to b.txt" --yes -q'
    expect 0
    cmp a.txt b.txt
}

@test "the planner is told what comes, never a value of it, and the flow takes it" {
    need jq
    printf 'one hunter2\n' >notes.txt
    export PFLOW_PLAN_MODEL=d-piped PFLOW_MODEL=echo
    in_shells '
        echo "$(pflow-read-file -n --path=../notes.txt | pflow "count what comes in" --yes --allow=commands -r)"
        cat ../notes.txt | pflow "count what comes in" --yes --allow=commands | pflow-get response
        echo x | pflow "count what comes in" -n --yes --allow=commands | pflow-get stdout
        pflow-read-file -n --path=../nope | pflow "count what comes in" --yes | pflow-get content; echo $?
        cat ../notes.txt | pflow plan "count what comes in" >plan.json
        jq -c .inputs plan.json; pflow-read-file -n --path=../notes.txt | pflow run plan.json | pflow-get response
        pflow plan -n "count what comes in" </dev/null | jq -c .inputs
        true | pflow "count what comes in" --yes --allow=commands -r; echo $?
        pflow-read-file -n --path=../nope | pflow plan "count what comes in"; echo $?'
    expect 0 $'2\nSay one hunter2\n and 2\nnothing\n66\n{"piped":{"type":"str","pipe":true}}\nSay one hunter2\n and 2\nnull\n66\n66' \
        "cannot plan: stdin has an error: cannot read '../nope'"
    [ "$(grep hunter2 "$PEER/requests.jsonl" | grep -c 'Through the pipe')" -eq 0 ]
    [ "$(requests_with 'Through the pipe comes text, 12 characters')" -eq 1 ]
    [ "$(requests_with 'comes content (str, 12 characters)')" -eq 1 ]
}

@test "raw bytes that no try of the model takes are 65, and a failed plan hands the store on" {
    need jq
    in_shells '
        echo x | pflow "copy a.txt to b.txt" --yes >doc; echo $?; ls
        pflow-set a=1 | pflow "copy a.txt to b.txt" --yes --model=plan-never | jq -r ".a, .[\"\$pflow\"].error.exit"'
    expect 0 $'65\ndoc\n1\n65' 'PL09: nothing uses the piped input'
}

@test "a slip in a name is never sent to a model, nor is one step of pipe syntax" {
    while IFS=: read -r words said; do
        run -127 --separate-stderr pflow "$words" -q
        expect 127 '' "$said"
    done <<'END'
lllm --prompt=slip-of-mine:did you mean llm?
lllm "slip of mine":did you mean llm?
raed-file slip-of-mine:did you mean read-file?
lllm slip of mine -s Brief:did you mean llm?
frob => slip-of-mine:frob
summarise:summarise
END
    run --separate-stderr pflow plan 'lllm --prompt=slip-of-mine'
    expect 65 '' 'there is no node'
    run -127 --separate-stderr pflow paraphrase my notes
    expect 127 - 'put quotes around it'
    [ "$(requests_with slip-of-mine)" -eq 0 ]
}

@test "what was meant as a command asks no model, whatever command gets it" {
    pflow save my-flow 'read-file a.txt' --description=Mine >/dev/null
    for command in '' plan; do # the other commands ask none
        for words in 'read-file never-sent -> shell never-sent' 'llm never-sent && shell cat' 'shell ls never-sent -l' \
            'my-flow never-sent'; do
            run --separate-stderr pflow ${command:+"$command"} "$words"
            expect 2
        done
    done
    run --separate-stderr pflow 'read-file a.txt' -r
    expect 0 $'one\ntwo'
    run --separate-stderr pflow 'shell out never-sent' --model=plan-never --yes
    [ "$(requests_with 'out never-sent')" -eq 3 ] # a sentence
    [ "$(requests_with never-sent)" -eq 3 ]
}

@test "pflow plan prints IR of a sentence; --pipe prints pipe syntax, which pasted back runs" {
    need jq
    run --separate-stderr pflow plan copy a.txt to b.txt
    expect 0
    [ "$(jq -r '.description, .inputs.read_path.default' <<<"$output")" = $'copy a.txt to b.txt\na.txt' ]
    run --separate-stderr sh -c 'echo "copy a.txt to b.txt" | pflow plan - --pipe'
    expect 0
    pflow run "$output" -q
    cmp a.txt b.txt
}

@test "pflow plan refuses a flow that is there, and no words" {
    mkdir -p .local/share/pflow/flows
    echo '{"nodes":[{"id":"a","type":"shell","inputs":{"command":"ls"}}]}' | tee f.pflow.json >.local/share/pflow/flows/mine.pflow.json
    for word in f.pflow.json mine; do
        run --separate-stderr pflow plan "$word"
        expect 2 '' '--edit'
    done
    run --separate-stderr pflow plan
    expect 2 '' 'the sentence is missing'
}

@test "pipe syntax is planned without a model, and without what asks one" {
    PYTHONPROFILEIMPORTTIME=1 run --separate-stderr pflow plan 'read-file --path=a.txt => llm'
    expect 0 - 'pflow.commands.plan'
    ! grep -qE '\| +(llm|pflow\.models)' <<<"$stderr"
}

@test "without a model it is 78, and stdout is empty" {
    PFLOW_PLAN_MODEL='' PFLOW_MODEL='' run --separate-stderr env LLM_USER_PATH="$HOME/none" pflow "$SUMMARY" --yes -r
    expect 78 '' 'nearest nodes: '
    expect 78 '' 'summarise-text'
}

@test "a saved flow that does the job is the plan, its inputs filled by the model" {
    mkdir -p .local/share/pflow/flows
    echo '{"inputs": {"read_path": {"type": "path"}, "write_path": {"type": "path"}},
        "nodes": [{"id": "r", "type": "read-file"}, {"id": "w", "type": "write-file"}],
        "mappings": {"r": {"input_mappings": {"path": "read_path"}}, "w": {"input_mappings": {"path": "write_path"}}}}' \
        >.local/share/pflow/flows/copier.pflow.json
    run --separate-stderr pflow 'copy data.txt to c.txt with the copier' --model=d-saved --yes -q
    expect 0
    cmp data.txt c.txt
}

@test "a saved flow that is malformed is passed over with a word, and where the model takes it, the plan is 65" {
    mkdir -p .local/share/pflow/flows && cd .local/share/pflow/flows
    echo '{' >copier1.pflow.json
    echo '{"nodes": [{"type": "llm", "params": {"input_key": ["a"]}}]}' >copier2.pflow.json
    echo '{"nodes": [{"type": "flow:copier"}]}' >copier.pflow.json
    cd "$HOME"
    run --separate-stderr pflow 'copy data.txt to c.txt with the copier' --model=d-saved --yes -q
    expect 65 '' 'no flow of'
    [[ $stderr != *bug* ]]
    run --separate-stderr pflow "$SUMMARY" --model=plan-right --yes -q
    expect 0 '' 'copier1.pflow.json'
    [[ $stderr == *copier.pflow.json* && $stderr != *bug* ]]
}

@test "an input that nothing gives is 66 in a script, with its flag" {
    run --separate-stderr pflow 'copy something' --model=d-missing --yes -q
    expect 66 '' '--source='
}

@test "a closed or full stdout is said, before a model is asked where that can be told; no home is no fault" {
    run --separate-stderr sh -c 'pflow "copy closed-out.txt to b.txt" --yes >&-'
    expect 73 '' 'it is closed'
    [ "$(requests_with closed-out)" -eq 0 ]
    run --separate-stderr sh -c 'pflow plan "read-file --path=a => shell --command=cat" >/dev/full'
    expect 73 '' 'cannot write to stdout'
    run --separate-stderr sh -c 'env -u HOME pflow "copy a.txt to b.txt" --yes -q --no-journal >&- 2>&- <&-'
    expect 0
    cmp a.txt b.txt
}

@test "a signal while a model is silent ends it, with nothing touched" {
    pflow "$SUMMARY asked-and-killed" --model=stall --yes >out 2>err 3>&- &
    local pid=$!
    until_true eval '[ "$(requests_with asked-and-killed)" -eq 1 ]'
    kill -TERM "$pid"
    local code=0
    wait "$pid" || code=$?
    [ "$code" -eq 143 ]
    [ ! -s out ] && [ ! -s err ] && [ ! -e summary.md ]
}

@test "what does not come to a run is an error document in a pipe, and the last exit code is its own" {
    in_shells 'pflow "count the lines of a.txt" -n --yes 2>/dev/null | pflow-write-file --path=never.txt -q; echo $?; ls'
    expect 0 77
}
