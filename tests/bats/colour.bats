#!/usr/bin/env bats
# Colour, progress, prompts and notices: for people at a terminal, and for nobody else.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    unset NO_COLOR CLICOLOR_FORCE CLICOLOR
    export TERM=xterm-256color LC_ALL=C.UTF-8
    echo '{"nodes": [{"type": "lmm"}]}' >bad.pflow.json
    echo 'some text' >a.txt
}

flow='read-file --path=a.txt => shell --command="wc -w"'

# What commands print to a terminal that is stdin, stdout and stderr, a run and its trace beside each; ^[ is an escape.
on_terminal() {
    need script
    run timeout 60 script -qec "$1" /dev/null
    output=$(tr -d '\r' <<<"$output" | sed 's/\x1b/^[/g')
}

# Every command that prints for people, with what comes before its words and after.
print_all() {
    in_shells "$1 pflow explain $2 '$flow' && $1 pflow check $2 '$flow' && $1 pflow runs $2 -n 1 && $1 pflow trace $2 last </dev/null; $1 pflow check $2 ../bad.pflow.json"
}

coloured() { [[ $output == *$'\x1b['* ]]; }

@test "a terminal gets colour, in what is printed and in errors" {
    pflow run -n "$flow" -q
    for words in "explain '$flow'" "check '$flow'" 'check bad.pflow.json' runs 'trace last'; do
        on_terminal "pflow $words; echo; echo end"
        [[ $output == *'^['*'^[[0m'*end ]] || { echo "$words" && expect 0 colour; }
    done
    on_terminal 'pflow-read-file --path=/nope'
    expect 66 "^[[1;31mpflow-read-file:^[[0m cannot read '/nope': no such file or directory"
    on_terminal 'pflow-get'
    [[ $output == '^[[1;31mpflow-get:^[[0m cannot '* ]]
}

@test "a pipe gets none, nor does anything with NO_COLOR, TERM=dumb or no TERM" {
    pflow run -n "$flow" -q
    print_all '' ''
    expect 65
    run -1 coloured
    for setting in NO_COLOR=1 '-u TERM'; do
        on_terminal "export HOME; env $setting pflow explain '$flow'; env $setting pflow check bad.pflow.json; env $setting pflow runs; env $setting pflow trace last; env $setting pflow-read-file --path=/nope"
        [[ $output == *'PF11'*'done'*'[2] shell'*'pflow-read-file: cannot'* && $output != *'^['* ]] || expect 66 "no colour with $setting"
    done
}

@test "--color=always and CLICOLOR_FORCE paint a pipe, and nothing else in it changes" {
    pflow run -n "$flow" -q
    print_all '' ''
    local plain=$output
    for forced in '|--color=always' 'CLICOLOR_FORCE=1|'; do
        print_all "${forced%|*}" "${forced#*|}"
        coloured || expect 65 "colour with $forced"
        [ "$(sed 's/\x1b\[[0-9;]*m//g' <<<"$output")" = "$plain" ] || expect 65 "$plain"
    done
    run --separate-stderr env CLICOLOR_FORCE=1 pflow-read-file --path=/nope -q
    expect 66 '' $'\x1b[1;31mpflow-read-file:\x1b[0m cannot'
}

@test "JSON is never painted" {
    pflow run -n "$flow" -q
    in_shells <<'E'
        export CLICOLOR_FORCE=1
        pflow explain --json --color=always "read-file --path=a" || echo '"failed"'
        pflow check --json --color=always "read-file --path=a" || echo '"failed"'
        pflow runs --json --color=always || echo '"failed"'
        for form in json otlp; do pflow trace last --$form --color=always || echo '"failed"'; done
E
    expect 0
    [[ $output == '{'* && $output != *'"failed"'* ]]
    run -1 coloured
    run --separate-stderr env CLICOLOR_FORCE=1 pflow-shell -n --command='echo hi'
    [[ $output == '{"$pflow":'*'"stdout":"hi\n"'* ]]
    run -1 coloured
    run --separate-stderr env CLICOLOR_FORCE=1 pflow-read-file -n --path=/nope
    [[ $output == '{"$pflow":'*'"error":{'* && $stderr == *$'\x1b['* ]]
    run -1 coloured
}

@test "progress on a terminal is painted by the same rules" {
    on_terminal "pflow run -n '$flow => shell --command=\"exit 3\"' -q; pflow run -n '$flow => shell --command=\"exit 3\"'"
    [[ $output == *'^[[2m[1]^[[0m read-file'*'^[[2m[3]^[[0m shell-2 (shell)  '*' ms  ^[[1;31mfailed (3)^[[0m'* ]] || expect 3 progress
    on_terminal "NO_COLOR=1 pflow run -n '$flow'"
    [[ $output == *'[1] read-file …'*'^[[K[1] read-file'* && $output != *'^[[0m'* ]] || expect 0 'plain progress'
}

@test "a question is asked only where stdin and stderr are terminals" {
    need setsid
    echo '{"inputs": {"issue": {"type": "int", "description": "its number", "required": true}}, "nodes": [{"type": "shell", "inputs": {"command": "echo $0 $1", "args": ["$issue"]}}]}' >ask.pflow.json
    in_terminal bash --norc -i
    type_line 'pflow run ask.pflow.json'
    shows 'needs --issue'
    type_line 7
    shows 'sh 7'
    for silenced in '</dev/null' '2>err'; do
        type_line "clear; pflow run ask.pflow.json $silenced; echo \"<\${PIPESTATUS[0]}>\""
        shows '<66>'
    done
    type_line 'clear; : | pflow run ask.pflow.json; echo "<$?>"'
    shows '<6'
    run -1 eval 'screen | grep "needs --issue"'
    run --separate-stderr setsid -w pflow run ask.pflow.json </dev/null
    expect 66 - '--issue'
}
