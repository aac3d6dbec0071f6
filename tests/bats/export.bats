#!/usr/bin/env bats
# pflow export and pflow import: the same flow as something else, and back (DESIGN.md, sections 6 and 9).
# shellcheck disable=SC2016,SC2154

load helper

export flow='read-file --path=in.txt => shell:count --command="wc -w" => write-file --path="$path.$exit_code"'

@test "a script ends with the store that pflow run ends with, and its stages do the same" {
    need jq
    in_shells '
        echo one two >in.txt
        pflow run -j "$flow" </dev/null | jq -S "del(.[\"\$pflow\"])" >by-run; cat in.txt.0; rm in.txt.0
        pflow export --to=sh -o flow.sh "$flow" && ./flow.sh | jq -S "del(.[\"\$pflow\"])" | cmp - by-run
        cat in.txt.0; tail -n 3 flow.sh'
    expect 0 $'2\n2\npflow-read-file -n --path=in.txt |\n    pflow-shell --command=\'wc -w\' |\n    pflow-write-file --path=\'${path}.${exit_code}\''
}

@test "Python ends with that store as well, with the flags, stdin and codes of pflow run" {
    need jq
    in_shells '
        echo one two >in.txt
        pflow run -j "$flow" </dev/null | jq -S "del(.[\"\$pflow\"])" >by-run
        pflow export --to=python -o flow.py "$flow"; [ -x flow.py ] && echo executable
        "$PYTHON" flow.py -j </dev/null | jq -S "del(.[\"\$pflow\"])" | cmp - by-run && cat in.txt.0
        rm in.txt; "$PYTHON" flow.py -q </dev/null 2>/dev/null; echo $?
        pflow export --to=python "shell:up --command=\"tr a-z A-Z\"" >up.py; echo words | "$PYTHON" up.py -r'
    expect 0 $'executable\n2\n66\nWORDS'
}

@test "a script takes the inputs of the flow as flags, whatever is in them" {
    export nasty=$'$x "q" \' \\ `z`  é\n$$two'
    in_shells '
        pflow export --to=sh "shell --command=cat --input=\"\$text\"" >flow.sh
        sh flow.sh --text="$nasty" | pflow-get stdout'
    expect 0 "$nasty"
    in_shells '
        pflow export --to=sh "shell --command=cat --input=\"<\$text>\"" >flow.sh
        sh flow.sh --nope=1; echo $?; sh flow.sh; echo $?'
    expect 0 $'2\n66' "no such flag"
}

@test "no text of a flow's file becomes code of a script, whatever it says it is" {
    need jq
    in_shells '
        break="x
touch CANARY #"
        jq -n --arg x "$break" "{name: \$x, description: \$x, inputs: {(\$x): {description: \$x, default: \$x}}, nodes: [
            {id: \"a\", type: \"shell\", inputs: {command: \"cat\", args: [\$x]}}],
            mappings: {a: {input_mappings: {input: \"[\(\$x | tojson)]\"}}}}" >x.pflow.json
        pflow export --to=sh x.pflow.json >x.sh; sh x.sh | pflow-get stdout; echo; ls CANARY'
    expect 2 $'x\ntouch CANARY #' "No such file"
    # The name of a param that nobody declared.
    in_shells '
        printf "%s\n" "from pocketflow import Node" "class Own(Node): pass" >own.py
        jq -n "{nodes: [{type: \"own\", params: {\"x\ntouch CANARY\n\": \"y\"}}]}" >own.pflow.json
        PFLOW_NODES=$PWD pflow export --to=sh own.pflow.json >own.sh; PFLOW_NODES=$PWD sh own.sh; ls CANARY'
    expect 2 - "No such file"
}

@test "a flow that breaks a rule is not exported, and its findings are said" {
    in_shells "pflow export --to=dot 'read-fil --path=x'"
    expect 65 '' 'cannot export: nodes[0].type: PF11: '
}

@test "what is exported comes from a file, a saved flow, stdin or pipe syntax" {
    in_shells '
        echo "{\"nodes\":[{\"id\":\"a\",\"type\":\"shell\",\"inputs\":{\"command\":\"true\"}}]}" >f.pflow.json
        mkdir -p "$HOME/.local/share/pflow/flows"; cp f.pflow.json "$HOME/.local/share/pflow/flows/saved.pflow.json"
        for flow in f.pflow.json saved -; do pflow export --to=mermaid $flow <f.pflow.json | tail -n 1; done
        pflow export --to=mermaid shell:a --command=true :: shell:b --command=true | tail -n 1'
    expect 0 $'    n1["a<br/>shell"]\n    n1["a<br/>shell"]\n    n1["a<br/>shell"]\n    n1 --> n2'
}

@test "a file that cannot be written is 73, and what was there stays" {
    in_shells 'mkdir d; pflow export --to=dot -o d "shell --command=true"; echo $?; echo old >o
        pflow export --to=dot -o o "read-fil --path=x"; cat o'
    expect 0 $'73\nold' "cannot write 'd'"
}

@test "a pocketflow Flow is imported, runs, and what is missing is said" {
    in_shells '
        printf "%s\n" "from pocketflow import Flow, Node" "class Hi(Node):" "    def post(self, s, p, e): s[\"hi\"] = 1" \
            "def make():" "    a, b = Hi(), Hi()" "    a >> b" "    return Flow(start=a)" >hi.py
        pflow import hi.py:make -o hi.pflow.json; pflow run -q hi.pflow.json </dev/null 2>/dev/null; echo $?
        PFLOW_NODES=$PWD pflow run -j hi.pflow.json </dev/null 2>/dev/null | pflow-get hi
        for name in hi.py:nope hi.py; do pflow import $name 2>/dev/null; echo $?; done'
    expect 0 - "no node is called 'Hi': put the class into hi.py in a directory on PFLOW_NODES"
    [ "$output" = $'65\n1\n66\n2' ]
}
