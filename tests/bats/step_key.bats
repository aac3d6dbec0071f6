#!/usr/bin/env bats
# PFLOW_STEP_KEY: what names a visit of a step, or an item, however often it is tried.
# shellcheck disable=SC2016

load helper

# How many keys are in ./keys, one a line, and how many different ones.
count_keys() { echo "$(grep -cxE '[0-9a-f]{64}' keys) $(sort -u keys | wc -l)"; }

say='echo "$PFLOW_STEP_KEY" >>keys'

@test "a visit has one key in all its tries, and in a node, a program and a command alike; each other visit another" {
    node count_down 'Reads: shared["left"]: int = 3' 'Writes: shared["left"]: int' 'Actions: again, default' \
        'Effects: writes files' <<'END'
    def exec(self, prepared):
        import os
        print(self.step_key, os.environ["PFLOW_STEP_KEY"], sep="\n", file=open("keys", "a"))
        if os.path.getsize("keys") < 200:
            raise ValueError("try again")

    def post(self, shared, prepared, done):
        shared["left"] -= 1
        return "again" if shared["left"] else "default"
END
    node tell 'Writes: shared["key"]: str [pipe]' <<'END'
    def post(self, shared, prepared, done):
        shared["key"] = self.step_key
END
    mkdir nodes && mv count_down.py tell.py nodes
    printf '%s\n' '#!/bin/sh' '# Interface:' '# - Reads: shared["text"]: str = ""' "$say; cat" >nodes/pflow-note
    chmod +x nodes/pflow-note
    export PFLOW_NODES=$PWD/nodes
    pflow run -n 'count-down:c --retries=2 --wait=0 =again=> c' -q
    [ "$(count_keys)" = '8 3' ]
    rm keys
    # A run within a command has keys of its own; a stage there has the command's.
    for more in '' --isolate; do
        pflow run -n "note => shell '$say; pflow note -n -q; pflow run -n note -q'" -q $more
    done
    [ "$(count_keys)" = '8 6' ]
    pflow run -n "shell '$say; pflow run -n tell -r >>keys'" -q
    [ "$(count_keys)" = '10 8' ]
    pflow note -n -q
    [ -z "$(tail -n 1 keys)" ]
}

@test "an item of a batch has a key of its own, equal ones too, in every try, and so have the steps of its subflow" {
    local batch='"batch": {"over": "items", "jobs": 2, "on_error": "keep"}'
    echo '{"nodes": [{"id": "each", "type": "shell", "inputs": {"command": "echo $PFLOW_STEP_KEY >>keys; false"},
        "retries": 1, "wait": 0, '"$batch"'}]}' >each.pflow.json
    echo '{"inputs": {"item": {"type": "str"}}, "nodes": [
        {"id": "one", "type": "shell", "inputs": {"command": "echo $PFLOW_STEP_KEY >>keys"}},
        {"id": "two", "type": "shell", "inputs": {"command": "echo $PFLOW_STEP_KEY >>keys"}}]}' >sub.pflow.json
    echo '{"nodes": [{"id": "each", "type": "./sub.pflow.json", '"$batch"'}]}' >nested.pflow.json
    for flow in each nested; do
        run pflow run "$flow.pflow.json" -n -q --items='["a", "b", "a"]'
    done
    [ "$(head -n 6 keys | sort -u | wc -l)" = 3 ]
    [ "$(count_keys)" = '12 9' ]
}

@test "a visit and an item have the key that they had when their run is resumed" {
    echo '{"nodes": [{"id": "each", "type": "shell", "repeats": true, "batch": {"over": "items"}, "inputs":
        {"command": "echo $PFLOW_STEP_KEY >>keys; [ $1 = a ] || test -e ready", "args": ["$item"]}}]}' >each.pflow.json
    run pflow run each.pflow.json -n -q --items='["a", "b", "c"]'
    run pflow resume last -q
    touch ready
    pflow resume last -q
    [ "$(count_keys)" = '5 3' ]
}
