#!/usr/bin/env bats
# Runs that go on after a failure, a kill or a decision.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    here='XDG_STATE_HOME=$PWD; export XDG_STATE_HOME; '
    three='pflow run ../three.pflow.json -n'
    killed='PFLOW_TESTING=1 PFLOW_FAILPOINT='
    ran='; tr "\n" " " <ran'
    # Each step says that it ran; the second fails until there is a file `ok`.
    cat >three.pflow.json <<'E'
{"name": "three", "inputs": {"text": {"default": "T"}}, "nodes": [
  {"id": "a", "type": "shell", "inputs": {"command": "echo a >>ran; echo A"}},
  {"id": "b", "type": "shell", "inputs": {"command": "echo b >>ran; test -e ok && echo B"}},
  {"id": "c", "type": "shell", "inputs": {"command": "echo c >>ran; echo \"$1$2$3\"", "args": ["${a.stdout}", "${b.stdout}", "$text"]}}],
 "mappings": {"a": {"output_mappings": {"*": "a"}}, "b": {"output_mappings": {"*": "b"}}}}
E
}

@test "a run goes on with the step that failed, as often as it fails, and prints what it would have; once done, it is done" {
    in_shells "$here$three"' -r --text=U 2>/dev/null; pflow resume last -q 2>/dev/null; echo $?; : >ok; pflow resume last -r; echo $?; pflow resume last -q; echo $?'"$ran"
    expect 0 $'1\nA\nB\nU\n0\n1\na b b b c ' 'it is done'
}

@test "after kill -9 a step that may not repeat is decided by --redo or --skip, else 65 names it and both" {
    in_shells "$here: >ok; $killed"'journal.start.written:2 '"$three"' -q; echo $?; pflow resume last -q; echo $?'"$ran"
    [[ $stderr == *"'b' (shell) was interrupted, and may not repeat; pflow resume "*" --redo=b|--skip=b"* ]]
    expect 0 $'137\n65\na '
    in_shells "$here: >ok; $killed"'journal.start.written:2 '"$three"' -q; pflow resume last -q --redo=b; echo $?'"$ran"
    expect 0 $'0\na b c '
    in_shells "$here: >ok; $killed"'journal.start.written:3 '"$three"' -q; pflow resume last -q --skip=c; echo $?'"$ran"
    expect 0 $'0\na b '
}

@test "in parentheses a run goes on inside the item that was killed" {
    each='pflow run '\''shell --command="echo 1; echo 2" => ( shell:a --command="echo a >>ran; cat" => shell:b --command="echo b >>ran; cat" --repeats ):in --each'\'' -n'
    in_shells "$here$killed"'journal.end:3 '"$each"' -q; echo $?; pflow resume last -r; echo $?'"$ran"
    expect 0 $'137\n["1","2"]\n0\na b b a b '
}

@test "a step that repeats runs again unasked" {
    sed -i 's/"id": "b"/&, "repeats": true/' three.pflow.json
    in_shells "$here: >ok; $killed"'journal.end:2 '"$three"' -q; pflow resume last -q; echo $?'"$ran"
    expect 0 $'0\na b b c '
}

@test "what could not be printed is printed by resume, and a reader that had enough ends no run" {
    in_shells "$here: >ok; $three"' -r >/dev/full; echo $?; pflow resume last -r; echo $?; pflow run "shell \"yes | head -c 1000000\"" -r | head -n 1; pflow runs -n 1 | grep -c " done "'"$ran"
    expect 0 $'73\nA\nB\nT\n0\ny\n1\na b c ' 'no space left on device'
}

@test "names of no step, and of steps that were not interrupted, are wrong words" {
    in_shells "$here$three"' -q 2>/dev/null
        for flag in redo=d from=d skip=a redo=a,b redo=b redo=c; do pflow resume last --$flag -q; echo $?; done
        pflow resume last -q --redo=b --skip=b 2>/dev/null; echo $?; pflow resume last -q --text=x 2>/dev/null; echo $?'"$ran"
    expect 0 $'2\n2\n2\n2\n2\n2\n2\n2\na b ' 'cannot take --redo=d: no such step; the steps are a, b, c'
    [[ $stderr == *'cannot take --skip=a: it was not interrupted; --only=a runs a finished step again'* ]]
    [[ $stderr == *'--redo=b: it was not interrupted; b failed: pflow resume runs it again by itself'* ]]
    [[ $stderr == *'--redo=c: it was not interrupted; c has not run yet: pflow resume runs it'* ]]
}

@test "--from runs a step and all after it again, --only one alone, of a finished run with --keep-store" {
    in_shells "$here: >ok; $three"' -q --keep-store; pflow resume last -q; echo $?; pflow resume last -q --from=b; pflow resume last -r --only=a'"$ran"
    expect 0 $'1\nA\nB\nT\na b c b c a ' '--from=STEP and --only=STEP run steps of it again'
    in_shells "$here$three"' -q 2>/dev/null; pflow resume last -q --from=c; echo $?'"$ran"
    expect 0 $'1\na b ' "cannot run 'c' again: it has not run yet"
}

@test "items keep their key over all parts, and count as they ended the last time" {
    need jq
    cat >items.pflow.json <<'E'
{"inputs": {"list": {"type": "list"}}, "nodes": [
  {"id": "each", "type": "shell", "batch": {"over": "list", "jobs": 2, "on_error": "keep"}, "inputs": {"command": "echo \"$1 $PFLOW_STEP_KEY\" >>keys; test $1 != b || test -e ok", "args": ["$item"]}},
  {"id": "end", "type": "shell", "inputs": {"command": "echo \"end $PFLOW_STEP_KEY\" >>keys; test -e ok"}}],
 "mappings": {"end": {"output_mappings": {"*": "end"}}}}
E
    in_shells "$here"'pflow run ../items.pflow.json -n --list='"'[\"a\",\"b\",\"a\"]'"' -q --keep-store 2>/dev/null; : >ok; pflow resume last -q; pflow runs --json | jq .[0].failed_items
        pflow resume last -q --only=each; pflow runs --json | jq .[0].failed_items; sort keys | uniq -c | sed "s/\([ab]\|end\) .*/\1/"'
    expect 0 $'1\n0\n      2 a\n      2 a\n      2 b\n      2 end'
}

@test "what is decided holds for all later parts, once it is written" {
    in_shells "$here: >ok; $three"' -q --keep-store; try() { PFLOW_TESTING=1 PFLOW_FAILPOINT=$1 pflow resume last -q $2; echo $?; }
        try journal.decided --from=b; pflow resume last -q; echo $?; try journal.decided.written --from=b; try journal.end.written:1; pflow resume last -q; echo $?'"$ran"
    expect 0 $'137\n0\n137\n137\n0\na b c b c '
}

@test "what still goes on is left alone, and so is a run without a journal" {
    in_shells "$here"'mkfifo f; pflow run "shell --command='"'echo >begun; cat f'"'" -n -q & run=$!
        until [ -e begun ]; do sleep 0.02; done; pflow resume last -q; echo $?; : >f; wait $run
        pflow run "shell --command=false" -n -q --no-journal 2>/dev/null; pflow resume last -q; echo $?'
    expect 0 $'75\n1' 'it is still running: '
    [[ $stderr == *'it kept no journal'* ]]
    in_shells "$here"'pflow resume last -q; echo $?; pflow resume -q 2>/dev/null; echo $?'
    expect 0 $'66\n2' 'there are no runs yet'
}

@test "a run that was killed before its first step is begun anew, and nobody is told to resume it" {
    in_shells "$here"'for point in flow.pflow.json snapshot.json snapshot.json.written journal.begin; do
            PFLOW_TESTING=1 PFLOW_FAILPOINT=$point '"$three"' -q; pflow resume last -q; echo $?; pflow runs -n 1 | grep -c resume; done'
    expect 1 - 'it was ended before anything ran; pflow run begins it anew'
    [ "$output" = $'1\n0\n1\n0\n1\n0\n1\n0' ] && [[ $stderr != *journal* ]]
}

@test "what comes through the pipe, an input, a variable and the directory are those that the run began with" {
    cat >env.pflow.json <<'E'
{"nodes": [{"id": "a", "type": "knows"}, {"id": "b", "type": "shell", "inputs": {"command": "test -e ok && cat", "input": "$stdin $known"}}]}
E
    node knows 'Writes: shared["known"]: str  # it' 'Params: what: str = null [env WHAT]  # what' <<<'    def post(self, shared, prepared, done): shared["known"] = str(self.params["what"])'
    in_shells "$here"'PFLOW_NODES=$PWD/..; export PFLOW_NODES; mkdir sub; cd sub; printf piped | WHAT=before pflow run ../../env.pflow.json -q 2>/dev/null; : >ok; cd ..
        WHAT=after pflow resume last -r --from=a </dev/null; echo $?; rm -r sub; pflow resume last -q --from=a 2>/dev/null; echo $?'
    expect 0 $'piped before\n0\n1'
    in_shells "$here"'mkdir sub; cd sub; pflow run "shell '"'exit 3'"'" -n -q 2>/dev/null; cd ..; rm -r sub; pflow resume last -q; echo $?'
    expect 0 66 "cannot resume the run in '"
}

@test "code that has changed since is named, and --accept-changes goes on" {
    node one 'Writes: shared["one"]: int  # it' <<<'    def post(self, shared, prepared, done): shared["one"] = 1'
    in_shells "$here"'cp ../one.py .; PFLOW_NODES=$PWD; export PFLOW_NODES; pflow run "one => shell '"'test -e ok'"'" -n -q 2>/dev/null; : >ok
        echo "# a comment" >>one.py; sed -i "s/= 1/= 2/" one.py; pflow resume last -q; echo $?; pflow resume last -q --accept-changes; echo $?'
    expect 0 $'78\n0' "'one': one.py has changed"
}

@test "a version that has changed since is named by pflow run --resume, too: no other run begins" {
    node one 'Writes: shared["one"]: int  # it' <<<'    def post(self, shared, prepared, done): shared["one"] = 1'
    in_shells "$here"'cp ../one.py .; PFLOW_NODES=$PWD; export PFLOW_NODES; line="pflow run -n -q --resume"; flow="one => shell '"'test -e ok'"'"
        $line "$flow" 2>/dev/null; : >ok; echo "    version = \"2.0.0\"" >>one.py; $line "$flow"; echo $?; pflow resume last -q --accept-changes; echo $?; pflow runs | wc -l'
    expect 0 $'78\n0\n1' "'one' is one 2.0.0, was "
}

@test "secrets are nowhere in what is kept, and are taken anew" {
    node login 'Reads: shared["token"]: str [secret] [explicit]  # the token' 'Params: key: str = null [secret] [env LOGIN_KEY]  # the key' \
        'Writes: shared["length"]: int [pipe]  # how long both are' <<<'    def post(self, shared, prepared, done): shared["length"] = len(shared["token"]) + len(self.params["key"])'
    echo '{"nodes": [{"id": "wait", "type": "shell", "inputs": {"command": "test -e ok"}}, {"id": "login", "type": "login"}], "mappings": {"login": {"input_mappings": {"token": "token"}}}}' >login.pflow.json
    in_shells "$here"'PFLOW_NODES=$PWD/.. LOGIN_KEY=CANARY-2; export PFLOW_NODES LOGIN_KEY; pflow-set -n token=CANARY-1 | pflow run ../login.pflow.json -q 2>/dev/null; : >ok
        printf CANARY-1 >token; printf 0123 >other; pflow resume last -q; echo $?
        for file in other token; do LOGIN_KEY= pflow resume last -q --token@$file; echo $?; LOGIN_KEY=new pflow resume last -q --token@$file; echo $?; done
        grep -rl CANARY pflow; pflow resume last -r --token@token'
    expect 0 $'78\n78\n78\n78\n78\n16' "it needs the secret 'token' again; --token@FILE has its text"
    [[ $stderr == *"the secret 'token' has changed"*'it needs the secret in LOGIN_KEY again'*'the secret in LOGIN_KEY has changed; '* ]]
}

@test "a run of a Python script is resumed, by pflow and by itself" {
    cat >report.py <<'E'
from pflow import Flow, step

first = step("shell", "first", inputs={"command": "echo first >>ran"})
first >> step("shell", "mail", inputs={"command": "echo mail >>ran"})
flow = Flow(start=first)
if __name__ == "__main__":
    flow.main()
E
    in_shells "$here$killed"'journal.start.written:2 "$PYTHON" ../report.py -n -q
        for run in "$PYTHON ../report.py -n -q --resume" "pflow run ../report.py:flow -n -q --resume" "pflow resume last -q" \
            "pflow resume last -q --redo=mail"; do $run; echo $?; done'"$ran"
    expect 0 $'65\n65\n65\n0\nfirst mail ' "'mail' (shell) was interrupted"
}

@test "what is damaged or gone is said, and a torn end is none" {
    in_shells "$here$three"' -q 2>/dev/null; run=$PWD/$(ls -d pflow/runs/0*); cp -r $run kept
        try() { pflow resume last -q; echo $?; rm -r $run; cp -r kept $run; }
        rm $run/flow.pflow.json; try; : >$run/flow.pflow.json; try; sed -i "s/echo A/echo B/" $run/flow.pflow.json; try
        : >$run/journal.jsonl; try; echo x >>$run/journal.jsonl; try; rm $run/trace.jsonl; try; mv pflow/key .; try; mv key pflow
        echo "cd3051ac {\"begin\":\"x\"}" >$run/journal.jsonl; pflow run ../three.pflow.json -n -q --resume 2>/dev/null; echo $?; rm -r $(ls -d pflow/runs/0* | tail -n 1); try
        : >ok; printf x >>$run/journal.jsonl; printf x >>$run/trace.jsonl; pflow resume last -q >&-; echo $?'"$ran"
    expect 0 $'66\n66\n78\n1\n65\n1\n78\n1\n65\n0\na b b a b b c '
    [[ $stderr == *'it was ended before anything ran'*'its line '*' is damaged'*"the key of pflow's state has changed"* ]]
}

@test "on a terminal a person decides, and types a secret that is not shown" {
    in_terminal sh -i
    type_line "$here: >ok; $killed"'journal.start.written:2 pflow run three.pflow.json -n -q'
    shows Killed
    type_line 'clear; pflow resume last -q; echo "<$?>"'
    shows "'b' (shell) was interrupted, and may not repeat [r: run it again, d: take it as done, s: stop]"
    type_line s
    shows '<65>'
    type_line 'clear; pflow resume last -q; echo "<$?>"'
    shows 's: stop]'
    type_line x
    type_line r
    shows '<0>'
    [ "$(tr '\n' ' ' <ran)" = 'a b c ' ]
    echo '{"nodes": [{"id": "has", "type": "has", "inputs": {}}]}' >has.pflow.json
    node has 'Reads: shared["token"]: str [secret]  # the token' <<'E'
    def post(self, shared, prepared, done):
        if shared["token"] != open("token").read():
            raise ValueError("another one")
E
    echo first >token
    type_line 'clear; export PFLOW_NODES=$PWD; pflow-set -n token=CANARY | pflow run has.pflow.json -q; printf CANARY >token; clear; pflow resume last -q; echo "<$?>"'
    shows 'token (a secret of the run '
    type_line CANARY
    shows '<0>'
    [ "$(screen | grep -v printf | grep -c CANARY)" = 0 ]
}

@test "of two lines that go on with one run, the second says that it is still running" {
    in_shells "$here"'mkfifo f; wait="shell --command='"'echo >>begun; cat f'"'"; pflow run "$wait" -n -q --resume & run=$!
        until [ -e begun ]; do sleep 0.02; done; pflow run "$wait" -n -q --resume; echo $?; : >f; wait $run; echo $?; cat begun | wc -l'
    expect 0 $'75\n0\n1' 'it is still running: '
}

@test "the model that was chosen is that of the whole run" {
    need jq
    node asks 'Writes: shared["usage"]: dict [pipe]  # the bill' 'Params: model: str = null  # which' <<'E'
    def post(self, shared, prepared, done):
        shared["usage"] = {"model": self.params["model"] or open("default").read()}
E
    in_shells "$here"'PFLOW_NODES=$PWD/..; export PFLOW_NODES; printf one >default; pflow run "asks => shell '"'test -e ok'"'" -n -q 2>/dev/null; printf two >default
        : >ok; pflow resume last -q --from=asks; pflow trace last --json | jq -cr "[.execution_trace[].model], .snapshot.config_overrides.asks.model"'
    expect 0 $'["one",null,"one",null]\none'
}

@test "pflow run --resume goes on with the newest unfinished run of the same flow, inputs and params, or begins one" {
    in_shells "$here$three"' -q --text=other 2>/dev/null; for n in 1 2; do pflow run ../three.pflow.json -n -q --resume 2>/dev/null; done; : >ok; echo --
        pflow run ../three.pflow.json -n -r --resume; pflow run --resume ../three.pflow.json -n -q; pflow runs | cut -c 61-70 | sed "s/ *$//"'"$ran"
    expect 0 $'--\nA\nB\nT\ndone\ndone\nfailed 1\na b a b b b c a b c '
}

@test "a journal that a full disk cuts short is gone on with once there is room, and the message says so" {
    in_shells "$here: >ok; $killed"'journal.end:2:enospc '"$three"' -q; echo $?; '"$killed"'journal.end:1:enospc pflow resume last -q --redo=b; echo $?; pflow resume last -q --redo=b; echo $?'"$ran"
    expect 0 $'73\n73\n0\na b b b c ' 'no space left on device; make room, then pflow resume 01'
    [[ $stderr != *no-journal* ]]
    in_shells "$here$killed"'journal.begin:enospc '"$three"' -q; echo $?'
    expect 0 73 '--no-journal runs without one'
}

@test "--failed runs the failed items alone, then what comes after: of later batches only new items" {
    need jq
    echo '{"inputs":{"x":{"type":"str"},"all":{"type":"list"}},"nodes":[{"id":"in","type":"shell","repeats":true,
        "batch":{"over":"all","as":"y","on_error":"keep"},"inputs":{"command":"echo in $1$2 >>ran; test $1$2 != b2 || test -e ok",
        "args":["$x","$y"]}},{"id":"late","type":"shell","repeats":true,"inputs":{"command":"echo late $1 >>ran","args":["$x"]}}]}' >inner.pflow.json
    echo '{"inputs":{"xs":{"type":"list"}},"nodes":[{"id":"first","type":"shell","batch":{"over":"xs","as":"x","jobs":2,"on_error":"keep"},
            "inputs":{"command":"echo first $1 >>ran; test $1 != c || test -e ok || exit 1; echo $1; seq 20000","args":["$x"]}},
        {"id":"each","type":"shell","batch":{"over":"first.stdout","as":"input"},"inputs":{"command":"read x; echo each $x >>ran; echo =$x"}},
        {"id":"whole","type":"shell","batch":{"over":"xs","as":"x"},"inputs":{"command":"echo whole $1 >>ran","args":["$x","${first.exit_code}"]}},
        {"id":"nested","type":"./inner.pflow.json","batch":{"over":"xs","as":"x"},"inputs":{"all":["1","2"]}},
        {"id":"end","type":"shell","inputs":{"command":"echo end >>ran"}}],
        "outputs":{"each":"each.stdout"}}' >outer.pflow.json
    run --separate-stderr pflow run outer.pflow.json -n --xs='["a","b","c"]' -r
    expect 1 '["=a\n","=b\n","=\n"]' 'finished with failures: 2 items failed'
    run --separate-stderr pflow resume last
    [[ $stderr == *'it is finished, with failures; --failed runs its failed items again' ]]
    : >ran
    run --separate-stderr pflow resume last --failed -q
    expect 1 - 'finished with failures: 2 items failed'
    [ "$(sort ran | tr '\n' ' ')" = 'end first c in b2 late b whole a whole b whole c ' ]
    : >ran && : >ok
    run --separate-stderr pflow run --resume outer.pflow.json -n --xs='["a","b","c"]' -q
    expect 0
    [ "$(grep -c first ran)" = 3 ] # it began anew
    : >ran
    run --separate-stderr pflow resume @2 --failed -r
    expect 0 '["=a\n","=b\n","=c\n"]'
    [ "$(sort ran | tr '\n' ' ')" = 'each c end first c in b2 late b whole a whole b whole c ' ]
    run --separate-stderr pflow resume @2 --failed
    expect 1 - 'it is done'
}

@test "a loop that had its visits names the flag, which runs, resumes, replays, steps and saved flows take" {
    node count 'Reads: shared["n"]: int = 0' 'Writes: shared["n"]: int [pipe]' 'Actions: default, again' 'Repeats: yes' <<'END'
    def exec(self, prep): return None
    def post(self, shared, prep, done):
        shared["n"] = shared.get("n", 0) + 1
        open("visits", "a").write(".")
        return "again" if shared["n"] < 5 else "default"
END
    export PFLOW_NODES=$PWD
    local loop='count:c --max-visits=3 =again=> c; c => template "$n"'
    run --separate-stderr pflow "$loop" -nr
    expect 1 '' "cannot visit 'c' again: it had its 3 visits; pflow resume "
    [[ $stderr == *' --max-visits=N goes on' ]]
    run --separate-stderr pflow resume last -r --max-visits=4
    expect 1 '' 'it had its 4 visits'
    run --separate-stderr pflow resume last -r --max-visits=9
    expect 0 5
    [ "$(cat visits)" = ..... ] # none was made twice
    pflow save loop "$loop" --description=Loop >/dev/null
    for words in 'run loop -nr' 'loop -nr' 'replay last -r'; do
        # shellcheck disable=SC2086
        run --separate-stderr pflow $words --max-visits=9
        expect 0 5
    done
    run --separate-stderr pflow 'loop => template "<$text>"' -nr --max-visits=9
    expect 0 '<5>'
    run --separate-stderr pflow count --max-visits=9
    expect 2 - 'a step of a flow takes it'
}
