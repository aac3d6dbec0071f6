#!/usr/bin/env bats
# Poor surroundings: each program works, or says in a line what it lacks.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

bare() { # a script with nothing but PATH
    in_shells "exec env -i PATH='$PATH' sh -c '$1'"
}

@test "with nothing but PATH every node and tool works" {
    bare 'echo hi | pflow-write-file --path=o | pflow-read-file --path=o | pflow-shell --command="tr h H" |
        pflow-list-files --pattern="*" | pflow-set a=1 | pflow-catch | pflow-get stdout files'
    expect 0 $'Hi\n["o"]'
    [ -z "$stderr" ]
    bare 'pflow-set -n "text=ä" | pflow trace; pflow --version >/dev/null; pflow read-file --help >/dev/null && echo fine'
    expect 0 $'no step has run\nfine'
}

@test "with nothing but PATH llm says which model it lacks" {
    bare 'pflow-llm -n --model=nope --prompt=hi -q'
    expect 78 '' "cannot find the model 'nope'"
}

@test "nothing is left where home is unusable and a signal ends llm" {
    mkdir t && mkfifo f
    exec 9<>f
    env -i --default-signal=TERM PATH="$PATH" HOME=/dev/null TMPDIR="$PWD/t" pflow-llm --prompt=hi <f >out 2>err 9>&- 3>&- &
    until_true eval '[ -n "$(ls t)" ]'
    kill "$!"
    code=0 && wait "$!" || code=$?
    [ "$code" -eq 143 ] || { cat err && return 1; }
    [ -z "$(ls t)" ]
}

@test "text outside ASCII passes whatever the locale is" {
    mkdir loc && localedef -f ISO-8859-1 -i de_DE loc/de_DE.ISO-8859-1 2>/dev/null || true # where there is none, it is C
    for locale in LC_ALL=C 'LC_ALL=C PYTHONUTF8=0' "LOCPATH=$PWD/loc LC_ALL=de_DE.ISO-8859-1"; do
        in_shells "export $locale"'
            mkdir "ä"; echo "größe 😀" | pflow-write-file --path="ä/ö.txt" | pflow-shell --command="cat; echo \"\$1\"" --args="ü" -r
            pflow-read-file --path="ä/ö.txt" -r; pflow-list-files --pattern="ä/*" -r; pflow template -n --template="€ß" -r
            pflow-set -n "text=é" | pflow-get text
            pflow-read-file --path=ß -q'
        expect 66 $'größe 😀\nü\ngröße 😀\n["ä/ö.txt"]\n€ß\né' "cannot read 'ß'"
    done
}

@test "a child gets the environment as it was" {
    bare 'pflow-shell -n --command=env -r | grep -v "^PWD=\|^_=\|^SHLVL=\|^OLDPWD=" | cut -d= -f1'
    expect 0 PATH
    in_shells 'LC_ALL=C pflow-shell -n --command="echo \$LC_ALL \$LC_CTYPE \$PYTHONPATH" -r'
    expect 0 C
}

# bats test_tags=rights
@test "a read-only working directory" {
    mkdir closed && chmod 555 closed
    run --separate-stderr as_mortal 'cd closed
        pflow-read-file --path="$NOTES" | pflow-shell --command="wc -l" | pflow-get stdout
        pflow-llm -n --prompt=fine -r
        echo hi | pflow-write-file --path=o -q; echo $?
        echo hi | pflow-write-file --path=sub/o -q; echo $?; ls -A'
    expect 0 "$(wc -l <"$NOTES")"$'\nfine\n77\n77' "pflow-write-file: cannot write 'o': permission denied"
}

@test "a working directory that is gone" {
    in_shells '
        mkdir gone; cd gone; rmdir ../gone
        echo hi | pflow-shell --command=cat -r; pflow-set -n a=1 | pflow-get a
        echo hi | pflow-write-file --path=o -q; echo $?; pflow-list-files --pattern="*" -r || echo $?'
    [[ $output == $'hi\n1\n'@(66|73)$'\n'* && $stderr != *Traceback* && $stderr != *'bug in pflow'* ]] || expect 0 'hi …'
}

@test "few open files and a stack of descriptors" {
    in_shells 'ulimit -n 20; echo hi | pflow-write-file --path=o | pflow-shell --command=cat -r'
    expect 0 hi
    run --separate-stderr bash -c 'exec 9>d; echo hi | pflow-shell --command="echo x >&9; cat" -r; cat d'
    expect 0 $'hi\nx'
}

@test "too little memory is 71 and a line, with the size where that is known, wherever a node runs" {
    node hog 'Reads: shared["x"]: any = null  # anything' 'Writes: shared["size"]: int [pipe]  # a size' <<'END'
    def post(self, shared, prepared, result):
        shared["size"] = len("x" * 10**15)
END
    export PFLOW_NODES=$PWD
    echo '{"inputs":{"xs":{"type":"list"}},"nodes":[{"type":"hog","batch":{"over":"xs","as":"x","jobs":2}}]}' >batch.pflow.json
    for run in 'pflow hog -n' 'pflow run -n hog' 'pflow run -n hog --isolate' 'pflow run -n batch.pflow.json --xs=[1,2]'; do
        run --separate-stderr bash -c "$run | pflow-get"
        expect 71 '' 'cannot run hog: not enough memory'
        [[ ${#stderr_lines[@]} -eq 1 && $stderr != *bug* ]]
    done
    truncate -s 3G large
    for words in 'pflow-read-file --path=large:cannot read '"'large': not enough memory for 3,221,225,472 bytes" \
        'pflow run -n "read-file --path=large":not enough memory for 3,221,225,472 bytes' \
        'pflow-get <large:cannot read stdin: not enough memory for 3,221,225,472 bytes' \
        'pflow-shell -n --command=yes:cannot keep what '"'yes' prints: not enough memory for"; do
        run --separate-stderr bash -c "ulimit -v 600000; ${words%%:*}"
        expect 71 - "${words#*:}"
        [[ ${#stderr_lines[@]} -eq 1 && $stderr != *bug* ]]
    done
}

@test "PYTHONPATH, a module of one's own in the way, and python's switches" {
    echo 'raise SystemExit("wrong json")' >json.py
    cp json.py pflow.py && cp json.py signal.py && cp json.py nodes.py
    run --separate-stderr sh -c 'echo hi | pflow-write-file --path=o | pflow-shell --command=cat | pflow-get'
    expect 0 hi
    in_shells 'PYTHONWARNINGS=error PYTHONDEVMODE=1 PYTHONUTF8=0 pflow-shell -n --command="echo hi" -r'
    expect 0 hi
    [ -z "$stderr" ]
}

@test "a python that drops docstrings does not open a node's interface" {
    printf '%s\n' '{"$pflow":{"v":1},' '"command":"touch ran",' '"path":"o",' '"content":"hi"' '}' >store
    in_shells 'PYTHONOPTIMIZE=2 pflow-shell -q <../store; PYTHONOPTIMIZE=2 pflow-write-file -q <../store; ls'
    expect 0 ''
    in_shells 'PYTHONOPTIMIZE=2 pflow-shell -n --command="echo hi" -r'
    [[ $status -eq 0 && $output == hi ]] || [[ $status -eq 78 && $stderr == *PYTHONOPTIMIZE* ]]
}
