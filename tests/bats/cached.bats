#!/usr/bin/env bats
# What the cache hands on, and `pflow why`.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    export PFLOW_NODES=$PWD/nodes
    mkdir nodes && cd nodes || return
    node shout 'Reads: shared["text"]: str [pipe]  # it' 'Writes: shared["loud"]: str [pipe]  # it, loud' 'Params: mark: str = "!"  # the end' <<'E2'
    flow_safe = True

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        import sys
        print("ran", file=sys.stderr)
        return text.upper() + self.params["mark"]

    def post(self, shared, text, loud):
        shared["loud"] = loud
E2
    cd .. || return
    flow='shout --text=hello => shell "wc -c" --cache'
}

@test "the second stage or step takes what the first one gave, wherever both are" {
    run --separate-stderr bash -c 'echo hi | pflow shout --cache -r; echo hi | pflow shout --cache -r; mkdir -p sub && cd sub && echo hi | pflow run shout -r'
    expect 0 $'HI\n!\nHI\n!\nHI\n!'
    [ "$(grep -c ran <<<"$stderr")" -eq 1 ]
    PFLOW_CACHE=off run --separate-stderr pflow run "$flow" -r --cache=require
    expect 78 - "shout (shout): cannot take a kept answer of 'shout': PFLOW_CACHE turns the cache off; unset it"
    [[ $stderr != *ran* ]]
    run --separate-stderr bash -c 'pflow-read-file nope | pflow-write-file out --cache'  # the first failure counts
    expect 66 - "cannot read 'nope'"
    run --separate-stderr pflow run "$flow" --cache=require
    expect 66 - "shout (shout): cannot find a kept answer of 'shout': text: changed"
    run pflow run "$flow" --refresh=nope
    [[ $status -eq 2 && $output == *"cannot take --refresh=nope: no such step; the steps are shout, shell"* ]]
    group='( shout --text=hello => shell "echo >>ran; cat" ) --cache => ( shell "echo >>ran; cat" ) --no-cache'
    run --separate-stderr bash -c 'pflow run "$1" -q; pflow run "$1" -q --cache; wc -l <ran' - "$group"
    expect 0 3
}

@test "pflow why says what changed since an earlier run, and shows values that are kept" {
    pflow run "$flow" -q
    run pflow why last shout
    [[ $output == "shout: miss; no earlier run of this flow has it" ]]
    pflow run "$flow" -q
    run pflow why last shell
    [[ $output == "shell: hit, kept by the run "* ]]
    sed -i 's/upper()/title()/' nodes/shout.py
    pflow run 'shout --text=holla! => shell "wc -c" --cache' -q
    run pflow why last shout
    [[ ${output#*$'\n'} == $'    code: shout.py changed\n    text: \'holla!\' was \'hello\'' ]]
    run pflow why last shell --against @2
    [[ ${output#*$'\n'} == '    input: 7 characters, was 6' ]]
    run pflow trace @2
    [[ $output == *'[1] shout (shout)'*', cached'* ]]
    run --separate-stderr pflow why last shel
    expect 1 '' "cannot tell why 'shel' ran: no cached step of the run has this name; cached steps are shout, shell"
}

@test "pflow cache looks after what is kept, which is for its owner alone, and made again where it is damaged" {
    run --separate-stderr bash -c 'umask 000; echo hi | pflow shout --cache -r; printf damaged >"$(echo .cache/pflow/results/blobs/*)"; echo hi | pflow shout --cache -r; echo hi | pflow shout --cache -r'
    expect 0 $'HI\n!\nHI\n!\nHI\n!' "the cached answer of 'shout' is damaged and made anew: its bytes have changed"
    [ "$(grep -c ran <<<"$stderr")" -eq 2 ]
    [ -z "$(find .cache/pflow/results -perm /077)" ]
    run --separate-stderr pflow cache
    [[ $status -eq 0 && $output == 'shout '*'1 answer '*$'\nin all '*' KB of 1 GB '*"$HOME/.cache/pflow/results" ]]
    run --separate-stderr pflow cache clear shuot
    expect 66 '' "cannot clear the cache of 'shuot': it has no answers; the cache has shout"
    run --separate-stderr pflow cache clear shout
    expect 0 '' 'removed 1 answer'
    [ -z "$(find .cache/pflow/results/entries .cache/pflow/results/blobs -type f)" ]
}
