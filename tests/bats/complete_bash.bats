# TAB in a real bash, in a terminal: what it inserts and what it lists.

# shellcheck disable=SC2016,SC2154 # what a shell of its own reads; helper.bash's tmux

setup() {
    load helper
    export LC_ALL=C.UTF-8 INPUTRC=/dev/null
    unset XDG_CACHE_HOME XDG_DATA_DIRS BASH_COMPLETION_USER_DIR
    completions=$(realpath "$BATS_TEST_DIRNAME/../../completions/bash")
    mkdir -p .cache/pflow/completion .local/state/pflow/runs/01JD000000000000000000000{A,B} docs
    printf '%s\t%s\n' ollama/llama3:8b 'a "model": [x] $HOME `touch hit`' gpt-9 "it's \\n new!" >.cache/pflow/completion/models
    touch 'my notes.txt' docs/a.txt .local/state/pflow/runs/01JD000000000000000000000{A,B}/trace.jsonl
}

# A bash without start-up files, with the completions of pflow and llm; first, what else it is to do.
open_bash() {
    in_terminal bash --norc --noprofile -i
    for line in "$@" "source '$completions/pflow-llm'" 'clear; echo "rea"dy'; do
        type_line "$line"
    done
    shows ready
}

# Type, with TAB for a tab, and wait until the screen has the last argument.
tab() {
    local wanted=${*: -1}
    "${tmux[@]}" send-keys C-e C-u
    while (($# > 1)); do
        case $1 in
            TAB) "${tmux[@]}" send-keys Tab ;;
            *) "${tmux[@]}" send-keys -l -- "$1" ;;
        esac
        shift
    done
    shows "$wanted"
}

@test "flags are listed in their groups, data first, with what they do" {
    open_bash
    tab 'pflow-llm --' TAB TAB '--version '
    screen
    [ "$(screen | sed -n 's/^--[a-z-]*=* *(\([a-z]*\)) .*/\1/p' | uniq | xargs)" = 'data params common' ]
    shows '(data) the prompt'
}

@test "a flag, a command, a node and a run are completed" {
    open_bash
    tab 'pflow-llm --mod' TAB 'pflow-llm --model='
    tab 'pflow tra' TAB x 'pflow trace x'
    tab 'pflow nodes re' TAB x 'pflow nodes read-file x'
    tab 'pflow-llm --model=ol' TAB '--model=ollama/llama3:8b'
    tab 'pflow-llm --model ollama/llama3:' TAB '--model ollama/llama3:8b'
    tab 'pflow trace 01JD000000000000000000000' TAB TAB 01JD000000000000000000000B
    [ "$(screen | grep -c '^01JD')" -eq 2 ]
    screen | grep -m 1 '^01JD' | grep -q B
}

@test "a path is completed, with its spaces" {
    open_bash
    tab 'pflow-write-file --path=my' TAB 'pflow-write-file --path=my\ notes.txt'
    tab 'pflow-write-file --path "my' TAB 'pflow-write-file --path "my notes.txt"'
    tab 'pflow-write-file --path=~/do' TAB 'pflow-write-file --path=~/docs/'
    mkdir 'one dir'
    touch 'one dir/a file'
    tab 'pflow-llm --prompt@"one' TAB a TAB x 'pflow-llm --prompt@"one dir/a file" x'
    tab 'pflow-read-file one' TAB a TAB x 'pflow-read-file one\ dir/a\ file x'
    tab "pflow 'read-file \"one" TAB a TAB '=> llm --prompt@one' TAB a TAB x \
        "pflow 'read-file \"one dir/a file\" => llm --prompt@one\\ dir/a\\ file x"
}

@test "the file of a redirection is completed as for any program, and what is behind it as without one" {
    open_bash
    for operator in '<' '< ' '2>' '&> ' '>| ' '<<<' '>>' '<(cat '; do
        tab "pflow-llm ${operator}my" TAB x "pflow-llm ${operator}my\\ notes.txt x"
    done
    touch zone
    tab 'pflow-llm -n hi >$HOME/zo' TAB x 'pflow-llm -n hi >$HOME/zone x'
    tab 'pflow-llm 2>err <my\ notes.txt --mod' TAB 'notes.txt --model='
}

@test "a description is shown as it is" {
    open_bash
    tab 'pflow-llm --model=' TAB TAB 'a "model": [x] $HOME `touch hit`'
    shows "it's \\n new!"
    [ ! -e hit ]
}

@test "pipe syntax is completed in a quote, which stays open, and without one" {
    open_bash
    tab "pflow 'read-file --path=my" TAB '=> ll' TAB '--mod' TAB 'gp' TAB "' x" \
        "pflow 'read-file --path=my\\ notes.txt => llm --model=gpt-9 ' x"
    tab 'pflow read-file --path=a :: ll' TAB '--syst' TAB 'pflow read-file --path=a :: llm --system='
    tab "pflow 'a => llm --te" TAB TAB '--temperature=  (params)'
}

@test "your own node and the inputs of a saved flow are completed as soon as they exist" {
    mkdir -p .local/share/pflow/nodes
    printf '#!/bin/sh\n# Interface:\n# - Params: the_size: int = 1  # how big\n' >.local/share/pflow/nodes/pflow-its_own
    chmod +x .local/share/pflow/nodes/pflow-its_own
    echo '{"pflow":1,"inputs":{"issue_number":{"type":"int"}},"nodes":[{"id":"a","type":"llm","inputs":{"prompt":"$issue_number"}}]}' >a.json
    pflow save fix-issue a.json
    open_bash 'PATH=~/.local/bin:$PATH'
    pflow save again a.json --command
    tab 'pflow its_own --the' TAB 'pflow its_own --the-size='
    tab 'pflow fix-issue --iss' TAB 'pflow fix-issue --issue-number='
    tab 'pflow-again --iss' TAB 'pflow-again --issue-number='
}

@test "with bash-completion, a command's file is found by its name" {
    local package=/usr/share/bash-completion/bash_completion
    [ -e "$package" ] || missing 'bash-completion is not installed' || return
    mkdir -p data/bash-completion
    cp -r "$completions" data/bash-completion/completions
    in_terminal bash --norc --noprofile -i
    type_line "XDG_DATA_HOME=$PWD/data; source $package; clear; echo rea''dy"
    shows ready
    tab 'pflow-get --exi' TAB 'pflow-get --exit-status'
    tab 'pflow-llm --mod' TAB 'pflow-llm --model='
}

@test "it works under options that break scripts, and leaves them" {
    open_bash 'set -uf -o posix; IFS=ax; shopt -s failglob nocasematch dotglob; shopt -u extglob; pflow() { false; }'
    tab 'pflow-llm --mod' TAB 'gp' TAB 'pflow-llm --model=gpt-9'
    tab "pflow 'read-file => ll" TAB '--mod' TAB "pflow 'read-file => llm --model="
    "${tmux[@]}" send-keys C-e C-u
    type_line 'clear; echo "<$IFS>" $-'
    shows '<ax>'
    screen | grep -q '<ax> .*f.*u'
}

@test "the files are what shellcheck has nothing to say of" {
    need shellcheck
    shellcheck -s bash -e SC1091 "$completions"/*
}
