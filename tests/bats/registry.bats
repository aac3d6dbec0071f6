# The registry: nodes in any language, found by name on PATH and in a user's own directories, and never run to be known.

setup() { load helper; }

# A program of this name, which tells of itself what stands in $2 and leaves a file behind when it is run.
program() {
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\n%stouch %q\ncat\n' "${2-}" "$HOME/ran" >"$1"
    chmod +x "$1"
}

WORDS='# Count the words of a text.
#
# Interface:
# - Reads: shared["text"]: str [pipe]  # the text
# - Writes: shared["words"]: int [pipe]  # how many it has
'

@test "a program on PATH is never run by listing, checking, explaining or exporting" {
    program bin/pflow-words "$WORDS"
    program bin/pflow-x
    export PATH="$HOME/bin:$PATH"
    printf '{"nodes": [{"type": "x"}, {"type": "words"}]}' >flow.pflow.json
    in_shells 'cd .. && exec </dev/null >out 2>&1
        pflow help x; pflow nodes; pflow nodes x words; pflow check flow.pflow.json; pflow explain flow.pflow.json
        for to in python sh; do pflow export --to=$to flow.pflow.json; done; pflow wrds; true'
    expect 0
    [ -s out ]
    [ ! -e ran ]
}

@test "one name is one node: for pflow NAME, in a flow, in a list" {
    need jq
    for place in own bin bin2; do
        program $place/pflow-who
        printf '#!/bin/sh\njq -cn '\''{"$pflow": {v: 1}, who: "%s"}'\''\n' $place >$place/pflow-who
    done
    export PATH="$HOME/bin:$HOME/bin2:$PATH"
    for own in "" "$HOME/own"; do
        PFLOW_NODES=$own in_shells 'pflow who </dev/null | jq -r .who; pflow run "who" -j </dev/null | jq -r .who
            pflow nodes --json | jq -r ".[] | select(.name == \"who\" and .reads) | .file" | sed "s,/pflow-who,,;s,.*/,,"'
        place=${own:+own}
        expect 0 "${place:-bin}"$'\n'"${place:-bin}"$'\n'"${place:-bin}"
    done
}

@test "nobody stands in for a node or a tool of pflow's" {
    for name in read-file read_file get; do program "own/pflow-$name"; program "bin/pflow-$name"; done
    echo text >a
    export PFLOW_NODES=$HOME/own PATH="$HOME/bin:$PATH"
    in_shells 'pflow read-file --path=../a -r -n; pflow read_file --path=../a -r -n; pflow read-file --path=../a -n | pflow get content
        pflow run "read_file --path=../a" -r; pflow nodes | grep "is behind" | grep -c "^ *[a-z_-]*  *$HOME/"; ls ../ran'
    expect 2 $'text\ntext\ntext\ntext\n6'
}

@test "a name that is none runs nothing, whatever is in it" {
    export PATH="$HOME/bin:$PATH"
    for name in 'x;$(touch ran)' $'x\e[31m'; do program "bin/pflow-$name"; done
    SHELLS=bash in_shells 'for name in "x;\$(touch ran)" "$(printf "x\033[31m")"; do pflow "$name" -r </dev/null; pflow nodes "$name"; echo $?; done
        pflow nodes | grep -c -e touch -e "$(printf "\033")"'
    expect 1 $'127\n127\n0'
    [[ $stderr != *$'\e'* ]]
    [ ! -e ran ]
}

@test "what is no file called pflow-x is not waited for" {
    mkdir bin own && mkfifo bin/pflow-a own/pflow-b own/c.py && mkdir bin/pflow-d && ln -s /dev/zero bin/pflow-e
    program bin/pflow-f && rm -f bin/pflow-f.interface && mkfifo bin/pflow-f.interface
    export PFLOW_NODES=$HOME/own PATH="$HOME/bin:$PATH"
    in_shells 'timeout 20 pflow nodes | grep -e "^  [a-f]  " | tr -s " "; for name in a b c d e; do timeout 20 pflow nodes $name; echo $?; done'
    expect 0 $' f 1.0.0 open\n127\n127\n127\n127\n127'
}

# bats test_tags=rights
@test "a file that cannot be read is told; one with its interface beside it needs not be read" {
    program bin/pflow-dark "$WORDS" && program bin/pflow-lit && printf '%s' "$WORDS" >bin/pflow-lit.interface
    chmod 0111 bin/pflow-dark bin/pflow-lit
    export PATH="$HOME/bin:$PATH"
    run as_mortal 'pflow nodes | grep -e "  dark" -e "  lit" | sed "s,$HOME/,,"'
    expect 0 "  lit  1.0.0  Count the words of a text.
  dark  cannot read the node 'bin/pflow-dark': permission denied"
}

# bats test_tags=rights
@test "with a cache that cannot be written, or none, the list is the same" {
    program bin/pflow-words "$WORDS"
    export PATH="$HOME/bin:$PATH"
    pflow nodes >whole
    [ -s .cache/pflow/nodes.json ]
    chmod 0500 .cache/pflow && echo '{' >.cache/pflow/nodes.json
    run as_mortal 'pflow nodes | cmp - whole && XDG_CACHE_HOME=/dev/null/x pflow nodes | cmp - whole && env -u HOME pflow nodes | cmp - whole'
    chmod 0700 .cache/pflow
    expect 0 ''
}
