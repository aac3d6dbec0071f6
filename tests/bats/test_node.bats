#!/usr/bin/env bats
# pflow test-node: what every node is held to.
# shellcheck disable=SC2016,SC2154

load helper

broken=$(realpath "$BATS_TEST_DIRNAME/../conformance/broken")
good=$(realpath "$BATS_TEST_DIRNAME/../conformance/good")
export broken good

@test "a node passes by its name, by its file, and by a file in Python" {
    need python3 jq
    in_shells 'cp "$good/count_words.py" "$good/pflow-count" .
        for node in read-file ./pflow-count count_words.py; do
            pflow test-node "$node" -k interface -k runs -k error || echo "$node: $?"
        done | grep -v ^ok; for node in nothing read-fil; do pflow test-node $node; echo $?; done'
    expect 0 'read-file: 3 ok, 0 failed, 0 skipped
count: 3 ok, 0 failed, 0 skipped
count-words: 3 ok, 0 failed, 0 skipped
127
127' 'did you mean read-file'
}

@test "a failed check says what was sent, what came, what was expected and what to change, and the code is 1" {
    need python3
    in_shells 'pflow test-node "$broken/pflow-raw" --only=raw; echo $?'
    [[ $output == "FAILED   raw "*" sent      printf '{\"\$pflow\""*"/broken/pflow-raw "*" --raw"*" came      '4'"* ]]
    [[ $output == *" expected  '4\\n', the value"*" change    "*$'raw: 0 ok, 1 failed, 0 skipped\n1' ]]
}

@test "--json is one document" {
    need python3 jq
    in_shells 'pflow test-node "$broken/pflow-types" --json -k types -k error >report; echo $?
        jq -c "[.node, .ok, (.checks | length > 1), (.checks[] | select(.result == \"failed\") | .id, .came, .expected)]" report'
    expect 0 $'1\n["types",false,true,"types","words is a float","words: int, as its interface declares"]'
}

@test "--list shows every check and needs no node; --help shows them too" {
    in_shells 'pflow test-node --list | cut -c1-16 >ids; wc -l <ids | tr -d " " >n; pflow test-node --help >help
        while read -r id; do grep -q "^  $id " help || echo "$id"; done <ids; grep -c . ids | cmp - n'
    expect 0 ''
}

@test "a line of the interface that does not parse is named with its file" {
    in_shells 'pflow test-node "$broken/pflow-interface" | grep "came "; pflow test-node "$broken/pflow-no-interface" | head -n 2 | tail -n 1'
    [[ $output == *"broken/pflow-interface:5: "*"unknown type 'string'; did you mean str? types are str, "*"no 'Interface:' in "*/pflow-no-interface ]]
}

@test "words after -- are data and params for the runs that must succeed" {
    in_shells 'pflow test-node shell -v --only=runs -- --command="wc -c" --no-check | grep -c "wc -c.* --no-check\|--no-check.*wc -c"
        pflow test-node shell -- --comand=x; echo $?'
    expect 0 $'1\n2' 'did you mean --command?'
}

@test "a program that never ends is given up" {
    in_shells 'printf "%s\n" "#!/bin/sh" "# Interface:" "# - Reads: shared[\"a\"]: str  # a" "" "sleep 60" >pflow-a; chmod +x pflow-a
        pflow test-node pflow-a --timeout=0.3 | grep -e "came .*did not end" -e "^a: " | sort -u | sed "s/ (.*//; s/^ *came *//"'
    [[ $output == $'it did not end in time\na: '*' skipped' ]]
}

@test "a name that a shell would obey is only a name" {
    in_shells 'name="pflow-a \$(touch ran) '"'"'b"; cp "$good/pflow-count" "$name"; pflow test-node "./$name" -k runs -k error >report; echo $?; ls'
    [[ $output != *$'\nran'* && $output == *report* ]]
}

@test "nothing is left behind, in the directory, in TMPDIR or running" {
    need python3
    in_shells 'mkdir tmp; export TMPDIR=$PWD/tmp
        pflow test-node "$broken/pflow-leftovers" --only=leftovers | head -n 1 | cut -c1-20; pflow test-node write-file -k runs -k cut | head -n 1
        ls -A . tmp'
    expect 0 $'FAILED   leftovers  \nok       runs            given all that it reads, it exits with 0 and prints a document and nothing else\n.:\ntmp\n\ntmp:'
}

@test "^C and SIGTERM end what runs and remove what was made" {
    mkdir tmp
    printf '%s\n' '#!/bin/sh' '# Interface:' '# - Reads: shared["a"]: str  # a' '' "echo \$\$ >$PWD/pid; sleep 60 & wait" >pflow-a
    chmod +x pflow-a
    for signal in INT:130 TERM:143; do
        rm -f pid
        TMPDIR=$PWD/tmp "$PYTHON" -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); os.execvp(sys.argv[1], sys.argv[1:])' \
            pflow test-node ./pflow-a --only=runs 3>&- >out 2>&1 &
        until_true test -s pid
        kill "-${signal%:*}" $!
        code=0
        wait $! || code=$?
        [ "$code" -eq "${signal#*:}" ] || { echo "$code" && cat out && return 1; }
        until_true ended "$(cat pid)"
        [ -z "$(ls -A tmp)" ] || { ls -AR tmp && return 1; }
        ! grep Traceback out
    done
}

@test "a reader that goes away ends it, and no directory to test in is 73" {
    in_shells 'mkdir tmp; TMPDIR=$PWD/tmp pflow test-node read-file | head -n 1 | cut -c1-12; ls -A tmp'
    expect 0 'ok       int'
    run -141 bash -c 'pflow test-node read-file >/dev/full; echo $? >&2; exec pflow test-node read-file | :; exit ${PIPESTATUS[0]}'
    [[ $output == *73* ]]
}
