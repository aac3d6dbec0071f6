#!/usr/bin/env bats
# The runs of the driver: their logs, `pflow runs`, and `pflow trace` of a run.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    here='XDG_STATE_HOME=$PWD; export XDG_STATE_HOME; echo hi >a; '
    copy="pflow run 'read-file --path=a => write-file --path=o' -q"
    fails="pflow run 'read-file --path=nope => write-file --path=o' -q 2>/dev/null"
}

@test "pflow runs lists each run, newest first, and how it ended" {
    in_shells "$here"'pflow runs; echo $?; pflow runs --json'
    expect 0 $'0\n[]' 'there are no runs yet'
    in_shells "$here $copy; $fails"'; pflow runs | sed "s/^[0-9A-Z]\{26\}  [-0-9]* [:0-9]*  *[0-9.]* m\{0,1\}s  //; s/resume .*/resume ID/"; pflow runs -n 1 | wc -l'
    expect 0 $'failed 66     0/2  flow  pflow resume ID\ndone          2/2  flow\n1'
}

@test "pflow runs --json tells the same to programs" {
    need jq
    in_shells "$here $copy; $fails"'; pflow runs --json | jq -c ".[] | [.status, .exit, .name, (.ms | type), (.began > 1e9)]"'
    expect 0 $'["failed",66,"flow","number",true]\n["done",0,"flow","number",true]'
    in_shells "$here $copy; $fails"'; pflow runs --json | jq -c ".[] | [.steps_done, .steps, (.next | length)]"'
    expect 0 $'[0,2,1]\n[2,2,0]'
}

@test "pflow runs lists those that failed, of one flow, since a moment, and what goes on with one" {
    in_shells "$here"'echo "read-file --path=a => write-file --path=o" >one; pflow save one one >/dev/null; pflow run one -q; '"$copy; $fails"'
        count() { pflow runs "$@" 2>&1 | wc -l; }
        count --failed; count --flow=one; count --flow=one --failed; count --since=1h; count --since=2001-01-31; count --failed --since=2d
        pflow runs --since=2999-01-01 && pflow runs --flow=one --failed --json
        for run in pflow/runs/*/; do echo begun >"$run/journal.jsonl"; done; pflow runs | grep -c "  pflow resume [0-9A-Z]*$"; pflow runs --failed --json | grep -c "pflow resume"
        XDG_CACHE_HOME=$PWD pflow run "shell \"wc -w\" --cache" -q <a; pflow runs | grep -c "  pflow why [0-9A-Z]* shell$"'
    expect 0 $'1\n1\n1\n3\n3\n1\n[]\n1\n1\n1' 'no run matches'
    for when in 2 d "" 1.5h -1d 3y 2026-13-01 last; do
        run -2 pflow runs --since="$when"
        [[ $output == *"cannot list runs: --since takes a date or an age (2026-01-31, 3d), not '$when'"* ]]
    done
}

@test "pflow trace shows the last run, where nothing comes through stdin" {
    in_shells "$here $copy"'; pflow trace </dev/null | sed "s/  [0-9.]* m*s$//; s/ after .*//; s/run [0-9A-Z]*/run ID/"'
    expect 0 $'[1] read-file (read-file)\n    ← reads: path given\n    → writes: content

[2] write-file (write-file)\n    ← reads: content from content, path given

run ID (flow): done'
}

@test "what models took is told by trace, runs, -v and the entry of the flow, a price that nobody knows too" {
    need jq
    cat >bill.pflow.json <<'E'
{"name": "bill", "inputs": {"costs": {"type": "list"}},
 "nodes": [{"id": "ask", "type": "bill", "batch": {"over": "costs", "as": "cost", "jobs": 2, "on_error": "keep"}},
           {"id": "more", "type": "bill", "params": {}, "inputs": {"cost": 0.5}}],
 "mappings": {"ask": {"output_mappings": {"usage": "ask.usage"}}}}
E
    node bill 'Reads: shared["cost"]: any [pipe]  # a price, or none' 'Writes: shared["usage"]: dict  # the bill' <<'E'
    def prep(self, shared):
        return shared["cost"]

    def post(self, shared, cost, result):
        shared["usage"] = {"model": "m", "input": 3, "output": 4, "cost": cost}
E
    bill='cp ../bill.* .; XDG_STATE_HOME=$PWD PFLOW_NODES=$PWD; export XDG_STATE_HOME PFLOW_NODES; pflow run bill.pflow.json -n --costs='
    in_shells "$bill"'"[0.01, null, 0.03]" -v | pflow trace --json | jq -c .usage
        pflow runs | sed "s/.*done//"; pflow runs --json | jq -c ".[0].usage"; pflow trace --json | jq -c .usage
        pflow trace | grep "^[[r]" | sed "s/[0-9.]* m*s, //; s/ after//; s/run [0-9A-Z]*/run/"
        pflow bill -n --cost=free -q -v 2>&1 | tail -n 1'
    all='{"model":"m","tokens":{"in":12,"out":16},"cost":0.54,"calls":4,"unpriced":1}'
    expect 0 "$all
          2/2  bill  \$0.54 + unknown
$all
$all
[1] ask (bill)  3 calls, tokens in 9 out 12, model m, \$0.04 + unknown, items done 3 failed 0
[2] more (bill)  tokens in 3 out 4, model m, \$0.50
run (bill): done 4 calls, tokens in 12 out 16, model m, \$0.54 + unknown
pflow-bill: used tokens in 3 out 4, model m, cost unknown" 'pflow run: used 4 calls, tokens in 12 out 16, model m, $0.54 + unknown'
}

@test "a run is named by its id, by how that begins, or by how long ago it was" {
    in_shells "$here $copy; $fails"'; id=$(pflow runs -n 1 | cut -c 1-26)
        for word in "$id" "${id%?}" last @1; do pflow trace $word | tail -n 1 | cut -d " " -f 4,5; done; pflow trace @2 | tail -n 1 | cut -d " " -f 4'
    expect 0 $'failed with\nfailed with\nfailed with\nfailed with\ndone'
    in_shells "$here $copy"'; pflow trace @2; echo $?; pflow trace lsat'
    expect 66 66 "cannot find the run 'lsat'; pflow runs lists them"
}

@test "--json, --chrome and --otlp are JSON, of a run and of a document" {
    need jq
    in_shells "$here $copy"'
        pflow trace last --json | jq -c "[.execution_trace[] | {node, read_keys, write_keys}]"
        pflow trace last --chrome | jq -c "[.traceEvents[] | select(.ph == \"X\") | .name]"
        pflow trace last --otlp | jq -c "[.resourceSpans[].scopeSpans[].spans[] | .name]"
        pflow-shell -n --command=true | pflow trace --otlp | jq -e . >/dev/null && echo otlp'
    expect 0 '[{"node":"read-file","read_keys":[],"write_keys":["content"]},{"node":"write-file","read_keys":["content"],"write_keys":[]}]
["flow","read-file","write-file"]
["flow","read-file","write-file"]
otlp'
}

@test "--store adds what the store holds at the end, and of a document the values" {
    in_shells "$here $copy"'; pflow trace last --store | tail -n 3; pflow-set -n a=1 | pflow trace --store'
    expect 0 $'the store\n    path: str, 1 character\n    content: str, 3 characters\nno step has run\n\nthe store\n    a: str, 1 character: "1"'
}

@test "a document that failed ends with its code, and a run that failed does not" {
    in_shells "$here $fails"'; pflow-read-file -n --path=nope 2>/dev/null | pflow trace >/dev/null; echo $?; pflow trace last >/dev/null; echo $?'
    expect 0 $'66\n0'
}

@test "a run that is killed has no end, and is running while something that got away from it is" {
    need setsid
    in_shells "$here"'mkfifo f
        pflow run "shell --command='"': >begun; setsid cat f'"'" -n -q & run=$!
        until [ -e begun ] && [ "$(pflow trace last 2>/dev/null | grep -c " running for ")" = 2 ]; do sleep 0.02; done
        kill -9 $run; wait $run 2>/dev/null; pflow runs | cut -c 61-67
        : >f; until pflow runs | grep -q killed; do sleep 0.02; done; pflow trace last | sed -n "s/.*  did/did/p"'
    expect 0 $'running\ndid not end'
}

@test "only the snapshot of a run holds values" {
    in_shells "$here"'pflow run "read-file --path=a => shell:s --command='"'cat; : secret-1'"' --args=secret-2 => write-file --path=secret-3" -q
        cd pflow/runs/*; grep -l -e secret -e hi trace.jsonl lock; pflow trace last --otlp | grep -c secret'
    expect 1 0
}

@test "20 runs of one flow at once, in a new home and whatever the umask, are 20 runs, for their owner alone" {
    mkdir nodes
    cat >nodes/double.py <<'END'
from pflow import Node, flow_safe


@flow_safe
class Double(Node):
    """Double a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # it
    - Writes: shared["text"]: str [pipe]  # twice
    """

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        return text * 2

    def post(self, shared, text, twice):
        shared["text"] = twice
END
    export PFLOW_NODES=$PWD/nodes
    cat >f.pflow.json <<'END'
{"inputs": {"n": {"type": "str"}},
 "nodes": [{"id": "all", "type": "double", "inputs": {"text": "same"}},
           {"id": "own", "type": "shell", "inputs": {"command": "echo \"$1 $PFLOW_STEP_KEY\"", "args": ["$n"]}}]}
END
    umask 000
    seq 20 | timeout 100 xargs -P 20 -I{} pflow run f.pflow.json -n --n={} -r >out 2>err
    cat err && [ ! -s err ]
    [ "$(cut -d' ' -f1 out | sort -n | uniq | wc -l)" = 20 ]
    [ "$(cut -d' ' -f2 out | sort -u | wc -l)" = 20 ]
    [ "$(pflow runs -n 60 | grep -c ' done ')" = 20 ]
    [ -z "$(find .local .cache ! -type d ! -perm 600 -o -type d ! -perm 700)" ]
}
