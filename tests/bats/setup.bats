#!/usr/bin/env bats
# pflow setup: man, bash, zsh and fish find pages and completions with only what it says to do; --undo takes all away.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    unset MANPATH FPATH XDG_DATA_DIRS ZDOTDIR
    mkdir -p "$HOME"/{.local/share/pflow/nodes,x}
    node word_stats 'Reads: shared["text"]: str [pipe]  # the text of it' <<<'    def post(self, shared, got, done): pass'
    mv word_stats.py .local/share/pflow/nodes
}

# Everything in a directory: kind, mode, name, and a digest of each file.
tree() { (cd "$1" && find . -printf '%M %p\n' | sort && find . -type f -exec sha256sum {} + | sort -k2); }

# The lines that setup says to add for a program.
said_for() { sed -n "/^For $1, add/,/^\$/s/^  //p" said; }

@test "after --undo the tree is as it was, modes and all" {
    cd x
    run --separate-stderr pflow setup --dry-run --prefix p
    expect 0 -
    [[ $output == *"would write $PWD/p/share/man/man1/pflow-llm.1"* && ! -e p ]]
    mkdir -m 700 -p p/share/man/man1
    echo mine >p/share/man/man1/mine.1
    tree p >before
    pflow setup --prefix p >said
    [ -s p/share/man/man1/pflow-llm.1 ]
    [ -s p/share/man/man1/pflow-word-stats.1 ]
    [ -s p/share/bash-completion/completions/pflow-word-stats ]
    grep '^man *wrote [0-9]* in' said
    pflow setup --prefix p >again
    grep '^man *unchanged' again
    pflow setup --prefix p --undo
    tree p | diff before -
}

@test "the help's examples run as they are written" {
    pflow setup --help | sed -n '/^Examples:/,/^$/s/^  //p' >lines
    [ -s lines ]
    while read -r line; do sh -ec "$line"; done <lines
    ! find .local -name 'pflow-llm*' | grep .
}

@test "a foreign file in the way is refused, one changed since is left, both with a word" {
    mkdir -p p/share/man/man1
    echo foreign >p/share/man/man1/pflow.1
    tree p >before
    run --separate-stderr pflow setup --prefix p
    expect 73 '' "cannot write '$HOME/p/share/man/man1/pflow.1': another file is there"
    tree p | diff before -
    rm p/share/man/man1/pflow.1
    pflow setup --prefix p >/dev/null
    echo mine >>p/share/man/man1/pflow.1
    run --separate-stderr pflow setup --prefix p --undo
    expect 0 - 'left unchanged: it was edited since'
    [ "$(find p -type f)" = p/share/man/man1/pflow.1 ]
}

# bats test_tags=rights
@test "where it cannot be done it says why and leaves nothing" {
    mkdir -m 555 closed
    run --separate-stderr as_mortal 'pflow setup --prefix closed'
    expect 77 '' 'permission denied'
    [ -z "$(find closed -mindepth 1)" ]
    mkdir p
    tree p >before
    run --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 8; pflow setup --prefix p'
    expect 73 '' 'cannot write'
    tree p | diff before -
    run --separate-stderr env -u HOME pflow setup
    expect 78 '' 'HOME is not set'
}

@test "an own node that is gone loses its page at the next setup" {
    pflow setup >/dev/null
    rm .local/share/pflow/nodes/word_stats.py
    pflow setup -v >said
    grep '^removed .*/man1/pflow-word-stats.1' said
    [ ! -e .local/share/man/man1/pflow-word-stats.1 ]
    [ -e .local/share/man/man1/pflow-llm.1 ]
}

@test "each shell's start-up file gets a block if it needs one, and --undo takes exactly that out, and says so" {
    need zsh
    printf 'bindkey -e' >.zshrc
    : >.bashrc
    pflow setup --dry-run | grep 'would add a block to .*/.zshrc, if zsh needs it'
    pflow setup --no-edit >said
    pflow setup --prefix other >>said
    [ "$(grep -c '^For zsh, add to the end of .*/.zshrc:' said)" -eq 2 ]
    [ "$(grep -c '^For bash, add to the end of .*/.bashrc:' said)" -eq 2 ]
    [ "$(cat .zshrc .bashrc)" = 'bindkey -e' ]
    for _ in first second; do pflow setup >>said; done
    [ "$(grep -c 'added a block to .*/.zshrc' said)" -eq 1 ]
    [ "$(grep -c 'added a block to .*/.bashrc' said)" -eq 1 ]
    grep -F "source $HOME/.local/share/zsh/site-functions/pflow.zsh" .zshrc
    bash -ic 'complete -p pflow-llm'
    echo mine >>.bashrc
    sed -i '/^source/d' .zshrc
    pflow setup --undo >said
    grep "^removed the block in $HOME/.bashrc" said
    grep "^left, since it was edited, the block in $HOME/.zshrc" said
    [ "$(cat .bashrc)" = mine ]
    rm .zshrc && ln -s /dev/full/zshrc .zshrc
    run --separate-stderr pflow setup
    expect 0 - "cannot write '$HOME/.zshrc'"
    [[ $output == *'For zsh, add to the end of '* ]]
}

@test "man-db and mandoc find the pages with what setup said" {
    need man
    prefix="$HOME/a prefix"
    pflow setup --prefix "$prefix" >said
    (
        eval "$(said_for man)"
        MANPAGER=cat man pflow-llm 2>/dev/null | grep -q 'language model'
        MANPAGER=cat man pflow-word-stats 2>/dev/null | grep -q 'Do word_stats'
        man ls >/dev/null 2>&1 || [ ! -e /usr/share/man/man1/ls.1.gz ]
    )
    mkdir "$prefix/bin"
    PATH="$prefix/bin:$PATH" pflow setup --prefix "$prefix" >said
    if command -v manpath; then
        [ -z "$(said_for man)" ]
        PATH="$prefix/bin:$PATH" MANPAGER=cat man pflow-llm 2>/dev/null | grep -q 'language model'
    fi
    need mandoc
    mandoc -Tutf8 "$prefix/share/man/man1/pflow-word-stats.1" | grep -q 'Do word_stats'
}

@test "a new bash completes" {
    need bash tmux
    [ -e /usr/share/bash-completion/bash_completion ] || missing 'bash-completion is not installed'
    pflow setup >said
    in_terminal bash
    until_true eval 'screen | grep -q .'
    "${tmux[@]}" send-keys -l 'pflow-llm --mod' \; send-keys Tab
    shows 'pflow-llm --model='
}

@test "a new zsh completes, whatever starts its completion, and doctor says so" {
    need zsh tmux
    mkdir omz
    printf '%s\n' 'autoload -Uz compinit' 'compinit -i -d "$HOME/.dump"' >omz/oh-my-zsh.sh
    for zshrc in '' $'autoload -Uz compinit\ncompinit' $'autoload -Uz compinit\ncompinit -C' 'source ~/omz/oh-my-zsh.sh'; do
        [ -z "$zshrc" ] || echo "$zshrc" >.zshrc
        zsh -ic true </dev/null 2>/dev/null # leaves a list of completions, without pflow's
        pflow setup >said
        in_terminal zsh
        until_true eval 'screen | grep -q ">"'
        "${tmux[@]}" send-keys -l 'pflow-llm --mod' \; send-keys Tab
        shows 'pflow-llm --model='
        "${tmux[@]}" kill-server
        pflow setup --undo >said
        rm -f .zshrc .zcompdump .dump
    done
    for told in $'zsh     advice  does not find pflow\'s files; pflow setup' 'zsh     ok      completes pflow-llm'; do
        run pflow doctor
        [[ $output == *$'\n'"$told"$'\n'* ]]
        pflow setup >said
    done
}

@test "a new fish completes, with what setup said" {
    need fish tmux
    mkdir -p .config/fish
    pflow setup --prefix other >said
    { echo 'function fish_greeting; end; function fish_prompt; echo "> "; end' && said_for fish; } >.config/fish/config.fish
    in_terminal fish
    until_true eval 'screen | grep -q ">"'
    "${tmux[@]}" send-keys -l 'pflow-llm --mod' \; send-keys Tab
    shows 'pflow-llm --model='
}
