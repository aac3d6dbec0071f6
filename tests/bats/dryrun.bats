#!/usr/bin/env bats
# --dry-run: what would be done, and nothing done.
# shellcheck disable=SC2016,SC2154

load helper

setup() { quick_llm; }

@test "a dry stage says what it would read and do, touches nothing, and ends with 0" {
    in_shells 'echo old >o; echo new | pflow-write-file --path=o --dry-run >doc; echo $?; cat o; ls'
    expect 0 $'0\nold\ndoc\no' 'write-file (dry run)'
    [[ $stderr == *'content from stdin'* && $stderr == *'path from --path'* && $stderr == *'writes files'* ]]
    in_shells 'pflow-shell -n --dry-run --command="touch ran" -q; pflow-read-file --path=/nope --dry-run -q; ls'
    expect 0 '' 'runs commands'
}

@test "a dry run names the file that a default and a param make" {
    in_shells 'pflow-save-results -n --results=x --dry-run -q; pflow-save-results -n --results=x --format=md --dry-run -q
        pflow run -n "save-results --results=x" --format=csv --dry-run -q
        pflow explain "save-results --results=x --format=jsonl"'
    expect 0 && [[ $output == *'default "results.jsonl"'* && $output != *format\"* ]]
    [[ $stderr == *'path: results.json'*'path: results.md'*'path: results.csv'* ]]
}

@test "the stages after a dry one are dry too, and what it would write counts as present" {
    need jq
    in_shells '
        pflow-shell -n --command="touch ran; echo hi" --dry-run | jq . | pflow-llm --prompt="never-asked-dry: \$stdout" |
            pflow-shell --command="touch ran" --args="\${usage.input}" | pflow-write-file --path=o >doc
        echo $?; ls'
    expect 0 $'0\ndoc' 'content from stdout'
    [ "$(requests_with never-asked-dry)" -eq 0 ]
    [ "$(grep -c '(dry run)' <<<"$stderr")" -eq 4 ]
}

@test "a dry pipe still finds what is missing" {
    in_shells 'pflow-shell -n --command=true --dry-run | pflow-shell --command=true --args="\$nope" -q'
    expect 66 '' "'nope'"
}

@test "a dry run refuses what the real run refuses before it starts" {
    for flag in '' --dry-run; do
        in_shells "pflow-set -n a=1 | pflow-shell $flag --id=a --command='touch ran' -q; echo \$?; ls"
        expect 0 65 "cannot write 'a."
        in_shells "pflow-set -n a=1 | pflow-shell $flag --map-out stdout=a.b --command='touch ran' -q; echo \$?; ls"
        expect 0 65 "cannot write 'a.b'"
    done
    in_shells '
        pflow-set -n stdout=1 | pflow-shell --dry-run --map-out stdout=x --command=true |
            pflow-shell --id=x --command=true -q; echo $?
        pflow-set -n a.b=1 | pflow-shell --dry-run --id=a --command=true -q; echo $?'
    expect 0 $'0\n0'
}

@test "a dry stage carries the store on as it was" {
    in_shells 'pflow-set -n kept=1 | pflow-shell --command=true --dry-run | pflow-get kept'
    expect 0 1
    in_shells 'pflow-set -n kept=1 | pflow-shell --command=true --dry-run | pflow-get stdout; pflow-shell -n --command="echo hi" --dry-run -r'
    expect 0 '' 'would print: stdout'
}

@test "pflow trace marks dry steps" {
    in_shells 'pflow-shell -n --command=true --dry-run 2>/dev/null | pflow trace'
    [[ $status -eq 0 && $output == '[1] shell (shell)'*dry* ]]
}

@test "a dry run prints nothing to a raw reader, and pflow-get at its end says what it would print" {
    in_shells 'pflow-shell -n --command="touch ran" --dry-run -r; pflow-shell -n --command="touch ran" --dry-run | pflow-get; echo $?; ls'
    expect 0 0 'would print: stdout'
}
