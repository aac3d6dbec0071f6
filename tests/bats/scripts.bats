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
    need git
    export GIT_CONFIG_GLOBAL=$PWD/gitconfig GIT_CONFIG_NOSYSTEM=1
    git config --global user.name Ada
    git config --global user.email ada@example.org
    git config --global init.defaultBranch main
    mkdir 'a repository' && cd 'a repository' || return
    git init -q
    echo old >'a b.py'
    git add . && git commit -q -m first
    printf 'price = "$HOME ${draft.response} $nothing $$"\n' >'a b.py'
}

run_script() { run --separate-stderr timeout 60 "$@"; }

@test "shellcheck has nothing to say, and each script is short and says what it does" {
    need shellcheck
    shellcheck "$scripts"/* "$examples"/cron/*
    for script in "$scripts"/* "$examples"/cron/*; do
        [ -x "$script" ] && [ "$(head -n 1 "$script")" = '#!/bin/sh' ]
        [[ $(sed -n 2p "$script") == '# '[A-Z]*. ]]
        [ "$(wc -l <"$script")" -le 32 ] || { wc -l "$script" && return 1; }
    done
    [ "$(ls "$scripts" | wc -l)" -ge 5 ]
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
    for words in explain-error extract 'translate German' chat 'chat -n' rename-by-content 'rename-by-content -f'; do
        # shellcheck disable=SC2086
        run_script $words </dev/null
        [[ $status -eq 2 && -z $output && $stderr == *Usage:* ]] || expect 2 '' "Usage for $words"
    done
}

@test "summarize takes files, web pages and the pipe" {
    need curl
    cp "$NOTES" 'my notes.txt'
    run_script summarize 'my notes.txt'
    expect 0
    [[ $output == 'Summarize this in three sentences:'*'tide mill'* ]]
    printf 'from $HOME' >in
    for sh in "${shells[@]}"; do
        run_script $sh "$scripts/summarize" <in
        expect 0 $'Summarize this in three sentences:\n\nfrom $HOME'
    done
    mkdir site && echo '<html><body><p>The <b>page</b></p></body></html>' >'site/page $1.html'
    "$PYTHON" -u -m http.server --bind 127.0.0.1 -d site 0 >log 2>&1 3>&- &
    local server=$!
    until_true grep -q Serving log
    local base
    base=$(grep -o 'http://[0-9.:]*' log)
    run_script summarize 'my notes.txt' "$base/page%20\$1.html"
    [[ $status -eq 0 && $output == '## my notes.txt'*$'\n## '*'The page' ]] || expect 0 'both'
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

@test "commit-message writes about what is staged, whatever is in it" {
    repository
    run_script commit-message
    expect 66 '' 'nothing is staged'
    git add .
    run_script commit-message
    expect 0
    [[ $output == *'+price = "$HOME ${draft.response} $nothing $$"'* && $output == *'a b.py'* ]] || expect 0 'the diff'
    PFLOW_MODEL=nokey run_script commit-message
    expect 77 '' pflow-llm
    cd .. && run_script commit-message
    expect 128 '' 'not a git repository'
}

@test "explain-error keeps what a command prints and its exit code, and explains a failure on stderr" {
    run_script explain-error sh -c 'echo "$1"; echo "no \$such file" >&2; exit 3' sh 'two  words'
    expect 3 $'two  words\nno $such file' "failed with exit code 3."
    [[ $stderr == *$'It printed:\n\ntwo  words\nno $such file' ]]
    run_script explain-error echo fine
    expect 0 fine
    [ -z "$stderr" ]
    run_script explain-error false
    expect 1 ''
    run -127 --separate-stderr explain-error no-such-command
    PFLOW_MODEL=nokey run_script explain-error sh -c 'exit 9'
    expect 9 '' 'pflow-llm: cannot'
}

@test "extract gives a line of CSV, and nothing after a failure" {
    need jq
    PFLOW_MODEL=json run_script extract name height <"$NOTES"
    expect 0 '"oak",40'
    PFLOW_MODEL=nokey run_script extract name <"$NOTES"
    expect 77 ''
    true | { PFLOW_MODEL=json run_script extract name && expect 66 '' 'stdin was empty'; }
}

@test "a script asks llm's models, and a failure of theirs is one of its own" {
    need jq
    rm bin/pflow-llm
    PFLOW_MODEL=json run_script extract name <"$NOTES"
    expect 0 '"oak"'
    PFLOW_MODEL=nokey run_script extract name <"$NOTES"
    expect 77 ''
}

@test "translate makes each file once, four at a time, whatever it is called" {
    printf one >'a b.txt' && printf two >$'new\nline.txt' && printf '$HOME' >"it's \$(touch x).txt"
    run_script translate German ./*.txt
    expect 0 ''
    [ "$(find . -name '*.German' | tr -cd / | wc -c)" -eq 3 ]
    grep -q 'the language German' 'a b.txt.German'
    grep -q '^one' 'a b.txt.German'
    grep -qF '$HOME' "it's \$(touch x).txt.German"
    [ ! -e x ]
    local before
    before=$(requests_with 'the language German')
    run_script translate German ./*.txt
    expect 0 ''
    [ "$(requests_with 'the language German')" -eq "$before" ]
    touch -d tomorrow 'a b.txt'
    run_script translate German ./*.txt
    [ "$(requests_with 'the language German')" -eq $((before + 1)) ]
    PFLOW_MODEL=nokey run_script translate French 'a b.txt' missing.txt
    expect 123 '' 'missing.txt'
    [ ! -e 'a b.txt.French' ]
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

@test "chat goes on where it was, and a failure leaves it there" {
    need jq
    rm bin/pflow-llm # llm's log is the llm library's
    PFLOW_MODEL=reply run_script chat 'Name three trees, $USER'
    expect 0 'Oak, ash and elm.'
    PFLOW_MODEL=nokey run_script chat -n 'And now?'
    expect 77 ''
    run_script chat --talk=x 'And "two" ${more}'
    expect 0 '--talk=x And "two" ${more}'
    tail -n 1 "$PEER/requests.jsonl" | jq -r '.body.messages[] | .role, .content' >said
    [ "$(cat said)" = $'user\nName three trees, $USER\nassistant\nOak, ash and elm.\nuser\n--talk=x And "two" ${more}' ]
    run_script chat -n
    expect 2 '' Usage:
    run_script chat -n Hello
    expect 0 Hello
    [ "$(tail -n 1 "$PEER/requests.jsonl" | jq '.body.messages | length')" -eq 1 ]
}

@test "rename-by-content only says it, and with -f does it; nothing is ever replaced" {
    export PFLOW_MODEL=reply
    mkdir 'a dir' && echo one >'a dir/x y.txt' && echo two >plain
    run_script rename-by-content 'a dir/x y.txt'
    expect 0 'a dir/x y.txt -> a dir/oak-ash-and-elm.txt'
    [ "$(ls 'a dir')" = 'x y.txt' ] && [ -e plain ]
    run_script rename-by-content -f 'a dir/x y.txt' plain
    expect 0 $'a dir/x y.txt -> a dir/oak-ash-and-elm.txt\nplain -> ./oak-ash-and-elm'
    [ "$(cat 'a dir/oak-ash-and-elm.txt' oak-ash-and-elm)" = $'one\ntwo' ]
    run_script rename-by-content -f 'a dir/oak-ash-and-elm.txt'
    expect 0 ''
    echo three >three.txt && echo four >four.txt
    run_script rename-by-content -f three.txt four.txt
    expect 73 'three.txt -> ./oak-ash-and-elm.txt' 'cannot call four.txt'
    [ "$(cat four.txt oak-ash-and-elm.txt)" = $'four\nthree' ]
    PFLOW_MODEL=empty run_script rename-by-content -f four.txt
    expect 73 '' 'cannot call four.txt'
    run_script rename-by-content -f missing.txt four.txt
    [[ $status -ne 0 && -e four.txt ]]
}
