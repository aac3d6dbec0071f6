# What a flow needs and nobody gave: asked for on a terminal, told with the flags to give in scripts (seed 001).

setup() {
    load helper
    mkdir -p .local/share/pflow/flows nodes
    export PFLOW_NODES=$PWD/nodes
    (cd nodes && node get_issue 'Reads: shared["issue_number"]: int [flag issue]  # issue number' \
        'Writes: shared["title"]: str [pipe]  # its title' <<<'    def post(self, shared, prep, done): shared["title"] = f"{shared['"'issue_number'"']!r}"')
    cat >.local/share/pflow/flows/fix-issue.pflow.json <<'END'
{"inputs": {"issue_number": {"type": "int", "description": "issue number"}, "tone": {"type": "warm|cold", "description": "how to say it"},
  "labels": {"type": "list[str]", "description": "labels to set"}, "draft": {"type": "bool", "description": "whether it is a draft"}},
 "nodes": [{"id": "get", "type": "get-issue"},
  {"id": "say", "type": "shell", "inputs": {"command": "echo \"$@\"", "args": ["$issue_number", "$tone", "$labels", "$draft"]}}]}
END
}

@test "in a script it is 66 with all the flags to give, each with its type" {
    in_shells 'pflow fix-issue -r; echo $?'
    expect 0 66 "'issue_number' (issue number)"
    [[ $stderr == *"; --issue-number=INT '--tone=warm|cold' --labels=LIST --draft=BOOL" ]]
    flags=$(sed 's/.*(PF03); //; s/INT/7/; s/warm|//; s/LIST/a/; s/BOOL/true/' <<<"$stderr")
    in_shells "pflow fix-issue -r $flags"
    expect 0 '7 cold ["a"] true'
    in_shells "pflow 'get-issue => shell' -r; echo \$?"
    expect 0 66 '--issue=INT --command=STR'
}

@test "on a terminal each is asked for by its type; a wrong answer says why and asks again" {
    in_terminal bash --norc -i
    type_line 'pflow fix-issue'
    shows 'needs --issue-number (issue number): int?'
    type_line 12x
    shows "cannot take --issue-number='12x': it is not an int"
    type_line 12
    shows 'needs --tone (how to say it): warm|cold?'
    type_line hot
    shows "cannot take --tone='hot': it is not one of warm, cold"
    type_line warm
    shows 'needs --labels (labels to set): an item, or a JSON list?'
    type_line '["a b","c"]'
    shows 'needs --draft (whether it is a draft): y|n?'
    type_line yes
    shows '12 warm ["a b","c"] true'
}

@test "a subflow's inputs and those of pipe syntax are asked for as well" {
    echo '{"nodes": [{"id": "all", "type": "flow:fix-issue", "inputs": {"tone": "cold", "labels": [], "draft": false}}]}' >outer.pflow.json
    in_terminal bash --norc -i
    type_line 'pflow run outer.pflow.json -r'
    shows 'flow:fix-issue needs --issue-number'
    shows 'int?'
    type_line 5
    shows '5 cold [] false'
    type_line 'clear; pflow "get-issue => write-file" -q; echo "<$?>"'
    shows 'get-issue needs --issue (issue number): int?'
    type_line 6
    shows 'write-file needs --path (the file to write): path?'
    type_line 'out file'
    shows '<0>'
    [ "$(cat 'out file')" = 6 ]
}

@test "TAB completes the path that a question asks for, and the terminal is as before" {
    mkdir 'my box' 'my car'
    echo hello >'my box/a file'
    in_terminal INPUTRC=/dev/null bash --norc -i
    for answer in 'my b:a' '~/my b:a'; do
        type_line 'clear; pflow "read-file => shell --command=cat" -rn | tr a-z A-Z'
        shows 'read-file needs --path (the file to read): path?'
        "${tmux[@]}" send-keys -l "${answer%:*}" \; send-keys Tab
        shows 'my box/'
        "${tmux[@]}" send-keys -l "${answer#*:}" \; send-keys Tab Enter
        shows HELLO
    done
    echo '{"inputs": {"path": {"type": "path", "description": "Größe"}}, "nodes": [{"id": "read-file"}],
        "mappings": {"read-file": {"input_mappings": {"path": "path"}}}}' >size.pflow.json
    type_line 'clear; PYTHONIOENCODING=ascii pflow run size.pflow.json -r'
    shows 'read-file needs --path (Größe): path?'
    interrupt
    shows 'ended by SIGINT'
    type_line 'stty -a | tr " ;" "\n\n" | grep -cx -e icanon -e echo'
    until_true eval 'screen | grep -qx 2'
}

@test "^C at a question is 130, ^D is 66, and nothing ran" {
    in_terminal bash --norc -i
    for key in C-c:130 C-d:66; do
        type_line "clear; pflow run 'shell --command=\"touch ran\" => get-issue'; echo \"<\$?>\""
        shows 'needs --issue (issue number): int?'
        "${tmux[@]}" send-keys "${key%:*}"
        if [ "$key" = C-c:130 ]; then # the shell gives up its line at ^C
            shows 'ended by SIGINT'
            type_line 'echo "<$?>"'
        fi
        shows "<${key#*:}>"
        type_line clear
        until_true eval '! screen | grep -q needs'
    done
    [ ! -e ran ]
}

@test "a stage alone does not ask, and a secret is never asked for" {
    (cd nodes && node locked 'Reads: shared["key"]: str [secret]  # a key' <<<'    pass')
    in_terminal bash --norc -i
    type_line 'pflow get-issue; echo "<$?>"'
    shows '<66>'
    type_line 'clear; pflow run locked; echo "<$?>"'
    shows '<66>'
    run -1 eval 'screen | grep " needs "'
}
