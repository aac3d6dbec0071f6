# Completes pflow, its nodes and its tools in bash. Only builtins: a TAB starts no program, and runs no node.
# shellcheck shell=bash
# SC2034, SC2154: variables are local to _pflow, and its helpers fill them. SC2016: a description's $ is its own.
# shellcheck disable=SC2016,SC2034,SC2154

# An older bash (macOS has 3.2) completes nothing, and says nothing.
((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 402)) || return 0

# Loaded again, it keeps the tables that it has. -g: bash-completion loads files inside a function.
declare -gA _pflow_first _pflow_count _pflow_about
declare -F _pflow >/dev/null || _pflow_rows=() _pflow_commands=() _pflow_tools=()
_pflow_home=${BASH_SOURCE[0]}
[[ $_pflow_home == /* ]] || _pflow_home=$PWD/$_pflow_home
_pflow_home=${_pflow_home%/*}

# More names than readline shows without a question stand in columns: nothing is said of them, and none is looked at.
_pflow_most=99

# _pflow_command NAME ABOUT [GROUP NAMES VALUES REPEATS TEXT]…: a command, and each of its flags or arguments.
_pflow_command() {
    _pflow_first[$1]=${#_pflow_rows[@]}
    _pflow_count[$1]=$(($# - 2))
    _pflow_about[$1]=$2
    shift 2
    _pflow_rows+=("$@")
}

# Where bash begins: fills COMPREPLY. Names are looked for and compared without a user's own options, which stay; the
# others are never changed, for a Ctrl-C would leave them so: a pattern that nothing matches may stand for itself.
_pflow() {
    local IFS=$' \t\n' flags=$- option options=()
    COMPREPLY=()
    for option in failglob nocaseglob nocasematch dotglob; do
        ! shopt -q "$option" || options+=("$option")
    done
    set +fe
    ((${#options[@]} == 0)) || shopt -u "${options[@]}"
    _pflow_run "${1##*/}"
    ((${#options[@]} == 0)) || shopt -s "${options[@]}"
    [[ $flags != *f* ]] || set -f
    [[ $flags != *e* ]] || set -e
    return 0
}

# Complete a command.
_pflow_run() {
    # What was typed: the words before, and the last one as typed (raw), as the shell takes it (word), its open quote,
    # and how much of it stands before what readline replaces (skip).
    local words=() word='' raw='' quote='' skip=0 is_redirected=''
    # Pipe syntax inside quotes: the quotes around it.
    local around='' is_pipe=''
    # The command: its rows, flags by name, those given; the row of the flag whose value the word is.
    local rows=() arguments=() wants='' bare=() is_ended=''
    local -A flags=() given=()
    # What may stand here, what is said of it; both begin as `typed`, which is the word without `base`.
    local typed='' base='' offered=() about=()
    # Whether names to be offered all begin so: then none is compared.
    local all_fit=''
    _pflow_split "${COMP_LINE:0:COMP_POINT}" $' \t\n\\\'"<>;|&'
    _pflow_find_command "$1" || return 0
    if [[ $is_redirected ]]; then
        compopt -o default 2>/dev/null
    else
        if [[ $1 == pflow ]]; then _pflow_driver; else _pflow_stage 1 "$1"; fi
        _pflow_answer
    fi
}

# `pflow …`: a command, a node, a tool, a saved flow, or steps.
_pflow_driver() {
    local first=${words[1]-} i before
    for ((i = ${#words[@]} - 1; i > 0; i--)); do
        [[ ${words[i]} != @(::|=>|>>|\||;|=?*=>) ]] || break
    done
    if ((i > 0)); then
        _pflow_is_flow_command "$first" || first=run
        _pflow_step $((i + 1)) "pflow $first"
    elif [[ -z $first && $quote ]]; then
        _pflow_pipe
    elif [[ -z $first ]]; then
        _pflow_stage 1 pflow
    elif [[ ${_pflow_first["pflow $first"]-} ]]; then
        _pflow_of_driver "$first"
    elif _pflow_load "pflow-$first"; then
        _pflow_stage 2 "pflow-$first"
    elif _pflow_is_saved "$first" || [[ $first == *[[:space:]]*@(=>|::|\|)* ]]; then
        _pflow_stage 2 'pflow run'
    elif [[ $first == *[[:space:]]* ]]; then
        _pflow_stage 2 'pflow SENTENCE'
    fi
}

# Whether a command takes a flow; how many other words come first: `before`.
_pflow_is_flow_command() {
    local i=${_pflow_first["pflow $1"]-} end
    before=0
    [[ $i ]] || return 1
    end=$((i + ${_pflow_count["pflow $1"]}))
    for ((; i < end; i += 5)); do
        [[ ${_pflow_rows[i]} == argument ]] || continue
        [[ ${_pflow_rows[i + 2]} != flow ]] || return 0
        before=$((before + 1))
    done
    return 1
}

# `pflow COMMAND …`; the words after `run` may be a flow's first step.
_pflow_of_driver() {
    local before
    _pflow_collect "pflow $1"
    _pflow_walk 2
    if ! _pflow_is_flow_command "$1"; then
        _pflow_complete
    elif [[ $quote && -z $wants && $word != -* ]] && ((${#bare[@]} >= before)); then
        _pflow_pipe
    elif ((${#bare[@]} > before)) && _pflow_load "pflow-${bare[before]%%:*}"; then
        local i=2
        while [[ ${words[i]} != "${bare[before]}" ]]; do i=$((i + 1)); done
        rows=() arguments=() flags=() given=() bare=() wants=''
        _pflow_step "$i" "pflow $1"
    else
        _pflow_complete
    fi
}

# Pipe syntax in a quote that is open: `word` is the text of all steps.
_pflow_pipe() {
    local i
    around=$quote is_pipe=1
    local outer=$raw cut=$skip
    _pflow_split "$word" $' \t\n\\\'";|'
    raw=$outer skip=$cut
    for ((i = ${#words[@]} - 1; i >= 0; i--)); do
        [[ ${words[i]} != @(::|=>|>>|\||;|=?*=>) ]] || break
    done
    _pflow_step $((i + 1))
}

# A step from its name on, words[$1]; flags of the command $2 may stand there too.
_pflow_step() {
    local type=${words[$1]-}
    if [[ $type ]]; then
        type=${type#pflow-}
        _pflow_stage $(($1 + 1)) "pflow-${type%%:*}" ${2+"$2"}
        return
    fi
    typed=$word
    [[ $word == */* ]] && _pflow_files '' && return
    _pflow_nodes
    [[ $word != pflow-* ]] || _pflow_nodes pflow-
    _pflow_flows
}

# What may follow words that are flags and arguments of these commands, from words[$1] on.
_pflow_stage() {
    _pflow_collect "${@:2}"
    _pflow_walk "$1"
    _pflow_complete
}

# The rows of some commands, the arguments of the first; where two have one flag, the first one's counts.
_pflow_collect() {
    local command i end name is_new
    for command; do
        _pflow_load "$command" || continue
        i=${_pflow_first[$command]} end=$((${_pflow_first[$command]} + ${_pflow_count[$command]}))
        for ((; i < end; i += 5)); do
            if [[ ${_pflow_rows[i]} == argument ]]; then
                [[ $command != "$1" ]] || arguments+=("$i")
                continue
            fi
            is_new=''
            for name in ${_pflow_rows[i + 1]}; do
                if [[ -z ${flags[$name]-} ]]; then flags[$name]=$i is_new=1; fi
            done
            [[ -z $is_new ]] || rows+=("$i")
        done
    done
}

# A command's table; in a node's name - and _ are one.
_pflow_load() {
    local name=${1#pflow-}
    [[ -z ${_pflow_first[$1]-} ]] || return 0
    [[ $1 == pflow-?* && $1 != *[!a-zA-Z0-9._-]* ]] || return 1
    for name in "$1" "pflow-${name//_/-}" "pflow-${name//-/_}"; do
        [[ ${_pflow_first[$name]-} ]] || _pflow_load_file "$name" || continue
        _pflow_first[$1]=${_pflow_first[$name]} _pflow_count[$1]=${_pflow_count[$name]}
        return 0
    done
    return 1
}

# A node's table is in a file of its own, beside this one or where bash-completion looks.
_pflow_load_file() {
    local share=${XDG_DATA_HOME:-${HOME-}/.local/share} path dirs="${XDG_DATA_DIRS:-/usr/local/share:/usr/share}:"
    local places=("$_pflow_home" "${BASH_COMPLETION_USER_DIR:-$share/bash-completion}/completions")
    while [[ $dirs ]]; do
        places+=("${dirs%%:*}/bash-completion/completions")
        dirs=${dirs#*:}
    done
    for path in "${places[@]}"; do
        [[ $path == /* && -f $path/$1 && -r $path/$1 ]] || continue
        # shellcheck disable=SC1090 # the file of a node, known when it is typed
        . "$path/$1" &>/dev/null
        [[ -z ${_pflow_first[$1]-} ]] || return 0
    done
    return 1
}

# The words before the last one: the flags that are given, the words that are none.
_pflow_walk() {
    local i word name
    for ((i = $1; i < ${#words[@]}; i++)); do
        word=${words[i]}
        if [[ $wants ]]; then wants='' && continue; fi
        if [[ $is_ended ]]; then bare+=("$word") && continue; fi
        case $word in
            --) is_ended=1 ;;
            --*=*) _pflow_give "${word%%=*}" ;;
            --* | -[!-]) _pflow_give "$word" && wants=${flags[$name]} ;;
            -?*) for ((name = 1; name < ${#word}; name++)); do _pflow_give "-${word:name:1}"; done ;;
            *) bare+=("$word") ;;
        esac
        [[ $wants && ${_pflow_rows[wants + 2]} ]] || wants=''
    done
    for ((i = ${COMP_CWORD:-0} + 1; i < ${#COMP_WORDS[@]}; i++)); do
        [[ ${COMP_WORDS[i]} != :: ]] || break
        [[ ${COMP_WORDS[i]} != --?* ]] || _pflow_give "${COMP_WORDS[i]}"
    done
}

# A flag that is given, by its name; --no-x gives --x. Fails for one that nobody knows.
_pflow_give() {
    name=${1//_/-}
    [[ ${flags[$name]-} || $name != --no-* ]] || name=--${name#--no-}
    [[ ${flags[$name]-} ]] || return 1
    given[${flags[$name]}]=1
}
