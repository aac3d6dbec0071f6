#!/usr/bin/env bats
# --help, --describe and --version.
# shellcheck disable=SC2016,SC2154

load helper

nodes='read-file write-file list-files shell llm'

@test "a node's help has three groups, in order" {
    for node in read-file llm; do
        in_shells "pflow-$node --help | grep -x 'Data (into the store):\|Params (how it works):\|Common:'"
        expect 0 $'Data (into the store):\nParams (how it works):\nCommon:'
    done
}

@test "help names every read, param and common flag, and where the exit codes are told" {
    for node in $nodes; do
        in_shells "pflow-$node --help"
        for flag in from no-stdin id map-in map-out verbatim raw json quiet dry-run retries wait timeout allow-empty debug \
            verbose describe help version; do
            [[ $output == *"--$flag"* ]] || expect 0 "--$flag"
        done
        [[ $output == *$'\nExit codes: pflow help exit, or pflow-exit(7)' ]]
    done
    in_shells 'pflow-llm --help -v >whole; pflow-llm -vh | cmp - whole; grep -c "^  --map-in KEY=PATH  *read KEY" whole; pflow-llm --help'
    [[ ${lines[0]} -eq 1 && ${#lines[@]} -lt 45 && $output != *'read KEY'* ]]
    in_shells 'pflow run -h | grep -c "this many branches"; pflow run --help -v | grep -c "this many branches"'
    expect 0 $'0\n1'
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
    version=$output
    for way in -V version; do
        in_shells "pflow $way"
        expect 0 "$version"
    done
    in_shells 'pflow version --jsn'
    expect 2 '' "no such flag"
}

@test "help reads no stdin and needs no value" {
    in_shells 'mkfifo f; exec 3<>f; timeout 10 pflow-llm --help <&3 >/dev/null && timeout 10 pflow-get --help <&3 >/dev/null && echo fine'
    expect 0 fine
}

@test "pflow's help has each command in its group with half a line, the nodes and the tools" {
    in_shells 'pflow --help >a; pflow -h | cmp - a; pflow help | cmp - a; pflow help pflow | cmp - a; grep -x "Run:\|Look:\|Keep:\|Make:" a'
    expect 0 $'Run:\nLook:\nKeep:\nMake:'
    in_shells 'pflow --help'
    for line in 'runs  *List the runs, how each ended' 'save  *Save a flow under a name' 'llm  *Ask a language model$' 'get  *Print the raw value'; do
        grep -q "^  $line" <<<"$output" || expect 0 "$line"
    done
    in_shells 'pflow read-file --help >a; pflow-read-file --help | cmp - a; pflow trace --help | head -n 1'
    expect 0 'Usage: pflow trace [FLAG]… [RUN] [RUN]'
}

@test "pflow alone prints its help, but not for a text from the pipe, and the pipe knows" {
    in_shells 'pflow --help >a; pflow </dev/null | cmp - a; echo $?'
    expect 0 0
    in_shells 'echo text | pflow 2>/dev/null | pflow-write-file --path=o >/dev/null 2>&1; echo $?; ls'
    expect 0 2
    in_terminal sh
    type_line 'pflow; echo "code $?"'
    shows 'code 0'
    shows '  pflow help llm'
}

@test "pflow help WORD shows the help of a command, node or flow, or a page, without man too" {
    in_shells 'pflow help save | head -n 1; pflow help llm | head -n 1; pflow save s "shell --command=ls" >/dev/null
        pflow help s | head -n 1; pflow help help | head -n 1'
    expect 0 $'Usage: pflow save [FLAG]… NAME [FLOW…]\nUsage: pflow-llm [FLAG]… [PROMPT]\nUsage: pflow s [FLAG]…\nUsage: pflow help [WORD]'
    in_shells 'mkdir bin; ln -s "$(command -v pflow)" "$(command -v python3)" bin; PATH=$PWD/bin; export PATH
        for page in exit store flow node intro agents pflow-exit; do pflow help $page || exit; done'
    expect 0
    [[ $output == *'75  *try again later'* || $output == *$'75\n'*'try again later'* ]]
    [[ $output != *'\\'[-\&%f]* ]]
    in_shells 'pflow help PF03; pflow help pl09; pflow help 77; pflow help 137; pflow help pipes | head -n 1
        pflow help flows | head -n 1'
    expect 0 $'PF03  every required read has a source (error; where a flag may be meant, a warning)\n(pflow help flow has all)
PL09  the piped input is used\n(pflow help plan has all)\n77  not allowed, or no key\n(pflow help exit has all)
128+n  ended by signal n\n(pflow help exit has all)\n# Pipes\n# Flows'
    for slip in exitt:exit PF3:PF03 read-fil:read-file savee:save; do
        run -127 --separate-stderr pflow help "${slip%:*}"
        expect 127 - "pflow: cannot find help on '${slip%:*}'; did you mean ${slip#*:}"
    done
    for door in help nodes ''; do
        run -127 --separate-stderr pflow $door llm@9.0
        expect 127 - '; there is no version 9.0 of llm; it is '
    done
    in_shells 'pflow help group; pflow help loop; pflow help --each; pflow help --max-visits | cut -c-15; pflow help PF99; :'
    expect 0 $'pflow help flow tells of \'group\'\npflow help flow tells of \'loop\'\npflow help flow tells of \'each\'\npflow help flow' \
        "pflow: cannot find help on 'PF99'; pflow --help lists all commands"
    in_shells 'pflow help a b'
    expect 2 ''
    need man
    in_shells 'pflow help exit | col -b'
    [[ $output == *'PFLOW-EXIT(7)'* ]]
}

@test "a stage and a tool show their help even beside wrong flags, unless it is the value of one" {
    for program in pflow-template pflow-get pflow-set; do
        run --separate-stderr "$program" --zzz -n --help
        [ "$status" = 0 ]
        [[ $output == "Usage: $program"* ]]
    done
    run --separate-stderr pflow-template -n --template --help -r
    expect 0 --help
    run --separate-stderr pflow-template --zzz --version
    [[ $output == "pflow-template "* ]]
}
