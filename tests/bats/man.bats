#!/usr/bin/env bats
# The man pages, in the two programs that show them: man-db's man and mandoc.
# shellcheck disable=SC2016,SC2086,SC2094,SC2154

load helper

setup() {
    local installed
    installed=$(dirname "$(command -v pflow)")/../share/man
    [ -d "$installed/man1" ] || installed=$BATS_TEST_DIRNAME/../../man
    mkdir -p share && cp -R "$installed" share/man
    export MANPATH=$HOME/share/man LC_ALL=C.UTF-8 TERM=dumb MANWIDTH=80
    unset MANPAGER PAGER MANOPT GROFF_NO_SGR MANROFFOPT
}

wrong() { echo "wrong: $*" && return 1; }

executables() { (cd "$(dirname "$(command -v pflow)")" && ls pflow pflow-*); }

@test "every executable has a page that man finds" {
    need man
    run --separate-stderr man -w $(executables)
    expect 0 "$(executables | sed "s|.*|$HOME/share/man/man1/&.1|")"
}

@test "man has nothing to complain of, a program's name stands first, and no page is wider than 80 columns" {
    need man
    for page in share/man/man*/*; do
        run --separate-stderr man --warnings -l "$page"
        [[ $status -eq 0 && $stderr = '' ]] || wrong "$page: $output$stderr"
        ! grep -qE '.{81}' <<<"$output" || wrong "$page: $output$stderr"
        name=$(basename "$page" .1)
        ! type -P "$name" >/dev/null || [[ $output == *"NAME"*"     $name "*(" ")+(—)" "*"SYNOPSIS"* ]] || wrong "$page: $output"
    done
}

@test "mandoc shows every page, and has nothing to say of any" {
    need mandoc
    run mandoc -Tlint share/man/man*/*
    expect 0 ''
    for page in share/man/man*/*; do
        mandoc -Tutf8 "$page" >shown && [ -s shown ]
    done
}

@test "a flag, a quote and a tilde can be copied from a page as they are" {
    need man
    run man pflow-llm
    [[ $output == *"pflow-llm --prompt='Name three trees'"* && $output == *'`llm logs off`'* ]]
    run man pflow
    [[ $output == *' ~/.config/'* ]]
}

@test "where the terminal has ASCII only, the synopsis is whole" {
    need man mandoc
    LC_ALL=C run --separate-stderr man pflow-llm
    [[ $output == *'pflow-llm [FLAG]...'* && -z $stderr ]]
    run mandoc -Tascii share/man/man1/pflow-llm.1
    [[ $(col -b <<<"$output") == *'pflow-llm [FLAG]...'* ]]
}

@test "apropos finds every page by its name and by what it is about" {
    need man mandb apropos
    mandb -qc "$MANPATH"
    for page in share/man/man*/*; do
        name=$(basename "${page%.*}")
        run --separate-stderr apropos --exact "$name"
        [[ $status -eq 0 && $output == "$name (${page##*.})"*" - "* ]] || wrong "$name: $output$stderr"
    done
    run --separate-stderr apropos 'language model'
    [[ $output == *'pflow-llm (1)'* ]]
}

@test "mandoc's apropos finds them too" {
    need mwhatis makewhatis
    makewhatis "$MANPATH"
    for page in share/man/man*/*; do
        name=$(basename "${page%.*}")
        run --separate-stderr mwhatis -M "$MANPATH" "$name"
        [[ $output == "$name(${page##*.}) - "* ]] || wrong "$name: $output$stderr"
    done
}

@test "a page fills a terminal of 80 columns and no more" {
    need man less
    unset MANWIDTH
    in_terminal env TERM=screen LC_ALL=C.UTF-8 PAGER=less LESS= sh
    "${tmux[@]}" resize-window -x 80 -y 40
    type_line 'man 7 pflow-intro'
    shows 'PFLOW-INTRO(7)'
    shows 'So an ordinary pipe is a flow'
    [[ $(screen | wc -L) == 7[89] ]] # groff 1.24 takes one more
    "${tmux[@]}" send-keys q
    type_line 'man pflow-llm'
    shows 'PFLOW-LLM(1)'
    shows 'SYNOPSIS'
}
