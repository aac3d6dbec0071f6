#!/usr/bin/env bats
# The executables that are not nodes, and nodes of one's own.
# shellcheck disable=SC2016,SC2154

load helper

@test "pflow-get prints a value raw" {
    in_shells 'pflow-set -n t="a b" n:=7 l:="[1, {\"x\": \"é\"}]" | tee s | pflow-get t | od -An -c; for p in n "l[1]" "l[1].x" "l[-1].x" l; do pflow-get $p <s; echo; done'
    expect 0 $'   a       b  \\n\n7\n\n{"x":"é"}\n\né\n\né\n\n[1,{"x":"é"}]'
}

@test "pflow-get without a path prints what the pipe carries" {
    in_shells 'echo hi | pflow-set a=1 | pflow-get; pflow-set -n a=1 | pflow-get'
    expect 66 hi 'the pipe carries no value'
}

@test "pflow-get ends each text with a newline unless it has one, or with a NUL" {
    in_shells 'pflow-set -n a="x y" b:=2 c="[\"c\"]" d= e:="\"line\\n\"" f:="{\"\$bytes\": \"/w==\"}" >s
        pflow-get a b c d e a <s; pflow-get --exact a d e c b <s; for flags in "-0" "-0 --exact"; do pflow-get $flags a b d e <s | od -An -c; done
        pflow-get f f <s | od -An -c'
    expect 0 $'x y\n2\n["c"]\nline\nx y\nx yline\n["c"]2\n   x       y  \\0   2  \\0  \\0   l   i   n   e  \\n  \\0\n   x       y  \\0   2  \\0  \\0   l   i   n   e  \\n  \\0\n 377 377'
    in_shells 'pflow-set -n a:="\"x\\u0000y\"" | pflow-get -0 a | cat; pflow-set -n a:="\"x\\u0000y\"" | pflow-get -0 a'
    expect 65 '' NUL
}

@test "pflow-get prints JSON, and each item of a list or line of a text; pflow-set takes both back from a file" {
    run bash -c "pflow-set -n 'l:=[\"a\\nb\", {\"x\": 1}]' t=it | pflow-get -j t l"
    expect 0 '"it"'$'\n''["a\nb",{"x":1}]'
    run bash -c "pflow-set -n 'l:=[\"a\\nb\", null]' t=\$'it\n\nis' | pflow-get --each l t"
    expect 0 '"a\nb"'$'\n'null$'\n''"it"'$'\n''"is"'
    run --separate-stderr bash -c "pflow-set -n d:={} | pflow-get --each d"
    expect 65 - "pflow-get: cannot print each item of 'd': it is a dict"
    printf '[1,\n"@x"]\n' >l.json
    run bash -c "pflow-set -n s=o l:@l.json --carry=l | pflow-shell --command=cat | pflow-get"
    expect 0 '[1,"@x"]'
    run --separate-stderr bash -c "pflow-set -n x:@gone | pflow-get"
    expect 66 - "pflow-set: cannot read 'gone' for x: no such file or directory"
    run bash -c "pflow-set -n s@l.json '[\"odd@key\"]=x' a@b=c | pflow-get -j s '[\"odd@key\"]' '[\"a@b\"]'"
    expect 0 '"[1,\n\"@x\"]"'$'\n''"x"'$'\n''"c"'
    run --separate-stderr bash -c "pflow-set -n s=o --carry=s | pflow-set --carry= | pflow-get"
    expect 66 '' 'the pipe carries no value'
    run --separate-stderr bash -c "echo Hi | pflow-set a:='[1]' | pflow-set --carry= | pflow-shell 'echo \$1' --map-in=args=a -r"
    expect 0 1
    [ -z "$stderr" ]
    run --separate-stderr pflow-set -n --carry=x
    expect 66 - "pflow-set: cannot find 'x'"
}

@test "pflow-get says what there is, and -e only tells" {
    in_shells 'pflow-set -n stdout=1 | pflow-get stdot'
    expect 66 '' 'did you mean stdout?'
    in_shells 'for p in nope nil a.b.c "l[5]"; do pflow-set -n a.b=1 nil:=null l:="[1]" | pflow-get -e $p; echo $?; done; pflow-set -n a:=false | pflow-get -e a'
    expect 0 $'1\n1\n1\n1\nfalse'
    [ -z "$stderr" ]
}

@test "pflow-get does not take raw input for a store" {
    in_shells 'echo "{\"a\": 1}" | pflow-get a'
    expect 65 '' '--from=json'
    in_shells 'echo "{\"a\": 1}" | pflow-get --from=json a; pflow-get a </dev/null'
    expect 66 1
    in_shells 'false | pflow-get a'
    expect 66 '' 'stdin was empty'
    in_shells 'false | pflow-set --inputs="{}"'
    expect 66 - 'did the command before it fail? </dev/null if the script needs no input'
}

@test "pflow-set starts a store and changes one, and leaves what the pipe carries" {
    in_shells 'pflow-set -n a=1 b:=2 "c=x = y" d= e.f.g=deep | pflow-set a=3 h:="[1]" | tail -n +2'
    expect 0 $'"a":"3",\n"b":2,\n"c":"x = y",\n"d":"",\n"e":{"f":{"g":"deep"}},\n"h":[1]\n}'
    in_shells 'echo hi | pflow-set a=1 | pflow-shell --command=cat -r; pflow-shell -n --command="echo out" | pflow-set stderr=x | pflow-get'
    expect 0 $'hi\nout'
}

@test "pflow-set refuses what is no member, and sets none of them" {
    for wrong in bare '$x=1' 'a:={' 'a[0]=1'; do
        in_shells "pflow-set -n 'good=1' '${wrong//\'/}'"
        expect 2
        [[ $output == *'"exit":2'*'"members":0}'* ]]
    done
    in_shells 'pflow-set -n a=1 | pflow-set a.b=2'
    expect 65
    in_shells 'pflow-set -n -- "-x=1" | pflow-get "-x" >/dev/null; pflow-set -n -- "-x=1" | pflow-get -- -x'
    expect 0 1
}

@test "what a tool cannot take is 2, and names it" {
    in_shells 'pflow-set -n a=1 | pflow-set --from=stor b=2; pflow-set -n a=1 | pflow-get --from=stor a'
    expect 2 - "cannot take --from='stor': it is not one of auto, store, text, json"
    in_shells 'pflow-set -n "$(printf "\377")=1"'
    expect 2 - 'its bytes are not UTF-8'
}

@test "a command of the driver says what it cannot print, and ends silently where nobody reads" {
    in_shells 'pflow trace --help >/dev/full; echo $?; pflow-set -n a=1 | pflow trace >&-; echo $?; pflow trace --help >&-; echo $?'
    expect 0 $'73\n73\n73' 'no space left'
    in_shells 'exec </dev/null; pflow >&- 2>&-; echo $?; pflow 2>&1 >&- | head -n 1'
    expect 0 $'73\npflow: cannot write to stdout: it is closed'
    in_shells 'mkfifo f; exec 3<>f 4>f 3>&-; pflow trace --help >&4; echo $?'
    expect 0 141
    [ -z "$stderr" ]
}

@test "pflow trace shows where a pipe failed" {
    in_shells 'pflow-read-file --path=/nope | pflow-write-file --path=o | pflow trace | sed "s/[0-9]* ms/N ms/"'
    [[ $output == *'exit 66'*'failed: read-file (exit 66): cannot read'* ]] || expect 0 'failed: …'
    in_shells 'echo raw | pflow trace'
    expect 65 ''
    in_shells 'pflow trace </dev/null; pflow trace --nope'
    expect 2
}

@test "pflow WORD runs pflow-WORD, with its flags, its stdin and its code" {
    in_shells 'echo hi | pflow shell --command="exit 7" -r; echo $?; echo hi | pflow shell --command=cat -r; pflow set -n a=1 | pflow get a; pflow write-file --path=o -n --content=x -q && cat o'
    expect 0 $'7\nhi\n1\nx'
}

@test "pflow WORD finds programs on PATH" {
    mkdir bin
    printf '#!/bin/sh\necho "mine: $*"\n' >bin/pflow-mine && chmod +x bin/pflow-mine
    printf 'echo "plain: $*"\n' >bin/pflow-plain && chmod +x bin/pflow-plain
    : >bin/pflow-flat
    in_shells 'PATH=$PWD/../bin:$PATH; pflow mine --x "a b"; pflow plain "a  b"; pflow flat -q; echo $?'
    expect 0 $'mine: --x a b\nplain: a  b\n127'
}

@test "a word that is nothing is 127 with the nearest name" {
    in_shells 'pflow shel --command=true -q; echo $?; pflow ../../bin/sh -q; echo $?'
    expect 0 $'127\n127' 'did you mean shell'
}

own_node() {
    mkdir -p nodes
    cat >"nodes/$1"
    export PFLOW_NODES=/nowhere:$PWD/nodes
}

@test "a user's own node runs as a stage" {
    node count_words 'Reads: shared["text"]: str [pipe]  # the text' 'Writes: shared["words"]: int [pipe]  # how many' \
        'Params: minimum: int = 1  # letters that make a word' <<'END'
    version = "1.2.3"

    def post(self, shared, prepared, done):
        shared["words"] = sum(len(word) >= self.params["minimum"] for word in shared["text"].split())
END
    export PFLOW_NODES=/nowhere:$PWD
    in_shells '
        echo "one three four" | pflow count_words --minimum=4 | pflow-get words
        pflow-shell -n --command="echo a b" | pflow count-words --id=n | pflow-get n.words
        pflow count-words --version | cut -d" " -f1,2; pflow count-words --help | grep "^[DPC].*:$"
        echo x | pflow count-words --minimum=many -q; echo $?'
    expect 0 $'2\n2\npflow-count-words 1.2.3\nData (into the store):\nParams (how it works):\nCommon:\n2'
}

@test "a node straight from pocketflow runs, with an open interface" {
    own_node shout.py <<'N'
from pocketflow import Node

class Shout(Node):
    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        return text.upper() + self.params.get("mark", "")

    def post(self, shared, text, loud):
        shared["loud"] = loud
        return "default"
N
    in_shells 'pflow-set -n text=hi | pflow shout --mark=! | pflow-get loud; pflow shout -n --text=ho | pflow-get loud'
    expect 0 $'HI!\nHO'
}

@test "a node that cannot be loaded says why in a line" {
    own_node broken.py <<<'class Broken(:'
    own_node lacking.py <<<'import no_such_module'
    own_node empty.py </dev/null
    own_node raising.py <<<'raise SystemExit(0)'
    own_node odd.py <<<'class Odd: pass'
    in_shells 'for node in broken lacking empty raising odd; do pflow $node -n -q; echo $?; done'
    expect 0 $'65\n78\n65\n65\n65' ' no_such_module'
    [[ $(wc -l <<<"$stderr") -eq 5 && $stderr == *PF09* && $stderr != *Traceback* ]]
}

@test "what goes wrong in a user's node ends in the code of its exception" {
    own_node raises.py <<'N'
import errno

from pocketflow import Node

from pflow.errors import PflowError

class Raises(Node):
    def exec(self, prepared):
        raise eval(self.params["what"], globals())
N
    in_shells 'for what in "FileNotFoundError(2, 1)" "PflowError(\"cannot\", exit=42)" "ValueError(\"two\\nlines\")" "KeyboardInterrupt()"; do
            pflow raises -n -q --what="$what"; echo $?
        done'
    expect 0 $'66\n42\n1\n1'
    [[ $(wc -l <<<"$stderr") -eq 4 && $stderr != *Traceback* ]]
}

@test "a program in any language is a node in a pipe" {
    need jq
    mkdir bin
    printf '#!/bin/sh\nexec jq ".words = (.text | split(\\" \\") | length)"\n' >bin/pflow-words && chmod +x bin/pflow-words
    in_shells 'PATH=$PWD/../bin:$PATH; pflow-set -n text="a b c" | pflow words | pflow-get words'
    expect 0 3
}

@test "pflow-get --each -r prints raw lines, and refuses a text that holds a newline" {
    run bash -c "pflow-set -n 'l:=[\"a b\", 1, {\"k\": null}]' | pflow-get --each -r l"
    expect 0 $'a b\n1\n{"k":null}'
    run --separate-stderr bash -c "pflow-set -n 'l:=[\"a\nb\"]' | pflow-get --each -r l"
    expect 65 - "cannot end a value with a newline: it contains one; -0, or no -r"
}
