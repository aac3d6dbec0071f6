#!/usr/bin/env bats
# Flows through pflow run: as the hand-written pipe, in any language, with branches, loops, forks, batches, and large.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() {
    mkdir "$BATS_FILE_TMPDIR/nodes" && cd "$BATS_FILE_TMPDIR/nodes" || exit
    # Adds one; its action is done from `enough` on.
    node count 'Reads: shared["n"]: int = 0  # so far' 'Writes: shared["n"]: int [pipe]  # one more' \
        'Params: by: int = 1  # how many' 'Params: enough: int = null  # until' 'Actions: default, done' <<'END'
    def post(self, shared, prepared, result):
        shared["n"] += self.params["by"]
        return "done" if self.params["enough"] and shared["n"] >= self.params["enough"] else None
END
    node say 'Reads: shared["text"]: str [pipe]  # a text' 'Writes: shared["said"]: str [pipe]  # the same' <<'END'
    def post(self, shared, prepared, result):
        shared["said"] = shared["text"]
END
    node pass_on 'Reads: shared["value"]: any [pipe]  # anything' 'Writes: shared["passed"]: any [pipe]  # the same' \
        'Params: bad: any = null  # the value that fails' <<'END'
    def post(self, shared, prepared, result):
        if shared["value"] == self.params["bad"]:
            raise ValueError("it is bad")
        shared["passed"] = shared["value"]
END
    script words 'Reads: shared["text"]: str [pipe]  # a text' 'Writes: shared["words"]: int [pipe]  # how many' \
        <<<'jq '\''.words = (.text | split(" ") | length)'\'
    script odd 'Reads: shared["text"]: str [pipe]  # a text' 'Writes: shared["words"]: any [pipe]  # anything' \
        'Params: how: str = "garbage"  # what it does' <<'END'
case $1 in
--how=error) jq -c '."$pflow".error = {step: "x", node: "y", exit: 9, message: "on purpose"}' ;;
--how=three) cat >/dev/null; echo first >&2; echo 'it broke' >&2; exit 3 ;;
--how=deaf) echo '{"$pflow":{"v":1},"words":5}' ;;
--how=loud) head -c 1000000 /dev/zero | tr '\0' x >&2; jq '.words = 1' ;;
--how=killed) kill -9 $$ ;;
--how=slow) exec sleep 60 ;;
*) echo garbage ;;
esac
END
    chmod +x pflow-*
}

# A node in sh of this name: its interface's lines, and on stdin its body.
script() {
    {
        printf '#!/bin/sh\n# Interface:\n'
        printf '# - %s\n' "${@:2}"
        cat
    } >"pflow-$1"
}

setup() { export PFLOW_NODES=$BATS_FILE_TMPDIR/nodes; }

# What is carried on, then what a store holds, one member a line.
members() { jq -cS 'select(.["$pflow"].error == null) | .["$pflow"].last, (del(.["$pflow"]) | to_entries | sort_by(.key)[])'; }

@test "a list that comes as JSON text is a list: for a batch, an input, and a read that the pipe fills" {
    need jq
    node count_items 'Reads: shared["items"]: list[str] [pipe]  # texts' 'Writes: shared["size"]: int [pipe]  # how many' <<'END'
    def post(self, shared, prepared, result):
        shared["size"] = len(shared["items"])
END
    export PFLOW_NODES=$PWD
    echo '{"inputs":{"names":{"type":"list","pipe":true}},"outputs":{"said":"b.stdout","names":"names"},"nodes":[
        {"id":"b","type":"shell","inputs":{"command":"printf %s \"$1\"","args":["$name"]},"batch":{"over":"names","as":"name"}}]}' >each.pflow.json
    jq '.inputs = {} | .nodes = [{"id":"list","type":"shell","inputs":{"command":"echo [1,2]"}}] + .nodes | .outputs = {"said":"b.stdout"}
        | .nodes[1].batch.over = "list.stdout"' each.pflow.json >made.pflow.json
    pflow check made.pflow.json
    run bash -c 'echo "[\"ä b\", \"c\"]" | pflow run each.pflow.json | jq -c "[.said, .names]"'
    expect 0 '[["ä b","c"],["ä b","c"]]'
    run --separate-stderr pflow run -n made.pflow.json -r
    expect 0 '["1","2"]'
    for pipe in 'pflow-shell -n --command="echo [1,2]" | pflow count-items -r' \
        'pflow run -n "shell --command=\"echo [1,2]\" => count-items" -r'; do
        run --separate-stderr bash -c "$pipe"
        expect 0 2
    done
    run --separate-stderr bash -c 'echo "[1, 2" | pflow count-items'
    expect 65 - "cannot read 'items' from stdin: it is a str, not list[str]"
}

@test "the type of a declared input holds at every door, in the words of its flag" {
    local choice="it is not one of staging, production" code door said count=0
    echo '{"inputs":{"env":{"type":"staging|production"},"n":{"type":"int","default":3}},"outputs":{"text":"template.text"},
        "nodes":[{"type":"template","inputs":{"template":"$env/$n"}}]}' >env.pflow.json
    sed 's/production"/&,"pipe":true/' env.pflow.json >piped.pflow.json
    echo '{"inputs":{"e":{},"m":{"default":3}},"nodes":[{"id":"s","type":"./env.pflow.json"}],
        "mappings":{"s":{"input_mappings":{"env":"e","n":"m"}}}}' >outer.pflow.json
    echo '{"inputs":{"all":{}},"nodes":[{"type":"./env.pflow.json","batch":{"over":"all","as":"env"}}]}' >batch.pflow.json
    printf 'n,env\n4,production\nx,staging\n' >rows.csv
    while IFS='~' read -r code door said; do
        run --separate-stderr sh -c "$door"
        expect "$code" - "$said"
        count=$((count + 1))
    done <<END
2~pflow run -n env.pflow.json --env=foo~cannot take --env='foo': $choice
2~pflow run -n env.pflow.json --env=staging --n=x~cannot take --n='x': it is not an int
65~pflow-set -n env=foo | pflow run env.pflow.json~cannot take env='foo': $choice
65~pflow-set -n env=foo | pflow run env.pflow.json --dry-run~cannot take env='foo': $choice
65~pflow-set -n env=foo | pflow run env.pflow.json | pflow-write-file out~cannot take env='foo': $choice
65~pflow-set -n env=staging n:=null | pflow run env.pflow.json~cannot take 'n': it is null, not int
65~pflow-set -n env=staging n:=4.5 | pflow run env.pflow.json~cannot take 'n': it is a float, not int
65~echo '{"env":"foo"}' | pflow run env.pflow.json --from=json~cannot take env='foo': $choice
65~echo foo | pflow run piped.pflow.json~cannot take env='foo\n' from stdin: $choice
65~pflow-template -n foo | pflow run piped.pflow.json~cannot take env='foo' from text: $choice
65~pflow run -n outer.pflow.json --e=foo~cannot take env='foo' from e: $choice
65~pflow run -n batch.pflow.json --all:='["staging","foo"]'~item 2 ("foo"): cannot take env='foo': $choice
65~pflow-set -n e=foo | pflow run './env.pflow.json --map-in env=e'~cannot take env='foo' from e: $choice
1~echo '{"env":"foo"}' | pflow map env.pflow.json~cannot take env='foo' from the item: $choice
1~echo foo | pflow map piped.pflow.json~cannot take env='foo' from the item: $choice
1~pflow map env.pflow.json rows.csv~cannot take n='x' from the item: it is not an int
2~"$PYTHON" -c 'import pflow; pflow.run("env.pflow.json", env="foo")' || exit 2~cannot take env='foo': $choice
END
    [ "$count" = 17 ]
    for door in 'pflow run -n env.pflow.json --env=staging --n=7 -r' "pflow-set -n env=staging n=7 | pflow run env.pflow.json -r" \
        'echo staging | pflow run piped.pflow.json --n=7 -r' "echo '{\"env\":\"staging\",\"n\":7.0}' | pflow run env.pflow.json --from=json -r" \
        'pflow run -n outer.pflow.json --e=staging --m=7 -r' 'pflow run -n outer.pflow.json --e=staging --m:=7.0 -r' \
        'echo "{\"env\":\"staging\",\"n\":\"7\"}" | pflow map env.pflow.json -r'; do
        run --separate-stderr sh -c "$door"
        expect 0 staging/7
    done
}

@test "a flag fills the place that a mapping names, and of a list of places the one that is there counts, at every door" {
    local door
    echo '{"nodes":[{"type":"say"}],"mappings":{"say":{"input_mappings":{"text":"deep.p"}}}}' >deep.pflow.json
    echo '{"nodes":[{"type":"say"}],"mappings":{"say":{"input_mappings":{"text":["x.y","z"]}}}}' >list.pflow.json
    pflow export --to=sh deep.pflow.json -o deep.sh
    for door in 'pflow run -n deep.pflow.json --text=hi -r' 'pflow run -n deep.pflow.json --say.text=hi -r' \
        'pflow-set -n deep:="{\"k\":1}" | pflow run deep.pflow.json --text=hi -r' 'pflow run -n "say --map-in text=deep.p" --text=hi -r' \
        'pflow run -n deep.pflow.json --text=hi -q && pflow replay last -r' 'echo "{\"deep\":{\"p\":0}}" | pflow map deep.pflow.json --text=hi -r' \
        "\"\$PYTHON\" -c 'import pflow; print(pflow.run(\"deep.pflow.json\", text=\"hi\")[\"said\"])'" \
        'sh deep.sh --text=hi | pflow-get said' "sh deep.sh --deep:='{\"p\":\"hi\"}' | pflow-get said" 'pflow run -n deep.sh --text=hi -r' \
        'pflow-set -n z=hi | pflow run list.pflow.json -r' 'pflow run -n list.pflow.json --z=hi -r' 'echo "{\"z\":\"hi\"}" | pflow map list.pflow.json -r' \
        'echo "{\"z\":\"hi\"}" | pflow run --from=json list.pflow.json -r' 'pflow-set -n z=hi | pflow run ./list.pflow.json :: say:b -r' \
        "\"\$PYTHON\" -c 'import pflow; print(pflow.run(\"list.pflow.json\", z=\"hi\")[\"said\"])'"; do
        run --separate-stderr sh -c "$door"
        expect 0 hi
    done
    run --separate-stderr pflow run -n deep.pflow.json
    expect 66 - "cannot find 'deep.p' (a text) for say: nothing gives it (PF03); --text=STR"
    run --separate-stderr sh deep.sh
    expect 66 - "cannot find 'deep.p' (a text) for say: nothing gives it (PF03); --deep.p=STR"
    [ "$(pflow explain --json deep.pflow.json | jq -r '.needs[].flag')" = --text ]
    [ "$(pflow run deep.pflow.json --help | grep -c required)" = 1 ]
    run --separate-stderr pflow run -n list.pflow.json
    expect 66 - "cannot find 'z' (a text) for say: nothing gives it (PF03); --z=STR"
}

@test "a batch that keeps on says how many items failed and which first; all is its failure, some ends with 1" {
    local shell='{"type":"shell","inputs":{"command":"test \"$1\" != b","args":["$x"]},"batch":{"over":"xs","as":"x","on_error":"keep"}}'
    local kept="2 of 3 items failed; the first, item 2 (\"b\"): cannot finish 'test \"\$1\" != b': exit code 1"
    echo '{"inputs":{"xs":{"type":"list"}},"nodes":['"$shell"']}' >keep.pflow.json
    for more in '' --jobs=2 --isolate; do
        run --separate-stderr pflow run -n keep.pflow.json --xs='["a","b","b"]' $more -r
        expect 1 '["",null,null]' "pflow run: warning: 'shell': $kept"
        [[ "${#stderr_lines[@]}" -eq 2 && $stderr == *$'\npflow run: finished with failures: 2 items failed; pflow resume '*' --failed runs what failed' ]]
        pflow trace >trace.txt || true
        grep -Fx "    ✗ $kept" trace.txt
        pflow runs | head -n 1 | grep '  finished 1    1/1  keep  finished with failures  failed items: 2  pflow resume .* --failed$'
    done
    run --separate-stderr pflow replay last -r
    expect 1 '["",null,null]' "$kept"
    jq '.outputs = {all: "shell.stdout", why: "shell.errors"}' keep.pflow.json >taken.pflow.json
    run --separate-stderr pflow run -n taken.pflow.json --xs='["a","b"]' -j
    expect 0
    pflow runs | head -n 1 | grep '  done          1/1  taken  failed items: 1$'
    pflow save inner keep.pflow.json
    for flow in keep.pflow.json inner taken.pflow.json; do
        run --separate-stderr pflow run -n "$flow" --xs='["b","b"]'
        expect 1 - "2 of 2 items failed; the first, item 1 (\"b\"): cannot finish"
        run --separate-stderr pflow resume last
        expect 1 - "2 of 2 items failed" # they ran again
    done
    run --separate-stderr pflow run -n keep.pflow.json --xs='[]' -r
    expect 0 '[]'
    # A step that is a flow, and later stages: each works, says it, and only pflow-catch ends that.
    in_shells 'pflow-set -n xs:="[\"a\",\"b\"]" | pflow "inner => shell:s cat --input=seen" -r; echo $?
        pflow-set -n xs:="[\"a\",\"b\"]" | pflow inner | pflow-shell "echo on" | { pflow-set y=1; echo $? >&2; } |
            { pflow run "shell cat"; echo $? >&2; } | { pflow-get -j y stdout; echo $?; }
        pflow-set -n xs:="[\"a\",\"b\"]" | pflow inner | pflow-catch | pflow-get xs -j; echo $?'
    expect 0 $'seen\n1\n"1"\n"on\\n"\n1\n["a","b"]\n0' $'\n1\n1'
    sed 's/,"on_error":"keep"//' keep.pflow.json >stop.pflow.json
    run --separate-stderr pflow run -n stop.pflow.json --xs='["a","b"]'
    expect 1 - "pflow run: shell (shell): item 2 (\"b\"): cannot finish"
    pflow export --to=python keep.pflow.json >keep.py
    run --separate-stderr "$PYTHON" keep.py -n --xs='["a","b"]' -r
    expect 1 '["",null]' '1 of 2 items failed'
    run --separate-stderr pflow resume last --failed
    expect 1 - '1 of 2 items failed'
    [ "$(pflow runs --flow=keep --json | jq -r '.[0] | .status, .failed_items' | tr '\n' ' ')" = 'finished with failures 1 ' ]
    pflow trace | grep -x 'run .*, resumed'
}

@test "--each runs a step once for each of a list, of the lines that a pipe brings, and of a store's list" {
    need jq
    printf 'one\n' >a.txt && printf 'two\n' >'b c.txt'
    local read='["one\n","two\n"]' flow="list-files --pattern='*.txt' => read-file --each => shell --command=cat --each --jobs=2 => write-file --path=all.json"
    run --separate-stderr pflow run -n "$flow" -r
    expect 0 "$read"
    [ "$(cat all.json)" = "$read" ]
    pflow export --to=pipe "$flow" >flow.pipe
    run --separate-stderr pflow run -n "$(cat flow.pipe)" -r
    expect 0 "$read"
    for pipe in 'ls ./*.txt' 'pflow-list-files -n --pattern="*.txt"' 'pflow-list-files -n --pattern="*.txt" | jq -c .files'; do
        run --separate-stderr bash -c "$pipe | pflow run -r read-file --each --jobs=2"
        expect 0 "$read"
    done
    pflow save --description='read them' reads 'read-file --each --with-item --keep-going'
    run --separate-stderr bash -c 'printf "a.txt\ngone\n" | pflow reads -r'
    expect 1 '[{"item":"a.txt","content":"one\n"},{"item":"gone","error":"cannot read '"'gone'"': no such file or directory"}]' "1 of 2 items failed; the first, item 2"
    run --separate-stderr pflow run -n -r 'read-file --each'
    expect 66 - "pflow run: cannot run 'read-file' for each item: nothing came through the pipe"
    run --separate-stderr pflow-read-file -n --each
    [ "$status" -eq 2 ] && [[ $stderr == "pflow-read-file: cannot take --each: no such flag; a step of a flow takes it: "* ]]
}

@test "a step that may return error and has no edge for it goes on, as in a pipe, in each form of the flow" {
    local flow='shell --command="echo out; exit 7" --no-check => shell --command=cat'
    run --separate-stderr pflow run -n "$flow" -r
    expect 0 out "pflow run: warning: 'shell' returned error, which has no edge: the default one is taken"
    pflow export --to=python "$flow" >flow.py
    run --separate-stderr "$PYTHON" flow.py -n -r
    expect 0 out "'shell' returned error"
    pflow export --to=sh "$flow" >flow.sh
    run --separate-stderr bash -c 'sh flow.sh </dev/null | pflow-get'
    expect 0 out
    pflow explain "$flow" | grep -q 'on error  *shell-2'
    run --separate-stderr pflow run -n 'shell:a --command="exit 7" --no-check =error=> read-file --path=gone; a => shell --command=cat'
    expect 66 - 'pflow run: read-file'
}

@test "choose takes the edge of an answer, and an edge for an answer of another node stops the run" {
    local ways='choose:c yes no; c =yes=> shell "cat; echo Y"; c =no=> shell "echo N"'
    run --separate-stderr bash -c 'for answer in Yes. " no
" maybe; do printf %s "$answer" | pflow run "$1" -r; echo $?; done' sh "$ways"
    expect 0 $'Yes.Y\n0\nN\n0\n65' "pflow run: c (choose): cannot choose: 'maybe' is none of yes, no"
    run --separate-stderr pflow run -n 'shell:judge "echo yes"; judge =yes=> shell "touch done"'
    expect 65 - "'judge' never returns 'yes'"
    run --separate-stderr bash -c 'echo yes | pflow-choose yes no | tee document | pflow-get; grep -o "\"action\":\"[a-z]*" document'
    expect 0 $'yes\n"action":"yes'
}

@test "a flow carries and leaves what the hand-written pipe does, and ends with its code" {
    need jq
    printf 'one two\nthree\n' >data
    while IFS= read -r flow; do
        pflow run -n "$flow" -j >flow.out 2>flow.err && code=0 || code=$?
        bash -c "$(as_pipe "$flow") -j" >pipe.out 2>pipe.err && pipe=0 || pipe=$?
        diff <(members <flow.out) <(members <pipe.out) && [ "$code" = "$pipe" ] ||
            { echo "$flow: $code and $pipe" && cat flow.err pipe.err && return 1; }
        [ "$code" -ne 0 ] || [ "$(members <flow.out | wc -l)" -gt 2 ]
    done <<'END'
read-file --path=data => write-file --path=copy => shell --command='tr a-z A-Z'
shell --command='printf name' => write-file --path='$stdout.md' --content='see ${stdout} $exit_code'
shell --id=r --command='printf "{\"x\":[1,{\"y\":\"é\"}]}"' => shell --id=s --command='echo "$1"' --args='${r.stdout.x[1].y}'
shell --id=a --command='printf "\377\0"' => shell --id=b --command='od -An -c'
list-files --pattern='da*' => shell --command='echo $1 $2' --args='${files[0]}' --args=x
list-files --pattern='da*' => pass-on --value='${files}' => shell --command=cat
count --id=a --by=3 => pass-on --value='<${a.n}>' => count --id=b --n='1${a.n}'
shell --id=a --command='exit 3' => shell --id=b --command=cat
shell --command='echo many' => count --map-in=n=stdout
count => pass-on --value='$nope'
read-file --path=/nope => shell --command=cat
END
}

@test "what a program answers, or may answer instead, and its code" {
    need jq
    in_shells 'echo "a b c" | pflow run words -r; pflow run -n words --text="x y" --isolate -r'
    expect 0 $'3\n2'
    for case in 'garbage:65:its 8 bytes are not a store' 'three:3:it ended with 3: it broke' 'killed:137:it ended with 137'; do
        in_shells "echo a | pflow run 'odd --how=${case%%:*}' -r; echo \$?"
        expect 0 "$(cut -d: -f2 <<<"$case")" "$(cut -d: -f3- <<<"$case")"
    done
    in_shells 'head -c 1000000 /dev/zero | tr "\0" a | pflow run "odd --how=deaf" -r; echo a | pflow run "odd --how=loud" -r 2>err; wc -c <err'
    expect 0 $'5\n1\n1000000'
}

@test "an error edge is taken after any failure, and knows why" {
    need jq
    while IFS='~' read -r exit message step; do
        cat >f.pflow.json <<END
{"nodes":[$step,{"id":"not","type":"shell","inputs":{"command":"touch ran"}},{"id":"then","type":"say"}],
 "edges":[{"from":"x","to":"not"},{"from":"x","to":"then","action":"error"}],
 "mappings":{"then":{"input_mappings":{"text":"template:\${x.error.exit}:\${x.error.message}"}}}}
END
        run --separate-stderr pflow run -n f.pflow.json -r
        expect 0 "$exit:$message"
        [ ! -e ran ]
    done <<'END'
124~cannot finish: it took longer than the 0.2 s of its timeout~{"id":"x","type":"odd","inputs":{"text":"a"},"params":{"how":"slow"},"timeout":0.2}
124~cannot finish: it took longer than the 0.2 s of its timeout~{"id":"x","type":"shell","inputs":{"command":"sleep 60"},"timeout":0.2}
137~cannot run odd: it ended with 137~{"id":"x","type":"odd","inputs":{"text":"a"},"params":{"how":"killed"}}
9~on purpose~{"id":"x","type":"odd","inputs":{"text":"a"},"params":{"how":"error"}}
66~cannot read '/nope': no such file or directory~{"id":"x","type":"read-file","inputs":{"path":"/nope"}}
1~cannot run pass-on: ValueError: it is bad~{"id":"x","type":"pass-on","inputs":{"value":"b"},"params":{"bad":"b"}}
66~cannot find 'stdin': no 'stdin' in the store; it is empty~{"id":"x","type":"pass-on","inputs":{"value":"${stdin}"}}
END
}

@test "a flow hands on as a step, and as that of a batch, what it carries when it runs alone" {
    need jq
    mkdir more && printf '%s\n' 'from pocketflow import Node' 'class Free(Node):' '    def post(self, shared, prepared, result):' \
        '        shared[self.params.get("out", "made")] = shared["said"] + "!"' >more/free.py
    export PFLOW_NODES=$PFLOW_NODES:$PWD/more
    pflow save two 'shell "cat; echo one" => shell "cat; echo two"'
    pflow save nested 'two => two'
    pflow save none 'write-file --path=none.txt'
    pflow save chosen 'shell:a "grep x" => say:b --text="<$stdout>"; a =error=> say:c --text="(${a.error.exit})"'
    pflow save unwritten 'shell:a "grep x" =error=> say:c --text="(${a.error.exit})"; a => write-file --content=. --path=none.txt'
    pflow save opened 'say => free'
    jq '.outputs = {one: "b.said", other: "c.said"}' .local/share/pflow/flows/chosen.pflow.json >d.pflow.json
    pflow save declared d.pflow.json
    echo '{"nodes": [{"id": "a", "type": "say"}, {"id": "b", "type": "count", "params": {"enough": 2}},
        {"id": "c", "type": "say", "inputs": {"text": "<${a.said}>"}}], "edges": [{"from": "a", "to": "b"},
        {"from": "b", "to": "b"}, {"from": "b", "to": "c", "action": "done"}], "outputs": {"one": "said", "other": "a.said"}}' >l.pflow.json
    pflow save looped l.pflow.json --description=looped
    for name in two nested none chosen unwritten opened declared looped; do
        for text in x y; do
            alone=$(printf %s "$text" | pflow "$name" -r)
            [ -n "$alone" ]
            run --separate-stderr pflow run -n "shell 'printf %s $text' => $name => pass-on" -r
            expect 0 "$alone"
            [[ $stderr != *PF10* ]]
            run --separate-stderr pflow run -n "shell 'printf %s $text' => split-text --by=line => $name --each --jobs=2 => join-text" -r
            expect 0 "$alone"
        done
    done
    echo '{"nodes": [{"id": "a", "type": "say", "inputs": {"text": "x"}}, {"id": "free", "inputs": {"said": "y"}}, {"id": "say", "inputs": {"text": "z"}}],
        "outputs": {"one": "a.said", "other": "made"}}' >apart.pflow.json
    run --separate-stderr bash -c 'for flow in apart.pflow.json ./apart.pflow.json\ {,"=> count"}; do pflow run -n "$flow" -j; done |
        jq -c "[.one, .[\"\$pflow\"].last]"; pflow run l.pflow.json -n --a.text=x -r'
    expect 0 $'["x",null]\n["x",null]\n["x","n"]\n<x>'
}

@test "a flow takes what a pipe brings as a step too: for its first batch, and where its paths name stdin" {
    mkdir d && touch d/a d/b && echo '[["d/a"],["d/b"]]' >lists
    pflow save named 'shell cat => template "<$stdin|$stdout>"'
    pflow save asking 'http --url="$stdin/x" --method=POST'
    [ "$(echo hi | pflow run 'shell "tr a-z A-Z" => named' -r)" = "$(echo hi | pflow-shell 'tr a-z A-Z' | pflow named -r)" ]
    run --separate-stderr pflow run -n 'shell "echo hi" => named' -r
    expect 66 '' "pflow run: cannot find 'stdin' (the data from the pipe) for flow:named: nothing gives it"
    run --separate-stderr pflow run -n 'shell "echo http://127.0.0.1:9" => asking --map-in=stdin=stdout' -r
    expect 77 '' "the host of a URL comes from a person"
    for words in --each '--each --keep-going' '--each --as=input --jobs=2'; do
        pflow save --force up "shell 'tr a-z A-Z' $words"
        pflow save --force nested 'up => up'
        for name in up nested; do
            run pflow run -n "list-files 'd/*' => $name => shell cat" -r
            expect 0 '["D/A","D/B"]'
            run pflow run -n "shell 'cat lists' => $name --each --jobs=2 => shell cat" -r
            expect 0 '[["D/A"],["D/B"]]'
        done
    done
    pflow export "list-files 'd/*' => up => shell cat" --to=python >up.py
    [ "$(python up.py -n -r)" = "$(pflow-list-files -n 'd/*' | pflow up | pflow-shell cat -r)" ]
}

@test "a param that code reads without a default is wanted before the node runs; one that it may not need, when it does" {
    mkdir more && printf '%s\n' 'from pocketflow import Node' 'class Digest(Node):' \
        '    def prep(self, shared): return shared[self.params["input_key"]]' \
        '    def exec(self, text): open("ran", "w"); return text + self.params["end"] if text > "m" else text' \
        '    def exec_fallback(self, text, error): raise error if self.params["spare"] else error' \
        '    def post(self, shared, _, text): shared[self.params["output_key"]] = text' >more/digest.py
    export PFLOW_NODES=$PWD/more
    run --separate-stderr pflow digest --input_key=stdin -r <<<a
    expect 66 '' "pflow-digest: cannot find the param 'output_key': nothing gives it; --output-key=…"
    run --separate-stderr pflow run 'digest --input_key=stdin => digest' -r <<<a
    expect 66 '' "pflow run: digest (digest): cannot find the param 'output_key': nothing gives it; --output-key=…"
    [ ! -e ran ]
    run pflow check 'digest --input_key=a'
    [[ $output == *"PF13: warning: nothing gives 'digest' the param 'output_key'; \"output_key\": …, or --output-key"* ]]
    [[ $output != *"the param 'end'"* && $output != *"the param 'spare'"* ]]
    run --separate-stderr pflow run 'digest --input_key=stdin' -r --output_key=o <<<a
    expect 0 a
    [[ $stderr != *PF13* ]]
    for flow in 'digest' 'run digest'; do
        run --separate-stderr pflow $flow --input_key=stdin --output_key=o -r <<<n
        expect 1 '' "digest: KeyError: 'spare'; --spare=… gives the param of that name"
    done
}

@test "no item of a batch writes over the file of another; an addition, a stream, a loop and a try may" {
    need jq
    pflow save put copy-file
    for flow in 'copy-file --each --destination=out/' 'move-file --each --destination=out/' \
        'put --each --as=src --path=$src --destination="out/$src_name"' \
        'load-json --each --as=path => '{write-file,export-dashboard,save-csv,save-results}' --each --path=out/a.json'; do
        for jobs in '' --jobs=2; do
            rm -rf out one two && mkdir out one two && echo '[{"n":1}]' >one/a.json && echo '[{"n":2}]' >two/a.json
            run --separate-stderr pflow run -qn "list-files '???/a.json' => $flow $jobs"
            [[ $status -eq 73 && $stderr == *": item "?" ("*"): cannot write '$PWD/out/a.json': item "?" ("*") of this batch writes it too"* ]]
            [[ $jobs || -s out/a.json ]] # a failure ends the other processes
        done
    done
    pflow save again 'write-file:w --content=x --path=w => count:c --enough=2; c => w'
    for flow in 'write-file --each --append --path=log' 'write-file --each --path=/dev/null' 'again --each=one --as=n'; do
        pflow-set -n 'xs:=["a","b"]' 'one:=[0]' content= | pflow run -q "${flow/--each /--each=xs }"
    done
    # A resumed batch knows what it wrote before, and an item may write its own file again.
    echo '{"nodes":[{"id":"c","type":"copy-file","inputs":{"path":"$f","destination":"res/"},"repeats":true,
        "batch":{"over":"fs","as":"f"}}],"inputs":{"fs":{"type":"list"}}}' >c.pflow.json
    run pflow run -n c.pflow.json --fs='["one/a.json","gone/a.json","two/a.json"]'
    [ "$status" -eq 66 ]
    mkdir gone && mv two/a.json gone/
    run --separate-stderr pflow resume last
    [[ $status -eq 73 && $stderr == *'item 2 ("gone/a.json"): cannot write '*': item 1 ("one/a.json") of this batch writes it too'* ]]
}

@test "a loop of 20,000 visits takes no more memory than one of 10,000, without a journal" {
    for count in 10 10000 20000; do # the first time compiles the nodes
        echo '{"nodes":[{"id":"c","type":"count","params":{"enough":'$count'},"max_visits":'$count'},
            {"id":"e","type":"say","inputs":{"text":"done"}}],
            "edges":[{"from":"c","to":"c"},{"from":"c","to":"e","action":"done"}]}' >f.pflow.json
        "$PYTHON" -c 'import resource, subprocess
subprocess.run(["pflow", "run", "-n", "--no-journal", "f.pflow.json"], stderr=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' >out
        grep -qx "\"n\":$count," out
        tail -n 1 out >>kilobytes
    done
    [ $(($(sed -n 3p kilobytes) - $(sed -n 2p kilobytes))) -lt 1000 ] || { cat kilobytes && return 1; }
}
