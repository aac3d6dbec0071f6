#!/usr/bin/env bats
# What zsh completes, in a terminal: flags in their groups, values, names and pipe syntax (completions/zsh).
# shellcheck disable=SC2016,SC2034,SC2154

load helper

setup() {
    COMPLETIONS=$(realpath "$BATS_TEST_DIRNAME/../../completions/zsh")
    export XDG_CACHE_HOME=$HOME/cache XDG_DATA_HOME=$HOME/data XDG_STATE_HOME=$HOME/state
    mkdir -p cache/pflow/completion data/pflow/{flows,nodes} state/pflow/runs docs
    touch docs/'my file.txt' docs/"it's.txt"
    {
        printf '#!/bin/sh\n# Interface:\n# - Reads: shared["one"]: str = ""  # %s\n' "$odd_text"
        printf '# - Reads: shared["two"]: path = "" [flag dos]  # the same words\n'
        printf '# - Params: three: path = ""  # the same words\n# - Params: four: bool = false  # the same words\n'
        printf '# - Params: kind: files|some = "some"  # which of [a, b]\n# - Params: model: str = ""  # which\n'
        printf 'touch ran\n'
    } >data/pflow/nodes/pflow-odd
    chmod +x data/pflow/nodes/pflow-odd
}

# An interactive zsh with completion and the settings given.
in_zsh() {
    need zsh
    {
        printf 'fpath=(%q $fpath)\nautoload -U compinit\ncompinit -u -D\n' "$COMPLETIONS"
        printf '%s\n' "$@" 'print ready'
    } >.zshrc
    in_terminal ZDOTDIR="$HOME" "$(command -v zsh)" -d -i
    becomes $'ready\n>'
}

# Type a line, and TAB after it, on a screen with nothing else.
tab() {
    "${tmux[@]}" send-keys C-u C-l
    becomes '>'
    "${tmux[@]}" send-keys -l "$1" \; send-keys Tab
    [ $# -eq 1 ] || "${tmux[@]}" send-keys -l "$2"
}

# Run a line in place of what is typed.
set_up() {
    "${tmux[@]}" send-keys C-u C-l
    type_line "$1"
}

# Wait until this is all that the screen has.
becomes() { until_true is_screen "$1" || { screen && return 1; }; }

is_screen() { [ "$(screen)" = "$1" ]; }

odd_text='it'\''s "q" [b] a:b $HOME `touch ran` $(touch ran) \n \ %B100%% {x} * ~ !!'

@test "a node's flags are listed in their groups, data first, with their descriptions" {
    in_zsh
    tab 'pflow-llm --'
    shows '--version'
    screen | grep -v '^--' >headings
    run cat headings
    expect 0 $'> pflow-llm --\nData (into the store)\nParams (how it works)\nCommon'
    screen | grep -A1 '^Data' | grep -q -e '^--prompt  *-- the prompt '
    tab 'pflow-llm --t'
    shows '--timeout'
    [[ $(screen) == *'Data'*--text*'Params'*--temperature*'Common'*--timeout* ]]
}

@test "a description is shown as it is, and flags with the same one are not merged" {
    in_zsh
    tab 'pflow-odd --'
    shows "--one         -- $odd_text"
    screen | sed -n '/^Params/q; s/ .*//p' >flags
    run cat flags
    expect 0 $'>\nData\n--one\n--two'
    [ ! -e ran ]
}

@test "a flag is completed with an =, which a blank takes away, and is offered once" {
    in_zsh
    tab 'pflow-llm --mod'
    becomes '> pflow-llm --model='
    tab 'pflow-llm --mod' ' x'
    becomes '> pflow-llm --model x'
    tab 'pflow-llm --dr' x
    becomes '> pflow-llm --dry-run x'
    tab 'pflow-odd --dos=x --tw' x
    becomes '> pflow-odd --dos=x --twx'
}

@test "values: choices, paths, models" {
    printf '%s\t%s\n' "gpt:4 \$x'y" 'it'\''s "q" [b] a:b $x `touch ran` \n %B' plain '' >cache/pflow/completion/models
    in_zsh
    tab 'pflow-odd --model='
    becomes $'> pflow-odd --model=\ngpt:4 $x\'y -- it\'s "q" [b] a:b $x `touch ran` \\n %B\nplain'
    tab 'pflow-odd --model=g' x
    becomes "> pflow-odd --model=gpt:4\\ \\\$x\\'y x"
    tab 'pflow-odd --kind s' x
    becomes '> pflow-odd --kind some x'
    tab "pflow-odd --dos 'docs/m" x
    becomes "> pflow-odd --dos 'docs/my file.txt' x"
    tab 'pflow-odd --two=~/do' x
    becomes '> pflow-odd --two=~/docs/x'
    tab 'pflow-write-file --path=docs/i' x
    becomes "> pflow-write-file --path=docs/it\\'s.txt x"
}

@test "pflow is followed by commands, nodes, tools and saved flows" {
    echo '{"pflow":1,"description":"Fix it","inputs":{"issue":{"type":"int"}}}' >data/pflow/flows/fix-issue.pflow.json
    in_zsh
    "${tmux[@]}" resize-window -y 120 # all of them at once
    tab 'pflow '
    shows 'Saved flows'
    run eval 'screen | grep -E "^(Commands|Nodes|Tools|Saved flows|odd|get|fix-issue)"'
    [[ $output == Commands*Nodes*odd*Tools*get*'Saved flows'*'fix-issue '*' -- Fix it' ]]
    tab 'pflow nodes od' x
    becomes '> pflow nodes odd x'
    tab 'pflow odd --ki' s
    becomes '> pflow odd --kind=s'
    tab 'pflow fix-issue --iss' 2
    becomes '> pflow fix-issue --issue=2'
    [ ! -e ran ]
}

@test "steps as words: a node's name after a separator, then its flags and values" {
    in_zsh
    for separator in :: '\|'; do
        tab "pflow run read-file --path=a $separator od" x
        becomes "> pflow run read-file --path=a $separator odd x"
    done
    tab 'pflow read-file :: odd:draft --four --ki' s
    becomes '> pflow read-file :: odd:draft --four --kind=s'
}

@test "steps in one quoted word: names, flags, and values quoted for both" {
    in_zsh
    tab "pflow 'read-file --path=x => od" x
    becomes "> pflow 'read-file --path=x => odd x"
    tab 'pflow run "read-file --path=\$x >> odd:d --four --ki' s
    becomes '> pflow run "read-file --path=\$x >> odd:d --four --kind=s'
    tab "pflow 'odd --two=\"docs/m" x
    becomes "> pflow 'odd --two=\"docs/my file.txt\" x"
    tab "pflow 'odd --two docs/i" x
    becomes "> pflow 'odd --two docs/it\\'\\''s.txt x"
    tab 'pflow "odd --two=\"docs/m' x
    becomes '> pflow "odd --two=\"docs/my file.txt\" x'
    tab "pflow 'read-file => odd \"a \$con" x
    becomes "> pflow 'read-file => odd \"a \$contentx"
}

@test "it completes alike whatever options and variables a user may have set" {
    in_zsh 'setopt ksharrays shwordsplit nullglob noglob kshglob shglob globsubst rcquotes cshjunkiequotes nounset' \
        'setopt errreturn kshautoload posixidentifiers nofunctionargzero nomultibyte warncreateglobal' 'pflow() { false }' \
        'for name in answer begun expl fields group heading line shown tag tags text value values; do' \
        '    typeset -g $name=7' 'done'
    tab 'pflow-odd --fo' x
    becomes '> pflow-odd --four x'
    tab "pflow 'read-file => odd --kind=s" x
    becomes "> pflow 'read-file => odd --kind=some x"
}
