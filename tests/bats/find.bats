# pflow find: saved flows by what they are for, by words, and by meaning where an embedding model is configured.

setup() { load helper; }

# Flows of this description each, by name.
flows() {
    mkdir -p "$HOME/data/pflow/flows"
    export XDG_DATA_HOME=$HOME/data XDG_CACHE_HOME=$HOME/cache
    while [ $# -gt 1 ]; do
        "$PYTHON" -c 'import json, sys; print(json.dumps({"description": sys.argv[1], "nodes": [{"type": "shell"}]}))' "$2" >"$XDG_DATA_HOME/pflow/flows/$1.pflow.json"
        shift 2
    done
}

three() {
    flows sum-up 'Summarize a text file.' fix-issue 'Fetch an issue and write a patch.' resize 'Scale images down.'
}

# llm with the embedding models of tests/peers.
with_peers() {
    export PYTHONPATH=$BATS_TEST_DIRNAME/../peers/embed PFLOW_EMBEDDING_MODEL=peer-$1 EMBED_LOG=$HOME/asked
}

@test "the flow that is meant comes first, with how near it is and what it is for" {
    three
    in_shells 'pflow find summarizing my notes | tr -s " " | sed "s/ [0-9]* / N /"; pflow find "patches for issues" -n 1 | cut -d " " -f 1
        for when in auto always; do pflow find summarize --color=$when | grep -c "$(printf "\033")"; done'
    expect 0 $'sum-up N Summarize a text file.\nfix-issue\n0\n1'
}

@test "where nothing is near, it is 1, as with grep" {
    three
    in_shells 'pflow find xylophone; echo $?; pflow find -n 2 "…"; echo $?'
    expect 0 $'1\n1' "cannot find a saved flow about 'xylophone'; pflow list shows all"
}

@test "where no flow is saved, it is 1 too, and how one is" {
    in_shells 'pflow find anything; echo $?; env -i PATH="$PATH" pflow find anything; echo $?'
    expect 0 $'1\n1' 'pflow save keeps a flow'
}

@test "wrong flags are 2" {
    in_shells 'for flag in -n=0 --by=magic -n; do pflow find words $flag; echo $?; done; pflow find; echo $?'
    expect 0 $'2\n2\n2\n2' 'pflow find --help'
}

@test "--json is a list for programs, and an error is JSON too" {
    need jq
    three
    in_shells 'pflow find summarize a text file --json | jq -c ".[0] | [.name, .description, (.near > 50), (.file | endswith(\"/sum-up.pflow.json\"))]"; pflow find xylophone --json | jq -r .error.exit'
    expect 0 '["sum-up","Summarize a text file.",true,true]
1'
}

@test "a file that is no flow does not keep the others from being found" {
    three
    in_shells 'echo "{" >"$XDG_DATA_HOME/pflow/flows/broken.pflow.json"; mkdir -p "$XDG_DATA_HOME/pflow/flows/d.pflow.json"; pflow find summarize | cut -d " " -f 1; pflow find broken || echo $?'
    expect 0 $'sum-up\n1' 'broken.pflow.json'
}

@test "signs that a terminal would obey are shown" {
    flows evil $'Summarize \e[31mall\nof \u202eit.' sum-up 'Summarize a text.'
    in_shells 'pflow find summarize -n 2 | wc -l; pflow find summarize -n 2 | grep -c "$(printf "\033")"; pflow find "$(printf "zz\033[31mzz\nzz")" --by=words || echo $?'
    expect 0 $'2\n0\n1' 'zz\x1b[31mzz'
}

@test "meaning finds too, and what a model said is ours alone to read" {
    three
    with_peers letters
    in_shells 'umask 0; pflow find summarize --by=meaning | grep -c sum-up; find "$XDG_CACHE_HOME/pflow" -perm /077 | wc -l; ls "$XDG_CACHE_HOME/pflow"'
    expect 0 $'1\n0\nembeddings.db'
}

@test "an embedding model that fails is one line, and the words find" {
    three
    with_peers broken
    in_shells 'pflow find summarize 2>err | cut -d " " -f 1; wc -l <err; grep -c "cannot get an answer from .peer-broken." err; grep -c "$(printf "\033")" err'
    expect 1 $'sum-up\n1\n1\n0'
}

@test "where meaning is asked for, no model, or one that is not there, is 78" {
    three
    in_shells 'PFLOW_EMBEDDING_MODEL=nosuch pflow find summarize --by=meaning; echo $?; pflow find summarize --by=meaning; echo $?'
    expect 0 $'78\n78' 'no embedding model is configured'
}

# bats test_tags=rights
@test "a cache that cannot be written keeps nothing from being found" {
    three
    with_peers letters
    mkdir -m 500 cache
    as_mortal 'pflow find summarize --by=meaning | grep -c sum-up' >out
    [ "$(cat out)" = 1 ]
}

@test "a disk that is full keeps nothing from being found" {
    three
    with_peers letters
    in_shells 'rm -rf "$XDG_CACHE_HOME"; ulimit -f 0; trap "" XFSZ; unset EMBED_LOG; pflow find summarize --by=meaning | grep -c sum-up; find "$XDG_CACHE_HOME" -type f -size +0 | wc -l'
    expect 0 $'1\n0'
}
