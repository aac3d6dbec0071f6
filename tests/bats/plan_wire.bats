#!/usr/bin/env bats
# pflow plan --wire and --edit: mappings for a hand-made flow, a change in words to one; shown, asked about, kept.

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

setup() {
    export PFLOW_PLAN_MODEL=edit-hand
    mkdir work && cd work || return
    cat >hand.pflow.json <<'END'
{"nodes": [{"type": "read-file", "inputs": {"path": "notes.txt"}},
           {"type": "llm", "inputs": {"prompt": "Sum up"}},
           {"type": "write-file", "inputs": {"path": "out.md"}}]}
END
    cat >paths.pflow.json <<'END'
{"inputs": {"target": {"type": "path", "default": "to.md"}, "other": {"type": "path", "default": "from.md"}},
 "nodes": [{"id": "write", "type": "write-file", "inputs": {"content": "x"}}]}
END
    cp hand.pflow.json hand.before
}

CHANGE='use b.md instead of out.md'

# The flow is as it was, and nothing lies beside it.
unchanged() {
    cmp hand.before hand.pflow.json && [ "$(ls -A)" = $'hand.before\nhand.pflow.json\npaths.pflow.json' ]
}

@test "a hand-made flow is wired where there is one answer, and no model is asked" {
    need jq
    run --separate-stderr pflow plan --model=no-such-model --wire hand.pflow.json
    expect 0 - 'llm.text ← read-file.content: it is what the pipe carries there'
    [ "$(jq -r '.mappings["write-file"].input_mappings.content' <<<"$output")" = llm.response ]
    unchanged
    run --separate-stderr pflow plan --wire - --pipe <hand.pflow.json
    expect 0 - 'llm.text ← read-file.content'
    [ "${lines[1]}" = "  => llm --prompt='Sum up' --map-in=text=read-file.content" ]
}

@test "a saved flow is wired by its name, what it was is kept, and it needs nothing more" {
    mkdir -p "$HOME/.local/share/pflow/flows"
    cp hand.pflow.json "$HOME/.local/share/pflow/flows/hand.pflow.json"
    run --separate-stderr pflow plan --write --yes --wire hand
    expect 0 '' "saved 'hand'"
    [ -e "${stderr##*the version before is }" ]
    pflow check hand
    run --separate-stderr pflow plan --wire hand
    expect 0 - 'nothing to wire: every read has a source'
}

@test "without a capable model the candidates are said" {
    unset PFLOW_MODEL
    run --separate-stderr env PFLOW_PLAN_MODEL= LLM_USER_PATH="$HOME/none" pflow plan --wire paths.pflow.json
    expect 78 '' 'write.path has no source: it could be target (path), other (path)'
}

@test "wrong options are 2, a file that is empty, broken or not there is said" {
    run --separate-stderr pflow plan --wire hand.pflow.json --write --pipe
    expect 2 '' 'cannot take both --write and --pipe'
    : >empty.json
    printf '{"nodes": [{]}' >broken.json
    for file in empty.json:66 broken.json:65 nothing.json:66; do
        run --separate-stderr pflow plan --wire "${file%:*}"
        expect "${file#*:}" '' "${file%:*}"
    done
    run --separate-stderr pflow plan --edit nothing.json "$CHANGE"
    expect 66 '' nothing.json
}

@test "a change in words is shown as a diff, and is written with --yes, refused without a terminal" {
    need jq
    run --separate-stderr pflow plan --write --edit hand.pflow.json "$CHANGE"
    expect 77 '' '--yes writes it'
    expect 77 '' '+        "path": "b.md"'
    expect 77 '' 'new: write-file (write-file) writes files: path "b.md"'
    unchanged
    run --separate-stderr pflow plan --json "$HOME/work/hand.pflow.json" "$CHANGE" --edit
    expect 0
    [ "$(jq -r '.model, .changed, .written, .new_effects[0]' <<<"$output")" = \
        $'edit-hand\ntrue\nnull\nwrite-file (write-file) writes files: path "b.md"' ]
    unchanged
    run --separate-stderr pflow plan --write --yes --edit hand.pflow.json "$CHANGE"
    expect 0 '' "wrote 'hand.pflow.json'"
    [ "$(jq -r '.nodes[2].inputs.path' hand.pflow.json)" = b.md ]
    [ "$(ls -A)" = $'hand.before\nhand.pflow.json\npaths.pflow.json' ]
}

@test "on a terminal a person says yes or no, while stdin is elsewhere" {
    need jq
    in_terminal sh
    type_line "pflow plan --write --edit hand.pflow.json '$CHANGE' </dev/null; echo \"code\" \$?"
    shows 'Keep it? [y]es, [n]o:'
    type_line n
    shows 'code 77'
    unchanged
    type_line "clear; pflow plan --write --edit hand.pflow.json '$CHANGE' </dev/null; echo \"done\" \$?"
    shows 'Keep it? [y]es, [n]o:'
    type_line y
    shows 'done 0'
    [ "$(jq -r '.nodes[2].inputs.path' hand.pflow.json)" = b.md ]
}

# bats test_tags=rights
@test "a directory that may not be written is said, and nothing is left half done" {
    chmod 555 . && chmod 444 hand.pflow.json
    run --separate-stderr as_mortal "pflow plan --write --yes --wire hand.pflow.json"
    chmod 755 .
    expect 77 '' 'permission denied'
    unchanged
}

@test "what is in a flow never reaches a terminal raw" {
    printf '{"nodes": [{"type": "llm", "inputs": {"prompt": "\\u001b[2J"}}]}' >"$(printf 'evil\033[2J.json')"
    run --separate-stderr pflow plan --edit "$(printf 'evil\033[2J.json')" 'retry the only step'
    expect 0 - 'retries'
    [[ $stderr != *$'\e'* ]]
}

@test "a signal while a model says nothing ends it silently, and the flow is as it was" {
    run --separate-stderr timeout 60 sh -c '
        pflow plan --model=stall --write --yes --edit hand.pflow.json "stop me in the middle" & pid=$!
        until grep -q "stop me in the middle" "$PEER/requests.jsonl"; do sleep 0.02; done
        kill -TERM $pid; wait $pid'
    [ "$status" -ne 0 ]
    [[ $stderr != *Traceback* ]]
    unchanged
}

@test "params that a node's code needs are told, not that every read has a source" {
    export PFLOW_NODES=$BATS_TEST_DIRNAME/../seeds/nodes/keys
    run --separate-stderr pflow plan --wire - <<<'{"nodes": [{"id": "a", "type": "Summarize"}, {"id": "b", "type": "Store"}]}'
    expect 0 - "a has no param 'input_key', which its code needs: pflow plan --edit"
    [[ $stderr != *nothing* ]]
}
