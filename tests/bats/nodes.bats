# pflow nodes: every node there is, and what it declares.

setup() { load helper; }

@test "the nodes of pflow are listed with what they touch" {
    in_shells 'PATH=$(dirname "$(command -v pflow)"):/usr/bin:/bin COLUMNS=100 pflow nodes | grep -e Nodes -e read-file -e shell | tr -s " "'
    expect 0 'Nodes that come with pflow
 read-file 1.0.0 Read a file, exactly as it is. reads files
 shell 1.0.0 Run a command with /bin/sh. runs commands'
}

@test "own nodes, programs on PATH and saved flows are listed, and none of them is run" {
    in_shells 'mkdir -p own bin data/pflow/flows
        printf "%s\n" "import pocketflow" "open(\"ran\", \"w\")" "class Mine(pocketflow.Node):" "    \"\"\"Mine.\"\"\"" >own/mine.py
        printf "%s\n" "#!/bin/sh" "# Theirs." "touch ran" >bin/pflow-theirs; chmod +x bin/pflow-theirs
        echo "{\"description\": \"Ours.\", \"nodes\": [{\"type\": \"theirs\"}]}" >data/pflow/flows/ours.pflow.json
        export PFLOW_NODES=$PWD/own PATH="$PWD/bin:$PATH" XDG_DATA_HOME=$PWD/data
        pflow nodes | grep -A 1 -e "^Your" -e "^Programs" -e "^Saved"
        pflow nodes mine theirs ours | grep "^From" | sed "s,/.*/,,"; ls'
    expect 0 'Your own nodes in Python
  mine  1.0.0  Mine.  open
--
Programs
  theirs  1.0.0  Theirs.  open
--
Saved flows
  flow:ours  Ours.  open
From     mine.py (python)
From     pflow-theirs (program)
From     ours.pflow.json (flow)
bin
data
own'
}

@test "--json has the documents that --describe gives" {
    need jq
    in_shells 'pflow nodes --json write-file | jq -S ".[0] | del(.origin, .file)" >one; pflow-write-file --describe | jq -S . >two; cmp one two && pflow nodes --json | jq -r ".[] | select(.origin == \"bundled\") | .name"'
    expect 0 $'list-files\nllm\nread-file\nshell\nwrite-file'
}

@test "a node that is not there is 127, with the nearest" {
    in_shells 'pflow nodes write-fil || echo $?'
    expect 0 127 'did you mean write-file'
}

@test "a node whose file cannot be read does not keep the others from being listed" {
    in_shells 'echo "class (" >broken.py; export PFLOW_NODES=$PWD; pflow nodes | grep -c -e "broken  *?  cannot read the node" -e "  read-file "'
    expect 0 2
}
