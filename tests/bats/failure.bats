#!/usr/bin/env bats
# A stage that fails: one line, an error document, and the first one's code at the end.
# shellcheck disable=SC2016,SC2154

load helper

setup() { quick_llm; }

@test "an empty pipe before llm is 66, and the model is not asked" {
    in_shells 'false | pflow-llm --prompt=never-asked-1 >o; echo $? && grep -c "\"exit\":66" o'
    expect 0 $'66\n1' 'pflow-llm: stdin was empty: did the command before it fail? -n if this step needs no input'
    [ "$(requests_with never-asked-1)" -eq 0 ]
}

@test "the first failure is the code at the end, and no stage after it has an effect" {
    in_shells '
        echo old >o
        pflow-read-file --path=/nope | pflow-llm --prompt=never-asked-2 | pflow-shell --command="touch ran" |
            pflow-write-file --path=o -q
        echo $? $(cat *) *'
    expect 0 '66 old o' "pflow-read-file: cannot read '/nope': no such file or directory"
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [ "$(requests_with never-asked-2)" -eq 0 ]
}

@test "sh -e stops at a pipe whose first stage failed" {
    in_shells 'set -e; pflow-read-file --path=/nope | pflow-write-file --path=o -q; echo on'
    expect 66 ''
}

@test "a raw end of a pipe that failed prints nothing" {
    in_shells 'pflow-read-file --path=/nope | pflow-shell --command=cat -r'
    expect 66 ''
    in_shells 'pflow-shell -n --command="exit 3" -r | pflow-write-file --path=o -q; echo $?; ls'
    expect 0 66
}

@test "an error document passes every stage and tool as it came" {
    pflow-set -n kept=1 | pflow-shell --command='exit 9' >failed || [ $? -eq 9 ]
    in_shells '
        for stage in "read-file --path=../failed" "write-file --path=o" "list-files --pattern=*" "shell --command=touch\ o" \
            "llm --prompt=never-asked-3" "set kept=2"; do
            eval "set -- $stage"
            pflow-"$@" <../failed >out
            echo $? $(cmp out ../failed && rm out)
        done; ls'
    expect 0 $'9\n9\n9\n9\n9\n9'
    [ "$(requests_with never-asked-3)" -eq 0 ]
}

@test "the error document says who failed and why, and keeps the store as it was" {
    need jq
    in_shells '
        pflow-set -n kept=1 | pflow-read-file --path=/nope --id=first |
            jq -c "[.[\"\$pflow\"].error | .step, .node, .exit], .kept, has(\"first\"), (.[\"\$pflow\"].error.message | test(\"/nope\"))"'
    expect 0 $'["first","read-file",66]\n"1"\nfalse\ntrue'
}

@test "wrong flags are 2 with the nearest name, and stop the pipe too" {
    in_shells 'echo hi | pflow-write-file --pth=o | pflow-write-file --path=o -q; echo $?; ls'
    expect 0 2 'did you mean --path?'
    in_shells 'pflow-catch -n | pflow-write-file o p -q'
    expect 2 '' "cannot take the bare word 'p': --path has 'o'"
}

@test "wrong words of a tool, of pflow trace or of pflow stop the pipe too, with their own code and line" {
    local commands=('pflow-set --nope' 'pflow-set b' 'pflow-set a.b=1' 'pflow-get --nope' 'pflow-get -x a' 'pflow-get a..b'
        'pflow-get --from=stor' 'pflow-catch --nope' 'pflow-catch b=1' 'pflow set --nope' 'pflow trace --nope'
        'pflow trace --store --otlp' 'pflow "write a poem" about trees' 'pflow lmm --prompt=x' 'pflow ./lmm'
        'pflow "lmm --prompt=x"')
    in_shells "$(printf 'pflow-set -n a=1 | %s 2>err | pflow-write-file --path=o 2>>err | pflow-get a 2>>err
        echo "$? $(wc -l <err)"\n' "${commands[@]}"); ls"
    expect 0 $'2 1\n2 1\n65 1\n2 1\n2 1\n2 1\n2 1\n2 1\n2 1\n2 1\n2 1\n2 1\n2 1\n127 1\n127 1\n127 1\nerr'
}

@test "a tool that fails on a store hands it on as it was" {
    in_shells 'echo hi | pflow-set a=1 >store; pflow-set b=2 a.c=3 <store | pflow-catch | tail -n +2 >caught; tail -n +2 store | cmp - caught'
    expect 0 '' "cannot write 'a.c'"
    in_shells 'pflow-set -n a=1 | pflow-get b; echo $?; pflow-set -n a=1 | pflow-get -q >o; echo $?; pflow lmm >o; echo $?; wc -c <o'
    expect 0 $'66\n2\n127\n0' # what prints no store prints none for a value that is missing; a file may be a slip of >
}

@test "a flag's value is taken by its declared type, or refused" {
    in_shells 'pflow-shell -n --no-check --command="exit 3; echo \$1" --args 007 | pflow-get exit_code
        for wrong in --check=yes --timeout=0; do pflow-shell -n --command="touch ran" $wrong -q; echo $?; done; ls'
    expect 0 $'3\n2\n2'
}

@test "a child's own code is kept, and 128+n when a signal killed it" {
    in_shells 'for command in "exit 3" "exit 255" "kill -9 \$\$" no-such-command; do pflow-shell -n --command="$command" -q; echo $?; done'
    expect 0 $'3\n255\n137\n127'
}

@test "a command that never stops printing is ended with 73, as a stage and as a step" {
    local said="cannot finish 'yes': it printed more than 1,000,000 bytes; --max-output allows more"
    run --separate-stderr bash -c 'pflow-shell -n --command=yes --max-output=1000000 --retries=2 | pflow-write-file --path=o'
    expect 73 - "pflow-shell: $said"
    run --separate-stderr pflow run -n 'shell --command=yes => write-file --path=o' --shell.max-output=1000000
    expect 73 - "pflow run: shell (shell): $said"
    [ ! -e o ]
}

@test "--timeout is 124 and leaves no child" {
    : >pids # it may end before its command begins
    in_shells '
        pflow-shell -n --timeout=0.3 --command="sleep 60 & echo \$! >>../pids; wait" | pflow-write-file --path=o -q
        echo $?; ls'
    expect 0 124 'took longer than the 0.3 s of --timeout'
    while read -r pid; do until_true ended "$pid"; done <pids
}

@test "--retries tries again so many times, --wait seconds apart, and a success ends it" {
    in_shells '
        pflow-shell -n --retries=3 --wait=0 --command="echo x >>tries; [ \$(wc -l <tries) -eq 3 ]" -q
        echo $? $(wc -l <tries)
        pflow-shell -n --retries=2 --wait=0 --command="echo x >>more; exit 5" -q
        echo $? $(wc -l <more)'
    expect 0 $'0 3\n5 3'
}

@test "the system's errors end in their own codes" {
    mkdir full
    in_shells '
        pflow-read-file --path=.. -q; echo $?
        pflow-read-file --path=../full/a/b -q; echo $?
        ln -s loop loop; pflow-read-file --path=loop -q; echo $?
        echo hi | pflow-write-file --path=.. -q; echo $?
        echo hi | pflow-write-file --path=$(printf %300s | tr " " x) -q; echo $?'
    expect 0 $'66\n66\n66\n73\n73'
}

@test "a failure is one line on stderr, a traceback only with --debug" {
    in_shells 'pflow-read-file --path=/nope -q 2>&1 | wc -l; pflow-read-file --path=/nope --debug -q 2>&1 | grep -c Traceback'
    expect 0 $'1\n1'
    in_shells 'pflow-read-file --path="$(printf "a\nb\033[31m")" -q'
    expect 66
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [[ $stderr != *$'\e'* ]]
}

@test "pflow-catch turns a failure back into a store, on purpose" {
    in_shells '
        pflow-read-file --path=/nope | pflow-catch --set content="not there" | pflow-write-file --path=o -q
        echo $?; cat o'
    expect 0 $'0\nnot there'
    in_shells 'pflow-set -n kept=1 | pflow-shell --command=false | pflow-catch | pflow-get kept; pflow-set -n a=fine | pflow-catch --set a=x | pflow-get a'
    expect 0 $'1\nfine'
}

@test "pflow-get ends a pipe that failed with its code and prints nothing" {
    in_shells 'pflow-shell -n --command="exit 42" | pflow-get stdout'
    expect 42 ''
}
