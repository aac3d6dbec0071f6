# pflow explain: what a flow does, where its values come from and go to, what it will touch.

setup() { load helper; }

flow="read-file --path=notes.txt => llm:draft --prompt='Summarize for \$who' => write-file --path=out.md"

@test "a flow in pipe syntax is explained, from one text or from words" {
    FLOW=$flow in_shells 'pflow explain "$FLOW" >one
        pflow explain read-file --path=notes.txt :: llm:draft --prompt="Summarize for \$who" :: write-file --path=out.md >two
        cmp one two && grep -e "^\[" -e "^  who " one | tr -s " "'
    expect 0 $'[1] read-file (read-file 1.0.0): Read a file exactly.
[2] draft (llm 1.0.0): Ask a language model, through the llm library and the
[3] write-file (write-file 1.0.0): Write a file, whole or not at all.
 who any --who draft'
}

@test "a fork behind a node that may return error says where its branches meet, on both actions" {
    for node in 'shell:a --command=true' 'http:a --url=http://127.0.0.1:9'; do
        run pflow explain "$node; a => template:b x; a => template:c y; b => template:d z; c => d"
        [[ $status -eq 0 && $output == *'then '*"b, c at the same time; they meet at d"*'on error'*"they meet at d"* ]]
    done
}

@test "nothing of a flow runs" {
    in_shells 'pflow explain "shell --command=\"touch ran\" => write-file --path=out" >text; grep -c "touch ran" text; ls'
    expect 0 $'3\ntext'
}

@test "a flow may come from a file, stdin or the saved flows, whatever its form" {
    in_shells 'echo "{\"nodes\": [{\"id\": \"say\", \"type\": \"shell\", \"inputs\": {\"command\": \"echo hi\"}}]}" >say.json
        mkdir -p data/pflow/flows; cp say.json data/pflow/flows/say.pflow.json
        pflow explain say.json >one; pflow explain - <say.json >two; XDG_DATA_HOME=$PWD/data pflow explain say >three
        cmp one two; cmp one three; grep "^  runs" one'
    expect 0 '  runs commands  say  command "echo hi"'
}

@test "a flow that breaks a rule is explained all the same, its findings said first, and the code is 65" {
    in_shells 'pflow explain "shell --command=true => write-fil --path=x"'
    expect 65 - 'write-file'
    [[ $output == *'[2] write-fil (write-fil)'*'! not known'* && $stderr == *PF11* ]]
}

@test "--graph lists the steps, and the edges that do not just lead to the next one" {
    in_shells 'pflow explain --graph "shell:check --command=true =error=> llm:fix --prompt=x => check; check => write-file --path=o"'
    expect 0 "1 check (shell)
    on error: fix
    then: write-file
2 fix (llm)
    then: back to check
3 write-file"
}

@test "--json is the same as a document" {
    need jq
    FLOW=$flow in_shells 'pflow explain --json "$FLOW" | jq -c ".touches[] | [.effect, .step]" && pflow explain --json "$FLOW" | jq -c ".needs[].flag, .steps[1].reads[0].from"'
    expect 0 '["writes files","write-file"]
["network","draft"]
["reads files","read-file"]
"--who"
[{"from":"template","text":"Summarize for $who","of":[{"from":"input","path":"who","input":"who","flag":"--who"}]}]'
    in_shells 'pflow explain --json --graph x'
    expect 2 - 'cannot take both --graph and --json'
}

@test "a reader who has seen enough ends it silently" {
    FLOW=$flow in_shells 'pflow explain "$FLOW" | head -n 1; mkfifo f; exec 3<>f 4>f 3>&-; pflow explain "$FLOW" >&4; echo $?'
    expect 0 $'As a pipe\n141'
    [ -z "$stderr" ]
}
