#!/usr/bin/env bats
# What a stage writes, and where.
# shellcheck disable=SC2016,SC2154

load helper

setup() { quick_llm; }

@test "a reader that leaves early ends a stage silently with 141" {
    head -c 3000000 /dev/zero | tr '\0' 'x' >big
    for stages in '| pflow-set a=1' '-r'; do
        run --separate-stderr bash -c "pflow-read-file --path=big $stages | head -c1; echo \" \${PIPESTATUS[*]}\""
        [[ $output =~ ^.\ .*141\ 0$ && -z $stderr ]] || expect 0 "… 141 0"
    done
}

@test "every program ends silently with 141 where nobody reads" {
    pflow-set -n a=1 | pflow-shell --command='echo hi' >store
    in_shells 'mkfifo f; for command in "pflow-get a" "pflow-set b=1" pflow-catch "pflow-shell --command=cat -r" "pflow trace" \
            "pflow --help" "pflow-llm --version" "pflow-llm --describe" "pflow-get --help"; do
            exec 3<>f 4>f 3>&-; $command <../store >&4; echo "$? $command"
        done | grep -v "^141"; echo'
    expect 0 ''
    [ -z "$stderr" ]
}

@test "100,000 random bytes come out identical" {
    in_shells '
        head -c 100000 /dev/urandom >in
        pflow-write-file --path=a <in | pflow-get stdin | cmp - in &&
        cat in | pflow-write-file --path=b -q &&
        pflow-read-file --path=b | pflow-shell --command=cat | pflow-write-file --path=c -r | cmp - in &&
        cmp a in && cmp b in && cmp c in'
    expect 0 ''
}

@test "-r ends a text with a newline, unless it is empty or has one; --exact adds none; bytes are never touched" {
    in_shells '
        printf "caf\303\251\r\nend" | tee t | pflow-shell --command=cat -r | od -An -c
        pflow-shell --command=cat -r --exact <t | cmp - t
        for text in "" "end\n" "\n" "\377\000"; do
            printf "$text" >o
            pflow-read-file --path=o -r | cmp - o
            pflow run "read-file --path=o" -r | cmp - o
        done
        : >a.txt; pflow-list-files --pattern="*.txt" -r
        for n in 1 2 3; do pflow-shell -n --command="printf $n" -r >>log; done; cat log
        pflow-shell -n --command="printf 1" -r | while read -r line; do echo "line $line"; done'
    expect 0 $'   c   a   f 303 251  \\r  \\n   e   n   d  \\n\n["a.txt"]\n1\n2\n3\nline 1'
}

@test "a flow, a saved one, its Python, and a stream end a text alike" {
    in_shells 'it="shell --command=\"printf hi\""
        pflow save greeting "$it" >/dev/null 2>&1; pflow export --to=python "$it" >it.py
        for words in "pflow-shell --command" "pflow run" "pflow greeting" "$PYTHON it.py"; do
            case $words in *run) set -- "$it" ;; *command) set -- "printf hi" ;; *) set -- ;; esac
            for flags in -r "-r --stream" "-r --exact" "-r --stream --exact"; do
                $words "$@" $flags </dev/null | tr "\n" / ; printf " "
            done
        done
        pflow shell -n --command=: :: shell --command="printf hi" -r --exact
        pflow-shell -n --command="printf \"hi\n\"" -r --stream; pflow-shell -n --command="printf \"\377\"" -r --stream | od -An -c'
    expect 0 $'hi/ hi/ hi hi hi/ hi/ hi hi hi/ hi/ hi hi hi/ hi/ hi hi hihi\n 377'
}

@test "write-file --append ends a text, unless --exact, as a stage, in a flow of any form and in its exports" {
    in_shells '
        append() { { "$@" && "$@"; } >/dev/null; tr "\n" / <log; printf " "; rm log; }
        for exact in "" " --exact"; do
            step="write-file --path=log --content=hi --append$exact"
            for form in pipe sh python; do pflow export --to=$form "$step" >it.$form; done
            append pflow-$step -n
            append pflow run $step
            append pflow run "shell --command=true => $step"
            append pflow shell --command=true :: $step
            append pflow run it.pipe
            append sh it.sh
            append "$PYTHON" it.python
        done
        pflow-write-file -n --path=log --content=hi --append -r --exact' </dev/null
    expect 0 'hi/hi/ hi/hi/ hi/hi/ hi/hi/ hi/hi/ hi/hi/ hi/hi/ hihi hihi hihi hihi hihi hihi hihi '
}

@test "-r into a pipe or a file writes once the node has succeeded, so no half goes on" {
    in_shells '
        pflow-shell -n --command="echo part; exit 3" -r | pflow-write-file --path=out -q; echo $?
        pflow-shell -n --command="echo part; exit 3" -r >half; echo "$? $(cat half)"
        pflow run -n "shell --command=\"echo part; exit 3\"" -r >half; echo "$? $(cat half)"
        pflow shell -n --command=: :: shell --command="echo part; exit 3" -r | cat; ls'
    expect 0 $'66\n3 \n3 \nhalf' 'stdin was empty'
}

@test "-r with --stream writes a shell's output as it comes" {
    for words in 'pflow-shell -n --command="echo first; cat go"' 'pflow run -n "shell --command=\"echo first; cat go\""' \
        'pflow shell -n --command=: :: shell --command="echo first; cat go"'; do
        in_shells "mkfifo go out
            $words -r --stream >out & stage=\$!
            exec 3<out; read first <&3
            echo second >go; read second <&3
            wait \$stage && echo \$first \$second"
        expect 0 'first second'
    done
    in_shells 'pflow-shell -n --command="echo part; exit 3" -r --stream | cat'
    expect 0 part
}

@test "--stream is refused where nothing is written as it comes" {
    in_shells 'for words in "" -j -q; do
            pflow-shell -n --command="touch ran" --stream $words | pflow-get -e a; echo $?
            pflow run -n "shell --command=\"touch ran\"" --stream $words >/dev/null; echo $?
        done; ls'
    expect 0 $'2\n2\n2\n2\n66\n2' 'the store document is written whole; -r --stream'
}

@test "-q prints nothing, and -j prints the document, even to a terminal" {
    need script
    in_shells 'pflow-shell -n --command="echo hi" -q'
    expect 0 ''
    run timeout 30 script -qec 'pflow-shell -n --command="echo hi" -q' /dev/null
    expect 0 ''
    run timeout 30 script -qec 'pflow-shell -n --command="echo hi" -j' /dev/null
    [[ $status -eq 0 && $output == '{"$pflow":'*'"stdout":"hi\n"'* ]]
    run --separate-stderr pflow-shell -n --command=true -r -j
    expect 2 ''
}

@test "a terminal gets the value as text with a final newline, and no document after a failure" {
    need script
    on_terminal() { run timeout 30 script -qec "$1" /dev/null; }
    on_terminal 'pflow-shell -n --command="printf hi"; printf end'
    expect 0 $'hi\r\nend'
    on_terminal 'pflow-shell -n --command="printf hi" -r; pflow-shell -n --command="printf hi" -r --exact; printf end'
    expect 0 $'hi\r\nhiend'
    on_terminal 'pflow-set -n a=1 | pflow-write-file --content=hi --path=o; printf end'
    expect 0 end
    on_terminal 'pflow-list-files -n --pattern="o"'
    expect 0 $'["o"]\r'
    on_terminal 'pflow-read-file -n --path=/nope 2>/dev/null'
    expect 66 ''
    for words in '' -r --stream '-r --stream'; do # it grows, and a part of it stays
        on_terminal "pflow-shell -n --command='echo part; exit 3' $words 2>/dev/null"
        expect 3 $'part\r'
    done
}

@test "a message begins a line on the terminal of an answer that has not ended its own" {
    need script
    export NO_COLOR=1
    on_terminal() { run timeout 30 script -qec "$1" /dev/null; }
    for words in '' -r --stream '-r --exact' --timeout=9; do
        on_terminal "pflow-shell -n --command='printf part; exit 3' $words"
        [[ $status -eq 3 && $output == $'part\r\npflow-shell: cannot finish'* ]]
    done
    on_terminal "pflow run -n 'shell --command=\"printf part; exit 3\"' -r --stream"
    [[ $status -eq 3 && $output == *$'part\r\n'*'pflow run: shell (shell): cannot finish'* ]]
    script="from pflow.terminal import messages as m; import os; os.write(1, b'part'); m.unfinished = 1
m.say('warning', 'cut'); m.say('pflow', 'end')"
    printf '%s' "$script" >half.py
    on_terminal "$PYTHON half.py"
    expect 0 $'part\r\nwarning: cut\r\npflow: end\r'
    on_terminal "sed '1s/$/; m.write_stderr(\"oops\\\\n\")/' half.py | $PYTHON -"
    expect 0 $'partoops\r\nwarning: cut\r\npflow: end\r'
    on_terminal "$PYTHON half.py 2>said; cat said"
    expect 0 $'partwarning: cut\r\npflow: end\r'
    on_terminal "$PYTHON half.py >said"
    expect 0 $'warning: cut\r\npflow: end\r'
}

@test "a node that prints does not spoil the document" {
    mkdir nodes
    cat >nodes/noisy.py <<'N'
import os
import sys

from pocketflow import Node

print("while it is imported")

class Noisy(Node):
    def exec(self, prepared):
        print("printed")
        os.system("echo by a child")
        os.write(1, b"straight to 1\n")
        sys.stdout.write("no newline")

    def post(self, shared, prepared, done):
        shared["done"] = True
N
    export PFLOW_NODES=$PWD/nodes
    in_shells 'pflow noisy -n | pflow-get done'
    expect 0 true printed
    for said in 'while it is imported' printed 'by a child' 'straight to 1' 'no newline'; do
        [[ $stderr == *"$said"* ]] || expect 0 - "$said"
    done
}

@test "a terminal sees the answer grow" {
    need tmux
    local tmux=(tmux -S "$BATS_TEST_TMPDIR/s" -f /dev/null)
    mkfifo go
    "${tmux[@]}" new-session -d -x 80 -y 24 "pflow-shell -n --command='printf fir; cat go'; cat" 3>&-
    until_true eval '"${tmux[@]}" capture-pane -p | grep -q ^fir$'
    echo st >go
    until_true eval '"${tmux[@]}" capture-pane -p | grep -q ^first$'
    "${tmux[@]}" kill-server
}

@test "what a command prints on stderr is shown, and write-file works like tee: what the pipe carries goes on" {
    in_shells 'pflow-shell -n --command="echo words >&2; echo hi" | pflow-write-file --path=a | pflow-write-file --path=b |
        pflow-shell --command="tr h H" -r; cat a b'
    expect 0 $'Hi\nhi\nhi' words
}

@test "a closed stdout is said, and -q works without one" {
    in_shells 'pflow-shell -n --command="touch ran" >&-; echo $?; ls'
    expect 0 73 closed
    in_shells 'pflow-shell -n --command="touch ran" -q >&- && ls; pflow-set -n a=1 >&-; echo $?; pflow --version >&-; echo $?'
    expect 0 $'ran\n73\n73'
    in_shells 'for command in pflow-llm pflow-get "pflow runs"; do $command --help >&-; echo $?; done'
    expect 0 $'73\n73\n73' closed
}

@test "no file that a stage opens takes the place of a closed stdin, stdout or stderr" {
    in_shells '
        echo hi | pflow-write-file --path=o -q >&- 2>&- && cat o
        pflow-write-file -n --content=hi --path=p -q <&- >&- 2>&- && cat p
        pflow-read-file -n --path=/nope -q 2>&-; echo $?; pflow-shell -n --command="echo x >&2; echo y" -r 2>&-'
    expect 0 $'hi\nhi66\ny' ''
    [ -z "$stderr" ]
}

@test "a full device as stdout is 73, said in one line, and as stderr changes no code" {
    for command in 'pflow-shell -n --command="echo hi" -r' 'pflow-set -n a=1' 'pflow --help' 'pflow-llm --version' 'pflow-llm --describe'; do
        in_shells "$command >/dev/full"
        expect 73 '' "${command%% *}: cannot write to stdout: no space left on device" || { echo "$command" && return 1; }
    done
    in_shells 'pflow-read-file --path=/nope --debug -q 2>/dev/full; echo $?
        pflow-shell -n --command="echo words >&2; echo data" -r -v 2>/dev/full'
    expect 0 $'66\ndata'
}

@test "a stdout that somebody made non-blocking gets the whole document" {
    head -c 2000000 /dev/zero | tr '\0' 'x' >big
    "$PYTHON" - <<'P'
import fcntl, os, subprocess, termios

read, write = os.pipe()
os.set_blocking(write, False)
stage = subprocess.Popen(["pflow-read-file", "-n", "--path=big", "-r", "--exact"], stdin=subprocess.DEVNULL, stdout=write)
os.close(write)
full = fcntl.fcntl(read, fcntl.F_GETPIPE_SZ)
while int.from_bytes(fcntl.ioctl(read, termios.FIONREAD, bytes(4)), "little") < full:
    pass
got = 0
while chunk := os.read(read, 1 << 16):
    got += len(chunk)
assert (got, stage.wait(60)) == (2000000, 0), (got, stage.returncode)
P
}

@test "/dev/stdout, /dev/stderr and process substitution are written to" {
    in_shells 'echo hi | pflow-write-file --path=/dev/stderr -q; mkfifo f; cat f & echo yo | pflow-write-file --path=f -q; wait; ls'
    expect 0 $'yo\nf' hi
    run --separate-stderr timeout 30 bash -c 'echo hi | pflow-write-file --path >(cat >copy2) -q; until [ -s copy2 ]; do sleep 0.01; done; cat copy2'
    expect 0 hi
    run --separate-stderr timeout 30 bash -c 'pflow-read-file --path <(printf "a\nb") -r'
    expect 0 $'a\nb'
}
