#!/usr/bin/env bats
# Input without an end, and what never answers: each node and tool ends by a signal, a time limit or a limit of size.
# shellcheck disable=SC2016,SC2086,SC2154

load helper

setup_file() { start_server; }

teardown_file() { stop_server; }

setup() {
    mkfifo silent unread endless
    exec {writer}<>endless # no reader sees an end
    printf 'a\n1\n' >a.csv
    ln -s /dev/zero zero.csv
    programs=$(cd "$BATS_TEST_DIRNAME/../../bin" && echo pflow-*)
}

# The codes that each line `CODE COMMAND` of stdin ends with, all at the same time, where they differ.
ends() {
    local line n=0
    while read -r line; do
        : $((n += 1))
        timeout -k 5 60 sh -c "${line#* }" >out.$n 2>err.$n {writer}>&- 3>&- &
        lines[$!]=$line said[$!]=err.$n
    done
    for pid in "${!lines[@]}"; do
        code=0 && wait "$pid" || code=$?
        [ "$code" = "${lines[pid]%% *}" ] || { echo "$code, not ${lines[pid]}" && cat "${said[pid]}" && wrong=1; }
    done
    [ -z "${wrong-}" ]
}

@test "--timeout ends every node while stdin goes on, with 124" {
    lines=() said=()
    for program in $programs; do
        case $program in pflow-get | pflow-set | pflow-catch) continue ;; esac
        echo "124 $program --timeout=0.4 <endless"
    done >table
    printf '%s\n' '124 pflow run "shell cat" --timeout=0.4 <endless' '124 pflow run - --timeout=0.4 <endless' >>table
    ends <table
    [ "$(grep -l 'cannot .*: it took longer than the 0.4 s of --timeout' err.* | wc -l)" -eq "$(wc -l <table)" ]
}

@test "TERM ends every node and tool while it reads stdin, with 143" {
    for program in $programs "pflow run template"; do
        env --default-signal=TERM $program <endless >out 2>err {writer}>&- 3>&- &
        head -c 300000 /dev/zero >&"$writer" # more than a pipe holds: it has begun to read
        kill "$!"
        code=0 && wait "$!" || code=$?
        [ "$code" -eq 143 ] || { echo "$program: $code" && cat err && false; }
    done
}

@test "a time limit ends what never answers and what never ends, wherever it is named, with 124" {
    lines=() said=()
    long='SELECT instr(printf("%.*c", 200000000, "a"), printf("%.*c", 100000, "a") || "b") FROM rows'
    echo "$long" >long.sql
    ends <<'END'
124 pflow-read-file silent -n --timeout=0.4
124 pflow-load-csv silent -n --timeout=0.4
124 pflow-write-file unread --content=x -n --timeout=0.4
124 pflow-template --template@silent -n --timeout=0.4
124 pflow-llm x -a silent -n --timeout=0.4
124 pflow-llm x --schema=./silent -n --timeout=0.4
124 pflow-llm x -m stall -n --timeout=0.4
124 pflow-shell "sleep 60" -n --timeout=0.4
124 pflow run "read-file silent --timeout=0.4" -n
124 pflow run "shell 'echo silent' => read-file --each --jobs=2" -n --timeout=0.4
124 pflow run template --template@silent -n --timeout=0.4
124 pflow-read-file /dev/zero -n --timeout=0.4
124 yes | pflow-shell "head -1" --timeout=0.4
124 pflow-load-csv a.csv -n | pflow-custom-analysis --sql@long.sql --timeout=0.4
124 pflow run "load-csv a.csv => custom-analysis --sql@long.sql" -n --timeout=0.4
END
}

@test "input has a limit of size, which --max-input sets" {
    lines=() said=()
    ends <<'END'
65 pflow-read-file /dev/zero -n --max-input=1000000
65 pflow-load-csv zero.csv -n --max-input=1000000
65 pflow-llm x -a /dev/zero -n --max-input=1000000
65 pflow-llm x --schema=/dev/zero -n --max-input=1000000
65 yes | pflow-shell "head -1" --max-input=1000000
65 yes | pflow-get --max-input=1000000
65 yes | pflow run "shell cat" --max-input=1000000
65 printf 12345 | pflow-shell cat --max-input=4
0 printf 1234 | pflow-shell cat --max-input=4
2 pflow-shell true --max-input=0 -n
2 pflow run "shell true --max-input=9 => shell true" -n
END
    [ "$(grep -l -- 'it has more than 1,000,000 bytes; --max-input=BYTES takes more' err.* | wc -l)" -eq 7 ]
}

@test "a time limit does not count how long an earlier stage takes" {
    in_shells "for utf8 in 0 1; do  # without UTF-8 a stage starts itself again, as python
        PYTHONUTF8=\$utf8 PYTHONCOERCECLOCALE=0 LC_ALL=C pflow-shell -n 'sleep 5; echo hi' |
            pflow-shell cat --timeout=4 -r & done; wait"
    expect 0 $'hi\nhi'
}
