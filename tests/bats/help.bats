#!/usr/bin/env bats
# --help, --describe and --version (DESIGN.md, sections 3 to 5).
# shellcheck disable=SC2016,SC2154

load helper

nodes='read-file write-file list-files shell llm'

@test "a node's help has three groups, in order" {
    for node in read-file llm; do
        in_shells "pflow-$node --help | grep -x 'Data (into the store):\|Params (how it works):\|Common:'"
        expect 0 $'Data (into the store):\nParams (how it works):\nCommon:'
    done
}

@test "help names every read, param and common flag, and the exit codes" {
    for node in $nodes; do
        in_shells "pflow-$node --help; pflow-$node -h | cmp - /dev/null"
        for flag in from no-stdin id map-in map-out verbatim raw json quiet dry-run retries wait timeout allow-empty debug \
            verbose describe help version; do
            [[ $output == *"--$flag"* ]] || expect 0 "--$flag"
        done
        [[ $output == *'66 '* && $output == *'141 '* ]]
    done
    in_shells 'pflow-llm --help'
    for flag in prompt text model system temperature max-tokens schema option; do
        [[ $output == *"--$flag "* ]] || expect 0 "--$flag"
    done
}

@test "--describe is one JSON object with the interface" {
    need jq
    for node in $nodes; do
        in_shells "pflow-$node --describe | jq -r '.name, (.reads | type), (.writes | type), (.params | type), .version'"
        expect 0 "$node"$'\nobject\nobject\nobject\n1.0.0'
    done
    in_shells 'pflow-shell --describe | jq -c "[.reads.command.marks, .params.check.default, .writes.stdout.marks, .actions, .effects]"'
    expect 0 '[["explicit","verbatim","word"],true,["pipe"],["default","error"],["runs commands"]]'
}

@test "--version says the node's and pflow's" {
    for node in $nodes; do
        in_shells "pflow-$node --version"
        [[ $output =~ ^"pflow-$node 1.0.0 (pflow-shell "[0-9.a-z]+\)$ ]] || expect 0 "$node"
    done
    for tool in get set catch; do
        in_shells "pflow-$tool --version"
        [[ $output =~ ^"pflow-$tool (pflow-shell "[0-9.a-z]+\)$ ]] || expect 0 "$tool"
    done
    in_shells 'pflow --version'
    [[ $output =~ ^"pflow (pflow-shell "[0-9.a-z]+\)$ ]]
}

@test "help reads no stdin and needs no value" {
    in_shells 'mkfifo f; exec 3<>f; timeout 10 pflow-llm --help <&3 >/dev/null && timeout 10 pflow-get --help <&3 >/dev/null && echo fine'
    expect 0 fine
}

@test "pflow's help lists the commands, nodes and tools" {
    in_shells 'pflow --help; pflow help | head -n 1'
    for word in trace $nodes catch get set; do
        [[ $output == *"$word"* ]] || expect 0 "$word"
    done
    in_shells 'pflow >o; echo $?; cat o'
    expect 0 2 'Usage: pflow WORD'
    in_shells 'pflow read-file --help >a; pflow-read-file --help | cmp - a; pflow trace --help | head -n 1'
    expect 0 'Usage: pflow trace [FLAG]… [RUN]'
}
