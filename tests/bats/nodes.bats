# pflow nodes: every node there is, and what it declares.

setup() { load helper; }

@test "the nodes of pflow are listed with what they touch" {
    in_shells 'PATH=$(dirname "$(command -v pflow)"):/usr/bin:/bin COLUMNS=100 pflow nodes | grep -e Nodes -e read-file -e shell | tr -s " "'
    expect 0 'Nodes that come with pflow
 read-file 1.0.0 reads files Read a file, exactly as it is.
 shell 1.0.0 runs commands Run a command with /bin/sh.'
}

@test "own nodes, programs on PATH and saved flows are listed, and none of them is run" {
    in_shells 'mkdir -p own bin data/pflow/flows
        printf "%s\n" "import pocketflow" "open(\"ran\", \"w\")" "class Mine(pocketflow.Node):" "    \"\"\"Mine.\"\"\"" >own/mine.py
        printf "%s\n" "#!/bin/sh" "# Theirs." "touch ran" >bin/pflow-theirs; chmod +x bin/pflow-theirs
        echo "{\"description\": \"Ours.\", \"nodes\": [{\"type\": \"theirs\"}]}" >data/pflow/flows/ours.pflow.json
        export PFLOW_NODES=$PWD/own PATH="$PWD/bin:$PATH" XDG_DATA_HOME=$PWD/data
        pflow nodes | grep -A 1 -e "^Your" -e "^Programs" -e "^Saved"
        pflow nodes mine theirs ours | grep "^From" | sed "s,/.*/,,"; ls'
    expect 0 'Your own, in Python
  mine  1.0.0  open  Mine.
--
Programs, your own and on PATH
  theirs  1.0.0  open  Theirs.
--
Saved flows
  flow:ours  open  Ours.
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

@test "a search finds by all words, and is 1 where nothing is found" {
    in_shells 'pflow nodes --search "WRITE whole" | tr -s " "; pflow nodes --search=no-such-word || echo $?; pflow nodes --search write zzz || echo $?'
    expect 0 'Found, best first
 write-file 1.0.0 writes files Write a file, whole or not at all.
1
1' "cannot find a node about 'write zzz'"
}

@test "wrong flags are 2, and a closed stdout is 141" {
    in_shells 'pflow nodes --jsn; echo $?; pflow nodes --color=red; echo $?; pflow nodes --search; echo $?'
    expect 0 $'2\n2\n2' '--help lists them'
    SHELLS=bash in_shells 'pflow nodes --json | true; echo "${PIPESTATUS[0]}" | grep -x -e 0 -e 141 >/dev/null; pflow nodes >&-; echo $?'
    expect 0 73 'it is closed'
}
