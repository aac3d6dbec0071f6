#!/usr/bin/env bats
# The git nodes in pipes and runs: a message by the pipe, one commit whatever was killed, codes that a script can read.
# shellcheck disable=SC2016

load helper

setup() {
    own_git
    git init -q work && cd work || return
    git commit -q --allow-empty -m begin
    echo old >notes.txt
}

# A hook of the repository that stops the first time that it runs, having said so in ./reached.
stopping_hook() {
    mkfifo "$HOME/never"
    printf '#!/bin/sh\n[ -e ../reached ] && exit 0\necho $$ >../reached\nread -r x <../never\n' >".git/hooks/$1"
    chmod +x ".git/hooks/$1"
}

# Kill a run of this flow while the hook holds it, wait until all that it had started has ended, and resume it.
kill_and_resume() {
    pflow run -n "$1" -q 3>&- &
    until_true test -s ../reached
    kill -9 $!
    until_true eval 'ended "$(cat ../reached)" && ! ls .git/*.lock'
    run --separate-stderr pflow resume last -r
}

@test "a message comes through the pipe, and goes through a checkout" {
    pflow-shell -n 'echo Note it' | pflow-git-checkout topic --create | pflow-git-commit --all -q
    [ "$(git log -1 --format='%s %D')" = 'Note it HEAD -> topic' ]
    [ "$(pflow-git-status -n -r | tail -n 1)" = clean ]
    run --separate-stderr pflow-git-commit -n -m again -j
    expect 0 - && [[ $output == *'"action":"unchanged"'* ]]
}

@test "a run that is killed in a hook before its commit, or after it, commits once when it is resumed" {
    local hook flow='git-status => git-commit --message="Note it" --all'
    for hook in pre-commit post-commit; do
        echo "$hook" >>notes.txt
        stopping_hook "$hook"
        kill_and_resume "$flow"
        expect 0 "$(git rev-parse HEAD)"
        rm -r .git/hooks/* ../reached ../never
    done
    [ "$(git log --format=%s)" = $'Note it\nNote it\nbegin' ]
    [ -z "$(git status --short)" ]
}

@test "an action that ends the flow is told when it is returned, not each time before" {
    git init -q --bare ../there.git
    git remote add origin ../there.git
    run --separate-stderr pflow 'git-commit -m Note --all => git-push --set-upstream' -n -q
    expect 0 '' && [[ $stderr != *unchanged* ]]
    run --separate-stderr pflow 'git-commit -m Note => git-push' -n -q
    expect 0 '' "'git-commit' returned unchanged, which has no edge"
    run pflow check 'git-commit -m Note => git-push'
    [[ $output == *"PF12: warning: the flow ends where 'git-commit' returns 'unchanged'"* ]]
}

@test "a flow with a branch, a commit, a tag and a push leaves all four there" {
    git init -q --bare ../there.git
    git remote add origin ../there.git
    pflow run -n 'git-checkout fix-1 --create => git-commit -m Fix --all => git-tag v1 => git-push --set-upstream --tags' -q
    [ "$(git -C ../there.git log --format='%s %D' fix-1 -1)" = 'Fix tag: v1, fix-1' ]
}

@test "a dry run does nothing, and explain says what a flow would touch" {
    run --separate-stderr pflow-git-commit -n -m x --dry-run -j
    expect 0 && [ "$(git log --format=%s)" = begin ]
    run --separate-stderr pflow explain 'git-diff --repo=work => git-commit -m x --repo=.'
    expect 0 && [[ $output == *'writes files'* && $output == *'runs commands'* ]]
}

