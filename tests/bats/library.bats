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
count  [--args] [--input]  Count words
As a pipe
  shell --command='wc -w'"
}

@test "the name in a template is the flag of a flow at every door" {
    need jq
    in_shells 'export HOME=$PWD PATH=$PWD/.local/bin:$PATH
        pflow save --command wonder "shell --command=cat --input=\$question" --description=Ask >/dev/null
        pflow list | cut -c 1-18; pflow list --json | jq -r ".[0].needs[0].flag"
        pflow show wonder | grep -o -e "--question "; pflow-wonder --help | grep -o -e "--question T"
        for to in sh python; do pflow export --to=$to wonder -o made; ./made --question=Hi | pflow-get stdout; rm made; done
        pflow-wonder --question=Hi -r; pflow run "wonder => llm Then" </dev/null -q; echo $?; pflow wonder </dev/null -q; rm -r .local'
    expect 0 'wonder  --question
--question
--question 
--question T
Hi
Hi
Hi
66'
    [[ $stderr == *'--question='*'--question='* && $stderr != *--input* ]]
}

@test "the flows of a directory are listed beside the saved ones, with what runs them" {
    need jq
    in_shells 'export HOME=$PWD; exec </dev/null; mkdir flows; echo "{" >flows/odd.pflow.json
        pflow export --to=json "shell cat --input=\$text" -o "a b.pflow.json"; cp a*.json flows/c.pflow.json
        pflow save mine ./a*.json --description=Mine >/dev/null; pflow list
        pflow list --json | jq -r ".[].run // empty" | while read -r line; do sh -c "$line --text=x -n -r" 2>&1 | cut -c 1-30; done
        cd .local/share/pflow/flows && pflow list'
    expect 0 "mine                          --text [--args]  Mine
pflow run './a b.pflow.json'  --text [--args]
pflow run flows/c.pflow.json  --text [--args]
x
x
x
mine  --text [--args]  Mine" "cannot read the flow 'flows/odd.pflow.json'"
}

@test "a malformed saved flow is an error in words, whatever is done with it" {
    mkdir -p "$flows"
    while read -r malformed; do
        echo "$malformed" >"$flows/odd.pflow.json"
        for words in show explain check run 'export --to=sh' 'run llm --prompt=x ::'; do
            # shellcheck disable=SC2086 # several words
            run -65 --separate-stderr pflow $words odd
            [[ $stderr == *PF1* || $output == *PF1* ]] || expect 65 - PF1
        done
        in_shells 'pflow list | cut -d " " -f 1; pflow find odd | wc -l; pflow nodes flow:odd >/dev/null; pflow "nosuchword of a sentence" --model=none >o; echo $?
            pflow __complete bash 9 80 "" "pflow odd --r" | grep -c -e --raw'
        expect 0 $'odd\n1\n78\n1'
    done <<'END'
{"nodes": [{"type": "llm", "params": {"input_key": ["a"]}}]}
{"nodes": [{"type": "llm", "params": {"output_key": {"a": 1}}}]}
{"nodes": [{"id": "llm"}], "mappings": {"llm": {"input_mappings": {"prompt": "a["}}}}
{"nodes": [{"id": "llm"}], "mappings": {"llm": {"input_mappings": {"": ""}}}}
{"nodes": [{"id": "a", "name": "none", "input_bindings": {"url": "u"}, "config": {"x": 1}}]}
END
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
        pflow remove count >file; pflow count >file; echo $?
        pflow show count --old --json | pflow save count >file; echo a b | pflow count -r; ls .local/share/pflow/flows/old; cat err >&3'
    expect 0 $'73\n2\n1\n2\n127\n2\ncount.1.pflow.json\ncount.2.pflow.json\ncount.3.pflow.json' '--force replaces it'
}

@test "on a terminal it asks, also when the flow comes through a pipe, and waits for none" {
    pflow save count "$COUNT" --description=$'words \e[31m'
    in_terminal bash --norc
    type_line "pflow save count 'shell --command=\"wc -l\"'"
    shows "What is it for? [shell 'wc -l']"
    type_line 'Count lines'
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
    shows 'What is it for?'
    type_line ''
    shows 'Replace it'
    interrupt
    type_line 'echo "then $?"'
    shows 'then 130'
    grep -q 'wc -c' "$flows/count.pflow.json"
    type_line 'clear; pflow save count; echo "code $?"'
    shows 'code 2'
    screen | grep -F "cannot save 'count': the flow is missing; pflow save count FILE"
    type_line 'clear; pflow save other "shell --command=date"; pflow show other | head -n 1'
    shows 'What is it for?'
    type_line 'Tell the time'
    shows 'other: Tell the time'
}

@test "the command of a flow is a stage with its flags, no node beside it, and goes with its flow" {
    in_shells 'export HOME=$PWD PATH=$PWD/.local/bin:$PATH
        pflow save count "shell --command=\"wc -w\"" --command >file; ls .local/bin
        printf "to be\nor not\n" | pflow-shell --command=cat | pflow-count | pflow-get stdout
        pflow-count --help | head -1; pflow-count --args "|" --input ";" -r; pflow pflow-count -n --input="a b" -r
        pflow nodes --json | grep -c pflow-count; echo a | pflow run "pflow-count | pflow-shell --command=cat" -r
        pflow remove count >file; ls .local/bin; pflow-count; echo $?' 2>&1
    expect 0 $'pflow-count\n4\nUsage: pflow count [FLAG]…\n1\n2\n0\n1\n127'
}

@test "a file of its name in the directory is never run for a saved flow" {
    pflow save count "$COUNT"
    echo 'shell --command="echo mine"' >count
    run --separate-stderr sh -c 'echo a b | pflow count -r; echo a b | pflow run count -r; pflow run -n ./count -r'
    expect 0 $'2\n2\nmine' ''
}

@test "the command of a flow runs where there is no PATH, as from cron, whatever its directories are called" {
    home=$PWD/"it's a \$home" && mkdir "$home"
    HOME=$home pflow save count 'shell --command="wc -w"' --command
    run --separate-stderr sh -c 'echo a b c | env -i HOME="$1" "$1/.local/bin/pflow-count" -r; cd / && echo a b | env -i "$1/.local/bin/pflow-count" -r --no-journal' sh "$home"
    expect 0 $'3\n2'
    HOME=$home pflow remove count
    [ "$(ls "$home/.local/bin")" = '' ]
}

# bats test_tags=rights
@test "a file that is in the way of the command is left, and nothing is saved" {
    mkdir -p .local/bin && echo mine >.local/bin/pflow-count
    run --separate-stderr pflow save count "$COUNT" --command
    expect 73 '' "the file is not pflow's"
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
    sh -c 'for each in 1 2 3 4; do pflow save count "shell --command=\"echo $each\"" >won.$each 2>said.$each & done; wait'
    [ "$(cat won.* | wc -l)" -eq 1 ]
    [ "$(cat said.* | grep -c 'another flow has this name')" -eq 3 ]
    sh -c 'for each in 1 2 3 4; do pflow save count --force "shell --command=\"date +$each\"" & done; wait' >/dev/null 2>&1
    run sh -c "jq -r '.nodes[0].inputs.command' $flows/*.json $flows/old/*.json | grep date | sort"
    expect 0 $'date +1\ndate +2\ndate +3\ndate +4'
}

@test "kill -9 at any moment leaves a whole flow, the old one or the new" {
    need strace jq
    pflow save count "$COUNT"
    killed=0
    for moment in linkat:1 rename:1 fsync:1 fsync:2 unlink:1; do
        run strace -f -o /dev/null -e trace="${moment%:*}" -e inject="${moment%:*}:signal=KILL:when=${moment#*:}" \
            pflow save count --force "shell --command='date +$moment'"
        [ "$status" -ne 137 ] || killed=$((killed + 1))
        for file in "$flows"/*.pflow.json "$flows"/old/*; do
            [ ! -e "$file" ] || jq -e '.nodes[0].inputs.command' "$file"
        done
    done
    echo "killed: $killed" && [ "$killed" -ge 3 ]
    run --separate-stderr sh -c 'pflow list | cut -d " " -f 1'
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

# bats test_tags=rights
@test "a library that may not be written or read is 77" {
    pflow save count "$COUNT"
    chmod 500 "$flows"
    run --separate-stderr as_mortal "pflow save more 'shell --command=date'"
    expect 77 '' "cannot save 'more': permission denied: '$HOME/$flows'"
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
}

@test "a list that nobody reads to its end, or that cannot be printed, says no more than that" {
    pflow save count "$COUNT"
    run --separate-stderr bash -c 'pflow list >/dev/full; echo $?; pflow list | true; echo ${PIPESTATUS[0]}; pflow show count >&-; echo $?'
    expect 0 $'73\n141\n73' 'cannot write to stdout'
}

@test "a saved command works where a directory has a newline in its name; a flow may begin with a byte order mark" {
    mkdir $'a\nb' && cd $'a\nb'
    printf '\xef\xbb\xbf{"nodes": [{"type": "template", "params": {"template": "hello"}}]}' >f.pflow.json
    HOME=$PWD run -0 --separate-stderr pflow save --command hi f.pflow.json
    run -0 --separate-stderr .local/bin/pflow-hi -r
    expect 0 hello
    run -0 bash -c "printf '\xef\xbb\xbftemplate hello' | pflow check -"
}
