# What a TAB costs in bash: lines NAME<TAB>MS, milliseconds of CPU, user's and system's, this process's and its children's.
# `bash tests/bench/tab.bash [ROUNDS]`: the median of so many rounds, five calls each, for a clock of whole milliseconds.
# shellcheck shell=bash disable=SC1091,SC2034

rounds=${1:-25} calls=5
completions=$(cd "${BASH_SOURCE[0]%/*}/../../completions/bash" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME=$place
unset XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME PFLOW_NODES

# A home with 200 models and 200 runs; on PATH, 500 executables more.
fill() {
    local i lists=$place/.cache/pflow/completion runs=$place/.local/state/pflow/runs name
    mkdir -p "$lists" "$runs" "$place/bin"
    for ((i = 0; i < 500; i++)); do
        printf -v name 'x%03d' "$i"
        printf '#!/bin/sh\n' >"$place/bin/pflow-$name"
        printf '%s\tnode number %d, and what it does\n' "$name" "$i" >>"$lists/nodes"
    done
    chmod +x "$place/bin"/*
    PATH=$place/bin:$PATH
    for ((i = 0; i < 200; i++)); do
        printf -v name '01JD%022d' "$i"
        mkdir "$runs/$name"
        printf '%s\t2026-01-01 12:00, 1.2 s, done: a flow\n' "$name" >>"$lists/runs"
        printf 'provider-%d/model:%d\tmodel number %d\n' $((i % 7)) "$i" "$i" >>"$lists/models"
    done
}

# The CPU time so far, in microseconds: `used`.
cpu() {
    local one two three four each
    times >"$place/times"
    {
        read -r one two
        read -r three four
    } <"$place/times"
    used=0
    for each in "$one" "$two" "$three" "$four"; do
        each=${each%s}
        used=$((used + ${each%m*} * 60000000 + 10#${each//[!0-9]/} % 100000 * 1000))
    done
}

# Five TABs, and what one of them cost: `spent`. With COMP_TYPE 63 there is a listing, which costs most.
round() {
    local i before used
    cpu
    before=$used
    for ((i = 0; i < calls; i++)); do "$@"; done
    cpu
    spent=$(((used - before) / calls))
}

# The line of one name: what is typed, or a command.
measure() {
    local name=$1 i j costs=() spent COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=63 COMP_CWORD=0 COMP_WORDS=() COMPREPLY
    shift
    for ((i = 0; i < rounds; i++)); do
        round "${@:-tab}"
        for ((j = i; j > 0 && costs[j - 1] > spent; j--)); do costs[j]=${costs[j - 1]}; done
        costs[j]=$spent
    done
    spent=${costs[rounds / 2]}
    printf '%s\t%d.%02d\n' "$name" $((spent / 1000)) $((spent % 1000 / 10))
}

tab() { _pflow "${COMP_LINE%% *}"; }

# What the first TAB costs more.
load() {
    unset -f _pflow
    . "$completions/pflow-llm"
}

fill
COLUMNS=100
. "$completions/pflow"
. "$completions/pflow-llm"
measure 'pflow-llm --'
measure 'pflow-llm --model='
measure 'pflow '
measure 'pflow trace '
measure "pflow 'read-file => llm --"
measure 'load pflow-llm' load
