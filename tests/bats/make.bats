#!/usr/bin/env bats
# examples/Makefile: notes to summaries to an index, and only what changed is asked again.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

setup() {
    need make
    cp -r "$BATS_TEST_DIRNAME/../../examples/." .
    unset MAKEFLAGS
    server=$PEER
    export PEER=$PWD LLM_USER_PATH=$PWD/llm # each test its own requests, and its own `go`
    quick_llm
    words=("PROMPT=Shorten in test $BATS_TEST_NUMBER:" LLM_FLAGS=)
}

build() { run --separate-stderr timeout 100 make "${words[@]}" "$@"; }

# How often this test has asked about a note.
asked() { requests_with "Shorten in test $BATS_TEST_NUMBER:"; }

# The exit code of what was run, and how many notes were asked about since the last time.
built() {
    local all=$(asked)
    [ "$status $((all - ${before-0}))" = "$1 $2" ] || { echo "$((all - ${before-0})) asked" && expect "$1" - "$2 asked"; }
    before=$all
}

@test "a build asks once for each note, and the next one for none" {
    rm bin/pflow-llm
    export PEER=$server LLM_USER_PATH=$server/llm
    rm notes/bread.md
    build -j4
    built 0 2
    [ "$(grep '^## ' summaries/index.md | sort | tr '\n' ' ')" = '## bicycle.txt ## night ferry.txt ' ]
    grep -q 'Cabin 7112' 'summaries/night ferry.txt.summary.md'
    grep -q 'Cabin 7112' summaries/index.md
    build -j4
    built 0 0
}

@test "only what changed is asked again: a note, a new one, the prompt, the model" {
    build
    built 0 3
    touch notes/bread.md
    build
    built 0 1
    echo 'Tea at four.' >'notes/tea  time.txt'
    build
    built 0 1
    grep -q 'Tea at four' summaries/index.md
    build "${words[0]} please"
    built 0 4
    PFLOW_MODEL=reply build "${words[0]} please"
    built 0 4
    [ "$(grep -c '^Oak, ash' summaries/index.md)" -eq 4 ]
    mkdir diary && echo 'Coffee at nine.' >diary/bread.md && touch -d yesterday diary/bread.md
    build "${words[0]} please" NOTES=diary
    built 0 1
    [ "$(grep -c '^## ' summaries/index.md)" -eq 1 ] && grep -q 'Coffee at nine' summaries/index.md
}

@test "a note that is changed while its summary is made is asked about again, once" {
    need pgrep
    rm -f "$PEER/go"
    PFLOW_MODEL=slow-stream make "${words[@]}" -j4 >out 2>err 3>&- &
    until_asked 3
    until_true eval '[ "$(stages /pflow-read-file)" = "" ]'
    echo 'The saddle too.' >>notes/bicycle.txt
    : >"$PEER/go"
    wait $!
    before=3
    PFLOW_MODEL=slow-stream build
    built 0 1
    grep -q 'The saddle too' summaries/index.md
    PFLOW_MODEL=slow-stream build
    built 0 0
    rm "$PEER/go"
}

@test "the summary of a note that was removed goes, and the index with it" {
    build
    rm 'notes/night ferry.txt' notes/bread.md
    built 0 3
    echo mine >summaries/of.mine.md
    build
    built 0 0
    [ "$(ls summaries)" = $'bicycle.txt.summary.md\nindex.md\nof.mine.md\nrules.mk\nsettings\nstarted' ]
    [ "$(grep -c '^## ' summaries/index.md)" -eq 1 ]
    rm notes/*
    build
    built 0 0
    [ ! -s summaries/index.md ] && [ ! -e summaries/bicycle.txt.summary.md ]
}

# bats test_tags=rights
@test "a stage that fails ends the build, and no target is there, nor half of one; -k makes the others" {
    rm 'notes/night ferry.txt'
    PFLOW_MODEL=rate-limited build
    expect 2 - 'Error 75'
    PFLOW_MODEL=refused build -k -j4
    expect 2 - 'Error 69'
    [ "$(ls summaries)" = $'rules.mk\nsettings\nstarted' ]
    before=$(asked)
    chmod 000 notes/bread.md
    as_mortal "timeout 60 make '${words[0]}' LLM_FLAGS= -k -j2" >out 2>err && return 1
    grep -q 'Error 77' err
    [ "$(asked)" -eq $((before + 1)) ]
    [ ! -e summaries/bread.md.summary.md ] && [ ! -e summaries/index.md ] && [ -s summaries/bicycle.txt.summary.md ]
    chmod 644 notes/bread.md
}

until_asked() { until_true eval '[ "$(asked)" -eq '"$1"' ]'; }

# The processes with this in their command lines that work in this directory.
stages() {
    local id
    for id in $(pgrep -f -- "$1"); do
        [ "$(readlink "/proc/$id/cwd")" != "$PWD" ] || echo "$id"
    done
}

@test "kill -9 of make, and of all that it runs, leaves nothing half made" {
    need pgrep
    rm -f "$PEER/go" notes/bread.md
    PFLOW_MODEL=slow-stream setsid make "${words[@]}" -j4 >out 2>err 3>&- &
    until_asked 2
    mapfile -t all < <(pgrep -s $!)
    kill -KILL "${all[@]}"
    wait $! || true
    [ "$(ls -A summaries)" = $'rules.mk\nsettings\nstarted' ]
    : >"$PEER/go"
    before=2
    PFLOW_MODEL=slow-stream build -j4
    built 0 2
    [ "$(grep -c '^Shorten' summaries/index.md)" -eq 2 ]
    rm "$PEER/go"
}

@test "names of notes may hold spaces, quotes and signs of make and sh; what make cannot take, it refuses" {
    rm notes/*
    for name in "it's.txt" '-n.txt' '100% $HOME.txt' '$(touch x).md' '#1 a: b.txt' '`touch x`.md' '"q" & <r>.txt' '~é, (1).md'; do
        echo "about $name" >"notes/$name"
    done
    build -j4
    built 0 8
    [ "$(grep -c '^about ' summaries/index.md)" -eq 8 ]
    [ ! -e x ] && [ ! -e summaries/x ]
    build
    built 0 0
    for name in 'a=b.txt' 'a;b.md' 'a*.txt' $'a\nb.txt'; do
        : >"notes/$name"
        build
        expect 2 - "make cannot take the name $name"
        rm "notes/$name"
    done
}

@test "make's own jobs, terminal and stdin are left alone, and -n runs nothing" {
    build -n
    [[ $status -eq 0 && $output == *'pflow-llm'* ]]
    built 0 0
    [ "$(ls summaries)" = $'rules.mk\nsettings' ] || [ "$(ls summaries)" = rules.mk ]
    yes | timeout 60 make "${words[@]}" -j2 >out 2>err
    status=${PIPESTATUS[1]} output= stderr=
    built 0 3
    echo mine >summaries/mine.md
    build clean
    [ "$(ls summaries)" = mine.md ]
    rm summaries/mine.md
    build clean
    expect 0
    [ ! -e summaries ]
    build NOTES=nowhere
    expect 2 - 'there is no directory nowhere'
    build OUT=notes
    expect 2 - 'are two directories, and have no spaces'
}
