#!/usr/bin/env bats
# `pflow lock` and `--locked` (PF17): a flow runs as it was locked, or not at all.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    node say 'Reads: shared["text"]: str = "hi" [pipe]  # what' 'Writes: shared["said"]: str [pipe]  # the same' \
        'Params: n: int = 1  # how often' <<'E'
    def post(self, shared, prepared, result):
        shared["said"] = shared["text"] * self.params["n"]
E
    mkdir -p nodes && mv say.py nodes
    export PFLOW_NODES=$PWD/nodes
}

@test "a flow runs as it was locked; what has changed is named, and nothing runs" {
    in_shells 'echo "say => write-file out" >"a b.pflow"; pflow lock "a b.pflow"; pflow run "a b.pflow" --locked -n -q; cat out; rm out
        sed -i "s/int = 1/int = 2/" ../nodes/say.py; pflow replay last --locked -q; echo $?; pflow run "a b.pflow" --locked -n -q; echo $?; ls
        pflow check --locked "a b.pflow" 2>/dev/null | sed "s/is .*; /… /"; pflow check "a b.pflow" | sed "s/.*: //"'
    expect 0 $'a b.lock.json\nhi65\n65\na b.lock.json\na b.pflow
a b.pflow: nodes[0]: PF17: interface\'s param n of \'say\' … pflow lock \'a b.pflow\'
no findings' $'pflow run: cannot run: nodes[0]: PF17: interface\'s param n of \'say\' is "int = 2", was "int = 1"; pflow lock'
}

@test "what the flow gives its steps is locked, in a flow inside it too; what the command line gives is not" {
    in_shells 'flow() { echo "{\"inputs\": {\"t\": {\"default\": \"T\"}}, \"nodes\": [{\"type\": \"shell\", \"inputs\": {\"command\": \"echo $2\", \"args\": [\"\$t\"]}}]}" >"$1.pflow.json"; }
        flow in one; echo "./in.pflow.json --t=\"a prompt\" => say --n=2" >out.pflow; pflow lock out.pflow; pflow run out.pflow --locked -n -r --say.n=1 --t=U; echo $?
        flow in two; pflow run out.pflow --locked -n -q; echo $?; flow in one; sed -i s/prompt/question/ out.pflow; pflow run out.pflow --locked -n -q; echo $?'
    expect 0 $'out.lock.json\none\n0\n65\n65' "input command of 'in/shell' is"
    [[ $stderr == *"input t of 'in' is"* ]]
}

@test "a saved flow has its lock file beside it, and takes it along when it is removed" {
    in_shells 'pflow save twice "say --n=2" >/dev/null 2>&1; pflow twice --locked -n -r; echo $?; basename "$(pflow lock twice)"
        pflow twice --locked -n -r; pflow remove twice >/dev/null; ls "$HOME/.local/share/pflow/flows"'
    expect 0 $'65\ntwice.lock.json\nhihi\nold' "there is no lock file"
}

@test "what is in no file, breaks a rule or cannot be written is not locked" {
    in_shells 'pflow lock "say => say"; echo $?; pflow run "say" --locked -n -q; echo $?; echo "{\"nodes\": [{\"type\": \"nope\"}]}" >f.json
        pflow lock f.json; echo $?; pflow lock nope.json; echo $?; echo say >g.pflow; mkdir g.lock.json; pflow lock g.pflow; echo $?; ls'
    expect 0 $'2\n2\n65\n66\n73\nf.json\ng.lock.json\ng.pflow' "cannot find the lock file of a flow that is not in a file; pflow save NAME 'FLOW' puts it into one"
}
