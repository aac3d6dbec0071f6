#!/usr/bin/env bats
# pflow check: every mistake in a flow at once, and nothing run.
# shellcheck disable=SC2016,SC2154

load helper

@test "a template step hands no typo on; an item's own key is not read from the whole list" {
    local each="list-files 'one/*' => read-file --each --with-item => template"
    mkdir one && echo hi >one/a.txt
    run --separate-stderr pflow run -n 'template "Hi ${name"' -r
    expect 2 '' "'\${name' is not a reference"
    run --separate-stderr pflow run -n "$each '\$item: \$content' --each" -r
    expect 65 '' 'PF14: '
    [[ $stderr == *"'content' is all that the batch runs over, in each of its items; \${item.content} is that of the item"* ]]
    run --separate-stderr pflow run -n "$each '\${item.item}: \${item.content}' --each" -r
    expect 0 '["one/a.txt: hi\n"]'
    run --separate-stderr pflow run -n "list-files 'one/*' => template '\$f of \$files' --each --as=f" -r
    expect 0 '["one/a.txt of [\"one/a.txt\"]"]' "PF14: warning: 'files' is all that the batch runs over"
    run --separate-stderr pflow run -n "list-files 'one/*' => read-file --each => shell cat --each => write-file --each=files --as=f --path='\$f_stem'" -q
    expect 0 '' "PF18: warning: nothing uses what 'shell' writes, while 'write-file' takes the items of 'files'; run it over that;"
}

@test "a flow without findings is one line, whichever form it is in" {
    cat >flow.json <<'END'
{"nodes": [{"id": "read", "type": "read-file", "inputs": {"path": "a"}},
           {"id": "save", "type": "write-file", "inputs": {"path": "b"}}]}
END
    run --separate-stderr pflow check flow.json
    expect 0 'flow.json: 2 steps, pflow form: no findings'
    [ -z "$stderr" ]
    run --separate-stderr pflow check - <flow.json
    expect 0 'stdin: 2 steps, pflow form: no findings'
    run --separate-stderr pflow check read-file --path=a :: write-file --path=b
    expect 0 'pipe: 2 steps, pipe syntax: no findings'
    [ ! -e b ]
}

@test "a saved flow is checked by its name" {
    mkdir -p .local/share/pflow/flows
    echo '{"nodes": [{"type": "lmm"}]}' >.local/share/pflow/flows/mine.pflow.json
    run --separate-stderr pflow check mine
    expect 65 '-' 'pflow check: 1 error'
    [[ $output == *"mine.pflow.json: nodes[0].type: PF11: there is no node 'lmm'; did you mean llm?" ]]
    run -127 --separate-stderr pflow check flow:mien
    expect 127 '' 'mien'
}

@test "each finding is a line with its place, its rule and what to do" {
    cat >flow.json <<'END'
{"nodes": [{"id": "read", "type": "read-file", "inputs": {"path": "$file"}, "retries": "3"},
           {"id": "ask", "type": "llm", "params": {"modle": "m"}, "inputs": {"prompt": "${raed.content} ${x"}},
           {"id": "save", "type": "write-file"}],
 "edges": [{"from": "read", "to": "ask"}, {"from": "ask", "to": "svae"}],
 "mappings": {"save": {"input_mappings": {"content": "ask.usage.tokens"}}}}
END
    run --separate-stderr pflow check flow.json
    expect 65 "flow.json: nodes[0].retries: PF00: it is a str (\"3\"), not an int; write a whole number
flow.json: nodes[1].params.modle: PF13: llm has no param or read 'modle'; did you mean model?
flow.json: nodes[1].inputs.prompt: PF14: nothing writes 'raed.content'; did you mean read?
flow.json: nodes[1].inputs.prompt: PF14: warning: '\${x' is not a reference, so it is left as text; \${name} is a reference, \$\$ a dollar
flow.json: edges[1].to: PF12: no step is called 'svae'; did you mean save?" \
        'pflow check: 4 errors, 1 warning'
}

@test "a step whose id another has, too, is checked like every other step" {
    echo '{"nodes": [{"id": "a", "type": "nosuch"}, {"id": "a", "type": "shell", "inputs": {"comand": "x"}}, {"type": "llmm"}]}' >flow.json
    run --separate-stderr pflow check flow.json
    expect 65 - 'pflow check: 4 errors'
    [[ $output == *"nodes[0].type: PF11: there is no node 'nosuch'"*"
flow.json: nodes[1].id: PF12: two steps are called 'a'; rename this one, to 'a-2' for example: nodes[0] has the same id
flow.json: nodes[1].inputs.comand: PF13: "*"
flow.json: nodes[2].type: PF11: there is no node 'llmm'; did you mean llm?" ]]
}

@test "a part that GitHub does not give, and a node that pflow's own one shadows, are found before anything runs" {
    echo '{"nodes": [{"id": "fetch", "type": "github-get-issue"}, {"id": "ask", "type": "llm"}],
        "mappings": {"ask": {"input_mappings": {"prompt": "fetch.issue_data.bodi"}}}}' >flow.json
    run --separate-stderr pflow check flow.json
    expect 65 - 'pflow check: 1 error'
    [[ $output == *"PF14: no 'bodi' in fetch.issue_data; it has "*"(did you mean body?)" ]]
    mkdir own && export PFLOW_NODES=$PWD/own
    printf 'from pocketflow import Node\n\n\nclass Template(Node):\n    pass\n' >own/template.py
    shadowed="PF11: warning: 'template' is pflow's own node, which comes before '$PWD/own/template.py'; rename the file to use it"
    run --separate-stderr pflow check 'template a => template b'
    expect 0 "pipe: nodes[0].type: $shadowed"
    run --separate-stderr pflow run -n -r 'template a'
    expect 0 a "pflow run: nodes[0].type: $shadowed"
}

@test "warnings alone are 0, and 65 with --strict" {
    echo '{"nodes": [{"type": "llm", "inputs": {"prompt": "${"}}]}' >flow.json
    run --separate-stderr pflow check flow.json
    expect 0 '-' 'pflow check: 1 warning'
    run --separate-stderr pflow check --strict flow.json
    expect 65
}

@test "a user's own node is read, and neither imported nor run" {
    mkdir nodes
    export PFLOW_NODES=$PWD/nodes
    printf 'open("ran", "w")\nclass Mine:\n    pass\n' >nodes/mine.py
    printf '#!/bin/sh\n# Interface:\n# - Reads: shared["n"]: int\ntouch ran\n' >nodes/pflow-own
    chmod +x nodes/pflow-own
    echo '{"nodes": [{"type": "mine"}, {"type": "own", "inputs": {"n": "many"}}]}' >flow.json
    run --separate-stderr pflow check flow.json
    expect 65 '-' 'pflow check: 2 errors'
    [[ $output == *"nodes[0].type: PF09: 'mine' is not a node"*"nodes[1].inputs.n: PF13: 'n' does not fit: it is a str, not int"* ]]
    [ ! -e ran ]
}

@test "an answer that nothing uses is told with its mapping, by the check, by the run and by plan --wire" {
    cat >flow.json <<'END'
{"nodes": [{"type": "list-files", "inputs": {"pattern": "*.txt"}},
           {"type": "read-file", "inputs": {"path": "notes.txt"}},
           {"type": "shell", "inputs": {"command": "sort"}},
           {"type": "write-file", "inputs": {"path": "out.txt"}}],
 "outputs": {"files": "list-files.files"}}
END
    mapping='"mappings": {"write-file": {"input_mappings": {"content": "shell.stdout"}}}'
    told="nodes[2]: PF18: warning: nothing uses what 'shell' writes, while 'write-file' takes 'content' from 'read-file'; $mapping"
    run --separate-stderr pflow check flow.json
    expect 0 '-' 'pflow check: 2 warnings'
    [[ $output == *"nodes[1]: PF18: warning: nothing uses what 'read-file' writes, while 'shell' takes no 'input'"*"$told" ]]
    printf 'b\na\n' >notes.txt
    run --separate-stderr pflow run flow.json -q
    expect 0 '' "pflow run: $told"
    pflow plan --wire flow.json >wired.json
    run --separate-stderr pflow check wired.json
    expect 0 'wired.json: 4 steps, pflow form: no findings'
    pflow run wired.json -q
    [ "$(cat out.txt)" = $'a\nb' ]
}

@test "a flow that is not there is 66, and none at all is 2" {
    run --separate-stderr pflow check none.json
    expect 66 '' "cannot find the flow 'none.json'"
    run --separate-stderr pflow check
    expect 2 '' 'cannot load a flow'
}

@test "the flows that help shows break no rule" {
    for command in help run check explain export resume; do pflow "$command" --help; done | grep -o "'[^']* => [^']*'" | tr -d "'" >flows
    [ "$(wc -l <flows)" -ge 5 ]
    while IFS= read -r flow; do
        run --separate-stderr pflow check --strict "$flow"
        [ "$status" -eq 0 ] || expect 0 "$flow"
    done <flows
}
