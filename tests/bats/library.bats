#!/usr/bin/env bats
# The library: save, list, show and remove, as shells, terminals and cron use them.
# shellcheck disable=SC2016,SC2154

load helper

COUNT="shell --command='wc -w'"

setup() { flows=.local/share/pflow/flows; }

@test "a saved flow is run by its name, listed, shown, and a node for other flows" {
    in_shells 'export HOME=$PWD
        pflow save count "shell --command=\"wc -w\"" --description="Count words" | sed "s,.*/flows/,,"
        echo to be or not | pflow count -r
        echo to be or not | pflow run "count => shell --command=cat" -r
        echo to be or not | pflow run flow:count | pflow-get stdout
        pflow list
        pflow show count | grep -A 1 "As a pipe"'
    expect 0 "count.pflow.json
4
4
4
count  Count words
As a pipe
  shell --command='wc -w'"
}

@test "a flow is saved from words, from a file, from a pipe" {
    need jq
    in_shells 'export HOME=$PWD; exec 3>&1 >paths
        echo "{\"nodes\": [{\"type\": \"shell\", \"inputs\": {\"command\": \"wc -w\"}}]}" >flow.json
        pflow save a shell --command="wc -w" "=>" shell --command=cat
        pflow save b --description=B shell --command="wc -w" :: shell --command=cat
        pflow save c flow.json; pflow save d <flow.json; cat flow.json | pflow save e -; pflow save f c
        cd .local/share/pflow/flows && jq -r "\"\(.name) \(.nodes | length)\"" *.json >&3'
    expect 0 $'a 2\nb 2\nc 1\nd 1\ne 1\nf 1'
}

@test "without a terminal another flow is replaced by --force alone, and the old one comes back" {
    in_shells 'export HOME=$PWD; exec 3>&2 2>err
        pflow save count "shell --command=\"wc -w\"" >file
        pflow save count "shell --command=\"wc -l\""; echo $?
        echo a b | pflow count -r
        pflow save count --force "shell --command=\"wc -l\"" >file; echo a b | pflow count -r
        pflow show count --old --json | pflow save count --force >file; echo a b | pflow count -r
        pflow remove count >file; pflow count; echo $?
        pflow show count --old --json | pflow save count >file; echo a b | pflow count -r; ls .local/share/pflow/flows/old; cat err >&3'
    expect 0 $'73\n2\n1\n2\n127\n2\ncount.1.pflow.json\ncount.2.pflow.json\ncount.3.pflow.json' '--force replaces it'
}

@test "on a terminal it asks, also when the flow comes through a pipe" {
    pflow save count "$COUNT" --description=$'words \e[31m'
    in_terminal bash --norc
    type_line "pflow save count 'shell --command=\"wc -l\"'"
    shows 'is saved as count (words \x1b[31m). Replace it'
    type_line n
    shows "'count' is left as it was"
    type_line 'clear; echo "code $?"; pflow show count --json | sed s/wc.-w/wc\ -c/ | pflow save count; echo "then $?"'
    shows 'Replace it'
    type_line y
    shows 'then 0'
    grep -q 'wc -c' "$flows/count.pflow.json"
    grep -q 'wc -w' "$flows/old/count.1.pflow.json"
    type_line 'clear; pflow save count "shell --command=date"'
    shows 'Replace it'
    "${tmux[@]}" send-keys C-c
    type_line 'echo "then $?"'
    shows 'then 130'
    type_line 'clear; pflow save count "shell --command=date"; echo "then $?"'
    shows 'Replace it'
    "${tmux[@]}" send-keys C-d
    shows 'then 1'
    grep -q 'wc -c' "$flows/count.pflow.json"
}

@test "without a flow a terminal is not waited for" {
    in_terminal bash --norc
    type_line 'pflow save count; echo "code $?"'
    shows 'code 2'
    screen | grep -F "cannot save 'count': there is no flow; pflow save count FILE"
}

@test "the command of a flow is a stage, and goes with its flow" {
    in_shells 'export HOME=$PWD PATH=$PWD/.local/bin:$PATH
        pflow save count "shell --command=\"wc -w\"" --command >file; ls .local/bin
        echo to be or not | pflow-count -r
        printf "to be\nor not\n" | pflow-shell --command=cat | pflow-count | pflow-get stdout
        pflow remove count >file; ls .local/bin; pflow-count; echo $?' 2>&1
    expect 0 $'pflow-count\n4\n4\n127' ''
}

@test "the command of a flow has its flags, whatever their values are, and is no node beside it" {
    export PATH=$HOME/.local/bin:$PATH
    pflow save count "$COUNT" --command
    run --separate-stderr pflow-count -n --nope
    expect 2 - 'cannot take --nope'
    [[ $output == *'"error"'* ]]
    run --separate-stderr sh -c 'pflow-count --help | head -1; pflow-count --args "|" --input ";" -r
        pflow nodes | grep -c count; pflow nodes --json | grep -c pflow-count; echo a | pflow run "pflow-count | pflow-shell --command=cat" -r'
    expect 0 $'Usage: pflow count [FLAG]…\n1\n1\n0\n1' ''
}

@test "a file of its name in the directory is never run for a saved flow" {
    pflow save count "$COUNT"
    echo 'shell --command="echo mine"' >count
    run --separate-stderr sh -c 'echo a b | pflow count -r; echo a b | pflow run count -r; pflow run -n ./count -r'
    expect 0 $'2\n2\nmine' ''
}

@test "pflow NAME runs the flow itself, also where its command is on PATH" {
    need strace
    export PATH=$HOME/.local/bin:$PATH
    pflow save count "$COUNT" --command
    echo a b | strace -f -e trace=execve -o trace pflow count -r
    run grep -c 'pflow-count' trace
    expect 1 0
}

@test "the command of a flow runs where there is no PATH, as from cron, whatever its directories are called" {
    home=$PWD/"it's a \$home" && mkdir "$home"
    HOME=$home pflow save count 'shell --command="wc -w"' --command
    run --separate-stderr sh -c 'echo a b c | env -i HOME="$1" "$1/.local/bin/pflow-count" -r; cd / && echo a b | env -i "$1/.local/bin/pflow-count" -r' sh "$home"
    expect 0 $'3\n2'
    HOME=$home pflow remove count
    [ "$(ls "$home/.local/bin")" = '' ]
}

@test "a file that is in the way of the command is left, and nothing is saved" {
    mkdir -p .local/bin && echo mine >.local/bin/pflow-count
    run --separate-stderr pflow save count "$COUNT" --command
    expect 73 '' "somebody else's file is there"
    [ "$(cat .local/bin/pflow-count)" = mine ]
    [ ! -e "$flows" ]
    chmod 500 .local/bin && rm -f .local/bin/pflow-other
    run --separate-stderr as_mortal "pflow save other 'shell --command=date' --command"
    chmod 700 .local/bin
    expect 77 '' 'permission denied'
    [ ! -e "$flows" ]
}

@test "of many that save at once each wins whole or not at all" {
    need jq
    sh -c 'for each in 1 2 3 4 5 6; do pflow save count "shell --command=\"echo $each\"" >won.$each 2>said.$each & done; wait'
    [ "$(cat won.* | wc -l)" -eq 1 ]
    [ "$(cat said.* | grep -c 'another flow has this name')" -eq 5 ]
    sh -c 'for each in 1 2 3 4 5 6; do pflow save count --force "shell --command=\"date +$each\"" & done; wait' >/dev/null 2>&1
    run sh -c "jq -r '.nodes[0].inputs.command' $flows/*.json $flows/old/*.json | grep date | sort"
    expect 0 $'date +1\ndate +2\ndate +3\ndate +4\ndate +5\ndate +6'
}

@test "kill -9 at any moment leaves a whole flow, the old one or the new" {
    need strace jq
    pflow save count "$COUNT"
    killed=0
    for call in linkat rename fsync unlink; do
        for when in 1 2 3 4; do
            run strace -f -o /dev/null -e trace="$call" -e inject="$call:signal=KILL:when=$when" \
                pflow save count --force "shell --command='date +$call$when'"
            [ "$status" -eq 137 ] || break # there are no more calls
            killed=$((killed + 1))
            for file in "$flows"/*.pflow.json "$flows"/old/*; do
                [ ! -e "$file" ] || jq -e '.nodes[0].inputs.command' "$file"
            done
        done
    done
    echo "killed: $killed" && [ "$killed" -ge 4 ]
    run --separate-stderr pflow list
    expect 0 'count'
}

@test "a full disk is 73 and leaves the old flow" {
    mkdir -p disk
    mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null || skip 'no file system may be mounted here'
    export XDG_DATA_HOME=$PWD/disk
    pflow save count "$COUNT"
    head -c 60000 /dev/zero >disk/more 2>/dev/null || true
    cat /dev/zero >disk/rest 2>/dev/null || true
    run --separate-stderr pflow save count --force "shell --command='date'"
    cp disk/pflow/flows/count.pflow.json . && ls -A disk/pflow/flows disk/pflow/flows/old >left
    umount disk
    expect 73 '' 'no space left'
    grep -q 'wc -w' count.pflow.json
    run grep -c tmp left
    expect 1 0
}

@test "a library that may not be written or read is 77" {
    pflow save count "$COUNT"
    chmod 500 "$flows"
    run --separate-stderr as_mortal "pflow save more 'shell --command=date'"
    expect 77 '' "cannot save 'more': permission denied '$HOME/$flows'"
    run --separate-stderr as_mortal 'pflow remove count'
    expect 77 '' "cannot remove 'count': permission denied"
    chmod 000 "$flows"
    run --separate-stderr as_mortal 'pflow list'
    chmod 700 "$flows"
    expect 77 '' 'cannot list the saved flows'
    [ -e "$flows/count.pflow.json" ]
}

@test "without a home nothing is saved, and nothing else fails" {
    pflow=$(command -v pflow)
    run --separate-stderr env -i "$pflow" save count "$COUNT"
    expect 78 '' 'neither XDG_DATA_HOME nor HOME names one'
    run --separate-stderr env -i "$pflow" list
    expect 0 '' 'no flow is saved yet'
    run -127 --separate-stderr env -i "$pflow" show count
    expect 127 '' "cannot find the saved flow 'count'"
    run -127 --separate-stderr env -i "$pflow" remove count
    expect 127 '' 'nothing is removed'
}

@test "a list that nobody reads to its end, or that cannot be printed, says no more than that" {
    pflow save count "$COUNT"
    run --separate-stderr bash -c 'pflow list >/dev/full; echo $?; pflow list | true; echo ${PIPESTATUS[0]}; pflow show count >&-; echo $?'
    expect 0 $'73\n141\n73' 'cannot write to stdout'
}

@test "a plan that is saved is shown as a pipe, with the values of its inputs" {
    printf '%s' '{"inputs":{"file":{"type":"path","default":"a.txt"}},"nodes":[{"id":"r","type":"read-file"}],"mappings":{"r":{"input_mappings":{"path":"file"}}}}' |
        pflow save shown - 2>/dev/null
    run --separate-stderr pflow show shown
    expect 0 - ''
    [[ $output == *$'As a pipe\n  read-file:r --path=a.txt'* && $output == *'--file'* ]]
}

@test "why a flow with inputs is no pipe is said, and it is not its inputs" {
    echo '{"inputs": {"all": {"type": "str", "default": "*.txt"}},
        "nodes": [{"id": "l", "type": "list-files"}, {"id": "r", "type": "read-file", "batch": {"over": "files", "as": "path"}}],
        "mappings": {"l": {"input_mappings": {"pattern": "all"}}}}' | pflow save each - 2>/dev/null
    run --separate-stderr bash -c 'COLUMNS=200 pflow show each | grep pipe'
    [[ $output == *"Not as a pipe: it has a batch, which runs a step once for each item"* ]]
}

@test "what a saved flow says of itself gives a terminal no orders in JSON either" {
    printf '{"description":"\\u009b31m\\u202ered","nodes":[{"type":"read-file","inputs":{"path":"a"}}]}' | pflow save odd - 2>/dev/null
    for words in 'list --json' 'find odd --json'; do
        run --separate-stderr pflow $words
        expect 0 - ''
        [[ $output == *'\u009b31m\u202ered'* ]]
    done
}

@test "a saved flow goes by the name of its command too" {
    pflow save hail 'shell --command="echo hail"' 2>/dev/null
    run --separate-stderr pflow pflow-hail -n -r
    expect 0 hail ''
}
