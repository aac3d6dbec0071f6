#!/usr/bin/env bats
# What a stage reads, and what it leaves to others.
# shellcheck disable=SC2016,SC2154

load helper

write_list() {
    for n in 1 2 3; do
        echo "text $n" >"$n.txt"
        echo "$PWD/$n.txt"
    done >list
}

@test "a while-read loop over a file reads every file of its list" {
    write_list
    in_shells 'while read f; do pflow-read-file --path="$f" -r; done <../list'
    expect 0 $'text 1\ntext 2\ntext 3' ''
    [ -z "$stderr" ]
}

@test "a while-read loop behind a pipe fails loudly on its first stage, and works with -n" {
    write_list
    in_shells 'cat ../list | while read f; do pflow-read-file --path="$f" -r || exit; done'
    expect 64 '' '-n leaves stdin to others'
    in_shells 'cat ../list | while read f; do pflow-read-file -n --path="$f" -r; done'
    expect 0 $'text 1\ntext 2\ntext 3'
}

@test "a while-read loop in zsh and fish does the same" {
    need zsh fish
    write_list
    for script in 'cat list | while read f; do pflow-read-file --path="$f" -r || exit; done' \
        'while read f; do pflow-read-file --path="$f" -r; done <list'; do
        run --separate-stderr timeout 60 zsh -fc "$script"
        expect $((${#output} ? 0 : 64)) -
    done
    [ "$output" = $'text 1\ntext 2\ntext 3' ]
    run --separate-stderr timeout 60 fish -N -c 'while read f; pflow-read-file --path="$f" -r; end <list'
    expect 0 $'text 1\ntext 2\ntext 3'
    run --separate-stderr timeout 60 fish -N -c 'cat list | while read f; pflow-read-file --path="$f" -r; or exit; end'
    expect 64 ''
}

@test "first stages under make -j4 work with -n, and never differ silently from make -j1 without" {
    need make
    write_list
    printf 'all: 1.out 2.out 3.out\n%%.out: %%.txt\n\tpflow-read-file $(N) --path=$< -r >$@\n' >Makefile
    for how in '-j4 N=-n' '-j4'; do
        for stdin in list 'a pipe'; do
            rm -f ./*.out
            code=0
            # shellcheck disable=SC2086,SC2002
            if [ "$stdin" = 'a pipe' ]; then
                cat list | timeout 60 make -s $how >log 2>&1 || code=$?
            else
                timeout 60 make -s $how <"$stdin" >log 2>&1 || code=$?
            fi
            if [ "$code" -eq 0 ]; then
                [ "$(cat ./*.out)" = $'text 1\ntext 2\ntext 3' ]
            else
                [[ $how != *-n ]] && grep 'pflow-read-file: .*-n' log
            fi || { echo "$how $stdin: $code" && cat log && return 1; }
        done
    done
}

@test "first stages under GNU parallel work with -n, and never differ silently without" {
    need parallel
    write_list
    run --separate-stderr timeout 60 parallel --will-cite -k -j4 pflow-read-file -n -r --path={} :::: list
    expect 0 $'text 1\ntext 2\ntext 3'
    for how in ':::: list' '::: ./1.txt ./2.txt ./3.txt <list'; do
        run --separate-stderr timeout 60 sh -c "cat list | parallel --will-cite -k -j4 pflow-read-file -r --path={} $how"
        [ "$status" -eq 0 ] && expect 0 $'text 1\ntext 2\ntext 3' || [[ $stderr == *'pflow-read-file: '*'-n '* ]]
    done
}

@test "a stage with -n does not wait for a pipe that nobody ends" {
    in_shells '
        mkfifo f; sleep 100 >f & sleeper=$!
        timeout 50 pflow-shell -n --command="echo now" -r <f; code=$?
        kill $sleeper; exit $code'
    expect 0 now
}

@test "sixteen answers come of sixteen stages under xargs" {
    run timeout 100 sh -c "seq 16 | xargs -P 16 -I{} pflow-shell -n --command='echo \$1' --args={} -r | sort -n"
    expect 0 "$(seq 16)"
}

@test "a closed stdin, /dev/null and a terminal are not read" {
    need script
    in_shells 'pflow-shell --command="echo fine" -r <&-; pflow-shell --command="echo fine" -r </dev/null'
    expect 0 $'fine\nfine' ''
    run timeout 30 script -qec 'pflow-shell --command="echo fine" | cat' /dev/null
    [[ $status -eq 0 && $output == *'"stdout":"fine\n"'* ]]
}

@test "a file is read from its beginning only, unless --from says so" {
    in_shells '
        printf "one\ntwo\n" >f
        { read line; pflow-shell --command="cat; echo fine" -r; } <f
        { read line; pflow-shell --from=text --command=cat -r; } <f'
    [ "$status" -eq 0 ]
    [[ $output == fine$'\n'* ]]
}

@test "raw bytes that nothing takes are 64, and a template, a flag or -n decides" {
    in_shells 'echo hi | pflow-read-file --path=f -q'
    expect 64 '' 'nothing here takes its 3 bytes'
    in_shells 'echo hi | pflow-shell --command=cat --input=mine -r'
    expect 64 ''
    in_shells 'echo hi | pflow-shell --command="cat; echo \$1" --input=mine, --args="\$stdin" -r; echo hi | pflow-shell -n --command=cat --input=mine -r'
    expect 0 $'mine,hi\nmine'
}

@test "an empty pipe is 66 where the pipe is needed, and --allow-empty takes it as an empty text" {
    in_shells 'true | pflow-write-file --path=o -q; echo $?; : >e; pflow-write-file --path=o -q <e; echo $?; ls
        true | pflow-write-file --allow-empty --path=o -q; echo $? && stat -c %s o'
    expect 0 $'66\n66\ne\n0\n0' 'stdin was empty'
    in_shells 'true | pflow-read-file --path=nope -q'
    expect 66 '' 'no such file' # an empty pipe does not stop a stage that takes none
}

@test "--from says what stdin holds" {
    in_shells 'pflow-set -n a=1 | tee s | pflow-write-file --from=text --path=o -q; cmp s o; rm s o
        echo hi | pflow-write-file --from=store --path=o -q; echo $?; ls
        echo "{\"a\": 1.50}" | pflow-set --from=json b=2 | tail -n +2
        printf "1\\n2\\n" | pflow-set --from=json b=2 | pflow-get; echo $?'
    expect 0 $'65\n"a":1.50,\n"stdin":{"a": 1.50},\n"b":"2"\n}\n65' 'more than one value'
}

@test "--from=json carries the value, and the members of an object are keys too" {
    quick_llm
    in_shells '
        ask() { pflow-llm --from=json --prompt="$1" -r --exact | tr -s "\n" " "; echo; }
        for value in "{\"a\":1,\"stdin\":2}" "[1,2]" "\"two words\"" 0; do
            echo "$value" | ask Explain
            echo "$value" | pflow run --from=json "shell --command=cat" -r
        done
        echo "{\"a\":1,\"\$schema\":2}" | ask "Explain \$a"
        echo "{\"a\":1,\"text\":\"a member\"}" | ask Explain
        echo "{\"a\":1,\"content\":\"a member\"}" | pflow run --from=json "write-file --path=o" -q; cat o; echo
        echo "{\"a\":1,\"\$schema\":2}" | pflow-get --from=json a stdin
        : | pflow-shell --from=json --allow-empty --command="cat; echo end" -r'
    expect 0 '{"a":1,"stdin":2} Explain
{"a":1,"stdin":2}
[1,2] Explain
[1,2]
two words Explain
two words
0 Explain
0
{"a":1,"$schema":2} Explain 1
{"a":1,"text":"a member"} Explain
{"a":1,"content":"a member"}

1
{"a":1,"$schema":2}
end'
}

@test "a read that is inferred takes its member of an object, never the whole, which only a marked one takes" {
    export PFLOW_NODES=$BATS_TEST_TMPDIR
    shout='    def prep(self, shared): return shared.get("word", "-")
    def post(self, shared, word, loud): shared["loud"] = str(word)'
    node needs 'Reads: shared["word"]: any' 'Writes: shared["loud"]: str' <<<"$shout"
    node marked 'Reads: shared["word"]: any [pipe]' 'Writes: shared["loud"]: str [pipe]' <<<"$shout"
    printf 'from pocketflow import Node\nclass Asks(Node):\n%s\n' "$shout" >asks.py
    in_shells 'export PFLOW_NODES=..
        for node in needs asks marked; do
            for value in "{\"a\":1,\"word\":\"x\"}" "{\"a\":1}" "[1]"; do
                echo $node "$(echo "$value" | pflow $node --from=json -r)" "$(echo "$value" | pflow run --from=json $node -r)" \
                    "$(echo "$value" | pflow-set --from=json b=1 | pflow $node -r)"
            done
        done'
    whole="{'a': 1}" all="{'a': 1, 'word': 'x'}"
    expect 0 "needs x x x"$'\n'"needs   "$'\n'"needs [1] [1] [1]
asks x x x"$'\n'"asks - - -"$'\n'"asks [1] [1] [1]
marked $all $all $all
marked $whole $whole $whole
marked [1] [1] [1]" "cannot find 'word'"
}

@test "the store's own key goes before what is carried, in a pipe as in a flow, and what is left is told" {
    need jq
    export PFLOW_NODES=$BATS_TEST_TMPDIR
    prose() { printf 'from pocketflow import %s\nclass %s(%s):\n%s\n' "$1" "$2" "$1" "$(cat)" >"$3.py"; }
    prose Node OpenBox open_box <<<'    def post(self, s, p, e): s["state"] = "open"'
    prose Node LabelBox label_box <<<'    def prep(self, s): return s.get("title", ""), s.get("text", "")
    def post(self, s, p, e): s["label"] = list(p)'
    prose Node MakeOutline make_outline <<<'    def prep(self, s): return s["topic"]
    def post(self, s, topic, e): s["raw"], s["parts"] = {"of": topic}, [topic, "end"]'
    prose BatchNode WriteParts write_parts <<<'    def prep(self, s): return s.get("parts", [])
    def exec(self, part): return part.upper()
    def post(self, s, parts, e): s["by_part"], s["draft"] = dict(zip(parts, e)), " ".join(e)'
    prose Node StyleIt style_it <<<'    def prep(self, s): return s["draft"]
    def post(self, s, draft, e): s["final"] = draft + "!"'
    printf 'from pflow import load_node\nfrom pocketflow import Flow\n' >plain.py
    for node in open_box label_box make_outline write_parts style_it; do
        echo "$node = load_node('$node.py')()" >>plain.py
    done
    cat >>plain.py <<'P'
open_box >> label_box
make_outline >> write_parts >> style_it
box, article = Flow(start=open_box), Flow(start=make_outline)
P
    store() { jq -cS 'del(.["$pflow"])'; }
    while IFS='|' read -r name start steps left; do
        wanted=$("$PYTHON" -c "import json, plain; s = dict([('${start/=/"', '"}')]); plain.$name.run(s); print(json.dumps(s))" | jq -cS .)
        pflow export --to=sh "$steps" --output=flow.sh
        pflow export --to=python "$steps" --output=flow.py
        pflow import "plain.py:$name" --output=plain.json
        for way in "sh -c 'pflow ${steps// => / | pflow }'" "pflow run '$steps'" 'sh flow.sh' "$PYTHON flow.py" 'pflow run plain.json' ": | sh flow.sh --$start"; do
            run -0 --separate-stderr eval "pflow-set -n '$start' | $way | store"
            expect 0 "$wanted"
            told=$(grep -o 'takes .* is carried' <<<"$stderr" || true)
            [[ $told == "$left" || $way == *plain.json ]] || expect 0 - "$left"
        done
    done <<'END'
box|title=T|open-box => label-box|takes 'title' from the store; --map-in title=state takes what is carried
article|topic=it|make-outline => write-parts => style-it|
END
}

@test "what an own node writes is carried on, also where its code does not show it" {
    export PFLOW_NODES=$BATS_TEST_TMPDIR
    prose() { printf 'from pocketflow import Node\nclass %s(Node):\n    """Prose."""\n%s\n' "$1" "$2" >"$BATS_TEST_TMPDIR/${1,,}.py"; }
    prose Updates '    def prep(self, s): return s["text"]
    def post(self, s, text, r): s.update(self.name_it(text))
    def name_it(self, text): return {"up": text.upper()}'
    prose Chooses '    def prep(self, s): return s["text"]
    def post(self, s, text, r): s["a" if text < "b" else self.params.get("to", "b")] = text.upper()'
    prose Either '    def prep(self, s): return s["text"]
    def post(self, s, text, r):
        if text < "b": s["a"] = text.upper()
        else: s["b"] = text.upper()'
    in_shells 'export PFLOW_NODES=..
        for node in updates chooses either; do
            printf c | pflow $node | pflow-write-file --path=o -q && cat o; echo
            printf c | pflow $node -r
            printf c | pflow run $node | pflow-write-file --path=o -q && cat o; echo
        done'
    expect 0 $'C\nC\nC\nC\nC\nC\nC\nC\nC'
}

@test "what came in and an own node did not look at is told" {
    export PFLOW_NODES=$BATS_TEST_TMPDIR
    printf 'from pocketflow import Node\nclass Alone(Node):\n    def post(self, s, p, r): s["x"] = "hi"\n' >"$PFLOW_NODES/alone.py"
    printf 'from pocketflow import Node\nclass Asks(Node):\n    def post(self, s, p, r): s["x"] = dict(s)["stdin"]\n' >"$PFLOW_NODES/asks.py"
    in_shells 'export PFLOW_NODES=..; echo lost | pflow alone -r; echo taken | pflow asks -r; pflow alone -nr'
    expect 0 $'hi\ntaken\nhi'
    [ "$stderr" = "pflow-alone: warning: the node did not use the 5 bytes of stdin; -n leaves them to others" ]
}

@test "a list of one store, as Miller writes it, is that store, for every program; of several, it is 65" {
    need jq
    wrapped() { pflow-set -n a=1 | pflow-shell --command='echo hi' | jq "$1"; }
    export -f wrapped
    SHELLS=bash in_shells '
        for program in "pflow-shell --command=cat" "pflow run shell\ --command=cat" pflow-catch "pflow-set b=2"; do
            eval "wrapped [.] | $program" | pflow-get a stdout || echo "$program"
            eval "wrapped [.,.] | $program" 2>/dev/null | pflow-get a; echo $?
        done
        wrapped [.] | pflow-get && wrapped [.] | pflow trace | grep -c "shell (shell)"
        wrapped [.,.] | pflow-get; echo $?; wrapped [.,.] | pflow trace; echo $?
        wrapped "[{b: .}]" | pflow-shell --command=cat | pflow-get stdin | head -n 1
        pflow-read-file --path=/nope 2>/dev/null | jq "[.]" | pflow-shell --command="touch ran" | pflow-get; echo $?; ls'
    one=$'1\nhi\n65\n'
    expect 0 "$one$one$one$one"$'hi\n1\n65\n65\n[\n66' 'a list of several'
}

@test "flags are refused before stdin is read" {
    in_shells '
        mkfifo f; sleep 100 >f & sleeper=$!
        timeout 10 pflow-write-file --nope -q <f; code=$?
        kill $sleeper; exit $code'
    expect 2 '' 'no such flag'
}

@test "a stdin that somebody made non-blocking is read to its end" {
    "$PYTHON" - <<'P'
import fcntl, os, subprocess, termios

read, write = os.pipe()
os.set_blocking(read, False)
stage = subprocess.Popen(["pflow-shell", "--command=wc -c", "-r"], stdin=read, stdout=subprocess.PIPE)
os.write(write, b"x" * 1000)
while any(fcntl.ioctl(read, termios.FIONREAD, bytes(4))):  # the pipe is empty once it has been read
    pass
os.write(write, b"x" * 1000)
os.close(write)
os.close(read)
assert stage.communicate(timeout=60)[0].split() == [b"2000"]
P
}

@test "--skip-empty hands on a skipped document where nothing came, and nothing after it does anything" {
    need jq
    in_shells '
        skips() { "$@" | jq -c "[.[\"\$pflow\"] | .skipped, (.steps[-1] | .id, .skipped)]"; rm -f in; ls; }
        it() { skips pflow-shell --skip-empty --command="touch ran"; }
        : | it; it </dev/null; it <&-; : >in; it <in; printf "" | it --from=text
        for value in "\"\"" "[]" null "{\"\$bytes\":\"\"}"; do
            echo "{\"\$pflow\":{\"v\":1,\"last\":\"a.b\"},\"a\":{\"b\":$value}}" | it
        done
        echo "[]" | skips pflow-shell --from=json --skip-empty --command="touch ran"
        : | skips pflow run --skip-empty "shell --command=\"touch ran\"" | sed "s/flow\"/shell\"/"
        : | skips pflow shell --skip-empty --command="touch ran"
        : | skips pflow shell --skip-empty --command="touch ran" :: shell --command="touch ran" | sed "s/flow\"/shell\"/"'
    [ "$(sort -u <<<"$output")" = '[true,"shell",true]' ] && [ "$(wc -l <<<"$output")" -eq 13 ] || expect 0 '13 times skipped'
    [ -z "$stderr" ]
    in_shells '
        for value in "\" \"" 0 false "{}" "[null]"; do
            echo "{\"\$pflow\":{\"v\":1,\"last\":\"a\"},\"a\":$value}" | pflow-shell --skip-empty --command=cat -r
        done; pflow-set -n a= | pflow-shell --skip-empty --command="echo carries nothing" -r
        printf "\\n" | pflow-shell --skip-empty --command="wc -l" -r'
    expect 0 $' \n0\nfalse\n{}\n[null]\ncarries nothing\n1'
}

@test "what is skipped passes every stage, flow and tool as it came, a jq too, and the pipe ends with 0 and no output" {
    need jq
    quick_llm
    in_shells '
        pflow-shell -n --command=: | pflow-llm --skip-empty --prompt="Summarize" --model=none >s
        for words in "pflow-shell --command=touch\ ran" "pflow-write-file --path=ran" "pflow run shell\ --command=touch\ ran" \
            "pflow shell --command=true :: shell --command=touch\ ran" "pflow-set a=1" "pflow-catch --set a=1" \
            "pflow-llm --skip-empty --model=none" "pflow-shell --dry-run --command=touch\ ran"; do
            eval "$words" <s | cmp - s || echo "$words"
        done
        printf "" | pflow-read-file --path=/nope | pflow-llm --skip-empty --prompt=x | pflow-get; echo $?
        jq ". + {a: 1}" s | pflow-shell --command="touch ran" | jq -c "[.a, .[\"\$pflow\"].skipped]"
        { pflow-shell --command="touch ran" -r <s && pflow-shell --command="touch ran" -q <s && pflow-get <s && pflow-get -e a <s && pflow-get -0 a <s &&
            pflow run "shell --command=true" -r <s && pflow-llm --model=none -r --stream <s; } | wc -c
        pflow-shell --command=true -j <s | cmp - s; pflow trace <s
        pflow "summarize what comes in" --yes -q <s; echo $?
        ls; [ ! -e "$HOME/.local/state/pflow/runs" ]'
    [[ $output =~ ^66$'\n[1,true]\n0\n[1] shell (shell)'.*$'\n\n[2] llm (llm)  skipped\n0\ns'$ ]] || expect 0 'one line of a trace'
}

@test "--skip-empty says what it does in a dry run, and is refused with -n, with --allow-empty and in a step" {
    in_shells '
        for words in "pflow-shell --command=true" "pflow run shell\ --command=true"; do
            : | eval "$words --skip-empty --dry-run" | pflow-shell --dry-run --command=cat | pflow trace | tail -n 1
            for wrong in -n --allow-empty; do : | eval "$words --skip-empty $wrong -q"; echo $?; done
        done
        : | PFLOW_TRACE=events pflow-shell --skip-empty --command=true -q; grep -c "\"end\".*\"exit\":0,\"skipped\":true" events
        pflow-shell -n --command=: --dry-run 2>/dev/null | pflow-shell --skip-empty --command=cat 2>/dev/null | pflow trace | tail -n 1
        : | pflow run "read-file --path=a => llm --skip-empty" -q; echo $?
        pflow run "read-file --path=a => llm --skip-empty" -q --skip-empty; echo $?' </dev/null
    expect 0 $'[1] shell (shell)  skipped\n2\n2\n[1] flow (flow:flow)  skipped\n2\n2\n1\n    → writes: stdout, stderr, exit_code\n2\n2' 'nothing to do: nothing comes through the pipe'
    [[ $stderr == *'cannot take both --skip-empty and --no-stdin'*'cannot take --skip-empty in a step'* ]]
}
