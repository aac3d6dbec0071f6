#!/usr/bin/env bats
# examples/scripts: what people do with a model from the shell, as pipes.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

setup() {
    examples=$(realpath "$BATS_TEST_DIRNAME/../../examples")
    scripts=$examples/scripts
    quick_llm
    export PATH=$scripts:$PATH
    shells=('bash --posix')
    for sh in dash 'zsh --emulate sh'; do ! command -v "${sh%% *}" >/dev/null || shells+=("$sh"); done
}

# A repository with one commit, and a hostile change that is not staged.
repository() {
    own_git
    mkdir 'a repository' && cd 'a repository' || return
    git init -q
    echo old >'a b.py'
    git add . && git commit -q -m first
    printf 'price = "$HOME ${draft.response} $nothing $$"\n' >'a b.py'
}

run_script() { run --separate-stderr timeout 60 "$@"; }

@test "each script is short and says what it does" { # make check has shellcheck look at them
    for script in "$scripts"/* "$examples"/cron/*; do
        [ -x "$script" ] && [ "$(head -n 1 "$script")" = '#!/bin/sh' ]
        [[ $(sed -n 2p "$script") == '# '[A-Z]*. ]]
        [ "$(wc -l <"$script")" -le 32 ] || { wc -l "$script" && return 1; }
    done
}

@test "-h says how each is used, in every sh; wrong words are 2, with the same on stderr" {
    need dash zsh
    for script in "$scripts"/*; do
        for sh in "${shells[@]}"; do
            # shellcheck disable=SC2086
            run_script $sh "$script" -h
            [ -z "$stderr" ] && expect 0 "$(sed -n '2,3s/^# //p' "$script")"
            [[ $output == *'Usage: '*"${script##*/}"* ]]
        done
    done
    run_script explain-error </dev/null
    expect 2 '' Usage:
}

@test "summarize takes files, web pages and the pipe" {
    need curl
    cp "$NOTES" 'my notes.txt'
    run_script summarize 'my notes.txt'
    expect 0
    [[ $output == *'bakery'*$'\n\nSummarize this in three sentences' ]]
    printf 'from $HOME' >in
    for sh in "${shells[@]}"; do
        run_script $sh "$scripts/summarize" <in
        expect 0 $'from $HOME\n\nSummarize this in three sentences'
    done
    mkdir site && echo '<html><body><p>The <b>page</b></p></body></html>' >'site/page $1.html'
    "$PYTHON" -u -m http.server --bind 127.0.0.1 -d site 0 >log 2>&1 3>&- &
    local server=$!
    until_true grep -q Serving log
    local base
    base=$(grep -o 'http://[0-9.:]*' log)
    run_script summarize 'my notes.txt' "$base/page%20\$1.html"
    [[ $status -eq 0 && $output == '## my notes.txt'*$'\n## '*'The page'* ]] || expect 0 'both'
    run_script summarize "$base/nope"
    expect 22 '' 404
    kill "$server"
    wait "$server" || true
    run_script summarize "$base/page"
    expect 7 ''
    run_script summarize 'not there.txt'
    expect 66 '' "cannot read 'not there.txt'"
    run --separate-stderr sh -c ': | summarize'
    expect 66 '' 'stdin was empty'
}

@test "explain-error keeps what a command prints and its exit code, and explains a failure on stderr" {
    run_script explain-error sh -c 'echo "$1"; echo "no \$such file" >&2; exit 3' sh 'two  words'
    expect 3 $'two  words\nno $such file' "failed with exit code 3."
    [[ $stderr == $'two  words\nno $such file\n\nThe command'* ]]
    run_script explain-error echo fine
    expect 0 fine
    [ -z "$stderr" ]
    run_script explain-error false
    expect 1 ''
    run -127 --separate-stderr explain-error no-such-command
    PFLOW_MODEL=nokey run_script explain-error sh -c 'exit 9'
    expect 9 '' 'pflow-llm: cannot'
}

@test "review names each problem and is a gate" {
    need jq
    repository
    PFLOW_MODEL=problems run_script review
    expect 1 'a b.py:3: x may be unset'
    grep -qF '${draft.response} $nothing' "$PEER/requests.jsonl"
    PFLOW_MODEL=no-problems run_script review
    expect 0 ''
    PFLOW_MODEL=problems run_script review --cached
    expect 0 ''
    git add .
    PFLOW_MODEL=problems run_script review --cached -- 'a b.py'
    expect 1 'a b.py:3: x may be unset'
    PFLOW_MODEL=nokey run_script review --cached
    expect 77 ''
    PFLOW_MODEL=problems run_script review no-such-branch
    [[ $status -ne 0 && $output != *unset* ]]
}
