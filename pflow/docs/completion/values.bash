
# What the last word may become: flags, choices, files, models, nodes, flows, runs. A part of engine.bash.

# What the last word may become.
_pflow_complete() {
    local name
    if [[ $wants ]]; then
        _pflow_values "$wants"
    elif [[ -z $is_ended && $word == --*=* ]]; then
        name=${word%%=*}
        name=${name//_/-}
        base=${word%%=*}=
        [[ -z ${flags[$name]-} ]] || _pflow_values "${flags[$name]}"
    elif [[ -z $is_ended && $word == -* ]]; then
        _pflow_flags
    elif ((${#arguments[@]})); then
        _pflow_argument
    fi
}

# The argument that comes next; the last one may repeat.
_pflow_argument() {
    local row=${arguments[${#arguments[@]} - 1]}
    if ((${#bare[@]} < ${#arguments[@]})); then
        row=${arguments[${#bare[@]}]}
    elif [[ -z ${_pflow_rows[row + 3]} ]]; then
        return
    fi
    _pflow_values "$row"
}

# The flags, in their order, and the --no- of those that have one.
_pflow_flags() {
    local row name long names=() texts=() text
    typed=${word//_/-}
    for row in ${rows[@]+"${rows[@]}"}; do
        [[ -z ${given[$row]-} || ${_pflow_rows[row + 3]} == + ]] || continue
        text=${_pflow_rows[row + 4]} long=''
        [[ ${_pflow_rows[row]} == options ]] || text="(${_pflow_rows[row]}) $text"
        for name in ${_pflow_rows[row + 1]}; do
            if [[ $long || $name != "$typed"* ]]; then continue; fi
            if [[ $name == --* ]]; then
                long=$name
                [[ -z ${_pflow_rows[row + 2]} ]] || name+='='
            fi
            names+=("$name") texts+=("$text")
        done
        if [[ ${_pflow_rows[row + 3]} == no ]]; then
            name=${_pflow_rows[row + 1]%% *}
            names+=("--no-${name#--}") texts+=("$text")
        fi
    done
    _pflow_offer
}

# The values of a flag or an argument, as its row says.
_pflow_values() {
    local kind=${_pflow_rows[$1 + 2]}
    typed=${word#"$base"}
    case $kind in
        choice\ *) _pflow_choices "${kind#choice }" ;;
        directory\ *)
            _pflow_choices "${kind#directory }"
            _pflow_files directory
            ;;
        file | directory) _pflow_files "$kind" ;;
        model) _pflow_models ;;
        node) _pflow_nodes && _pflow_flows ;;
        saved) _pflow_flows ;;
        run) _pflow_runs ;;
        flow) _pflow_flows && _pflow_nodes && _pflow_files flow ;;
        word) _pflow_words ;;
        *) [[ $is_pipe || $raw != *[\$\`]* ]] || compopt -o bashdefault -o default 2>/dev/null ;;
    esac
}

_pflow_choices() {
    local rest="$1 " names=() texts=()
    while [[ $rest ]]; do
        names+=("${rest%% *}")
        rest=${rest#* }
    done
    _pflow_offer
}

# What `pflow` may be followed by.
_pflow_words() {
    local name names=("${_pflow_commands[@]}") texts=()
    for name in "${names[@]}"; do texts+=("(command) ${_pflow_about["pflow $name"]}"); done
    _pflow_offer
    _pflow_nodes '' '(node) '
    names=("${_pflow_tools[@]}") texts=()
    for name in "${names[@]}"; do texts+=("(tool) ${_pflow_about["pflow-$name"]}"); done
    _pflow_offer
    _pflow_flows '(flow) '
}

# A list that normal runs keep, of lines VALUE<TAB>DESCRIPTION: `lines`.
_pflow_read() {
    local file=${XDG_CACHE_HOME:-${HOME-}/.cache}/pflow/completion/$1
    [[ $file == /* && -f $file && -r $file ]] || return 0
    mapfile -t lines <"$file"
}

_pflow_models() {
    local lines=() names texts
    _pflow_read models
    names=(${lines[@]+"${lines[@]%%$'\t'*}"})
    texts=(${lines[@]+"${lines[@]#*$'\t'}"})
    _pflow_offer
}

# Offer names, with what the list $1 says of each, after $2; where nothing is shown of that, not.
_pflow_offer_of() {
    local lines=() texts=() line name
    if ((${COMP_TYPE:-9} != 9 && ${#names[@]} <= _pflow_most)); then
        _pflow_read "$1"
        local -A said=()
        for line in ${lines[@]+"${lines[@]}"}; do
            said[.${line%%$'\t'*}]=${line#*$'\t'} # a dot: no subscript is empty, @ or *
        done
        for name in ${names[@]+"${names[@]}"}; do texts+=("${2-}${said[.$name]-}"); done
    fi
    _pflow_offer
}

# Nodes, each after $1: programs pflow-NAME on PATH, and a user's own files. None of them is run.
_pflow_nodes() {
    local at path paths name names=() news before rest=${PATH-}: begin=${typed#"${1-}"} all_fit=1 IFS='|'
    while [[ $rest ]]; do
        at=${rest%%:*} rest=${rest#*:}
        before=$at/pflow-
        paths=(${at:+"$before$begin"*})
        if ((${#paths[@]} > _pflow_most)); then
            news=("${paths[@]/#"$before"/}")
        else
            news=()
            for path in ${paths[@]+"${paths[@]}"}; do
                [[ -f $path && -x $path ]] && news+=("${path:${#before}}")
            done
        fi
        _pflow_add_nodes
    done
    rest=${PFLOW_NODES-}:${XDG_DATA_HOME:-${HOME-}/.local/share}/pflow/nodes:
    while [[ $rest ]]; do
        at=${rest%%:*} rest=${rest#*:} news=()
        for path in ${at:+"$at"/*.py} ${at:+"$at"/pflow-*}; do
            _pflow_own_node "${path##*/}" && [[ $name == "$begin"* ]] && news+=("$name")
        done
        _pflow_add_nodes
    done
    [[ -z ${1-} ]] || names=(${names[@]+"${names[@]/#/$1}"})
    _pflow_offer_of nodes "${2-}"
}

# Add `news` to `names`, but for what is no node's name or is there. A look at all mostly spares a look at each.
_pflow_add_nodes() {
    local name all
    ((${#news[@]})) || return 0
    all="|${news[*]}|"
    if [[ $all == *[!a-zA-Z0-9_\|-]* || $all == *\|\|* ]] || _pflow_has_known; then
        all="||${_pflow_tools[*]}|${names[*]-}|"
        for name in "${news[@]}"; do
            [[ $name == *[!a-zA-Z0-9_-]* || $all == *"|$name|"* ]] || names+=("$name")
        done
    else
        names+=("${news[@]}")
    fi
}

# Whether a tool is among the names in `all`, or may be a name that is there; of very many, one may come twice.
_pflow_has_known() {
    local tool
    for tool in "${_pflow_tools[@]}"; do
        [[ $all != *"|$tool|"* ]] || return 0
    done
    ((${#names[@]} && ${#news[@]} <= _pflow_most))
}

# Whether a file is a node of the user's own: NAME.py, or a program pflow-NAME: `name`.
_pflow_own_node() {
    case $1 in
        _* | *.interface) return 1 ;;
        *.py) name=${1%.py} && name=${name//_/-} ;;
        *) [[ -x $path ]] && name=${1#pflow-} || return 1 ;;
    esac
    [[ $name && -f $path ]]
}

# Saved flows.
_pflow_flows() {
    local path name names=()
    for path in "${XDG_DATA_HOME:-${HOME-}/.local/share}"/pflow/flows/*.pflow.json; do
        name=${path##*/}
        [[ ! -e $path || $name == *[[:cntrl:]]* ]] || names+=("${name%.pflow.json}")
    done
    _pflow_offer_of flows "${1-}"
}

_pflow_is_saved() { [[ $1 != */* && -f ${XDG_DATA_HOME:-${HOME-}/.local/share}/pflow/flows/$1.pflow.json ]]; }

# Runs, newest first: their names begin with their time. As many as readline shows without a question.
_pflow_runs() {
    local paths i names=()
    local place=${XDG_STATE_HOME:-${HOME-}/.local/state}/pflow/runs/ name
    paths=("$place$typed"*/)
    for ((i = ${#paths[@]} - 1; i >= 0 && ${#names[@]} < 99; i--)); do
        name=${paths[i]:${#place}:26}
        [[ ${paths[i]} != "$place$name/" || ${#name} != 26 || $name == *[!0-9A-Z]* ]] || names+=("$name")
    done
    _pflow_offer_of runs
}

# Files: bash's own completion where readline's word is the path; else, as in pipe syntax, found here.
_pflow_files() {
    local begin=${typed##*/} name path names=() texts=()
    if [[ -z $is_pipe && ($1 != flow || $word == [~./]* || $word == */*) ]] && _pflow_is_whole; then
        if [[ $1 == directory ]]; then compopt -o dirnames 2>/dev/null; else compopt -o default 2>/dev/null; fi
        return 0
    fi
    path=$typed
    # shellcheck disable=SC2088 # as it was typed
    [[ $typed != '~/'* || $quote || $is_pipe ]] || path=${HOME-}${typed#'~'}
    for path in "$path"*; do
        name=${path##*/}
        if [[ ! -e $path && ! -L $path ]]; then
            continue
        elif [[ -d $path ]]; then
            name+=/
        elif [[ $1 == directory || ($1 == flow && $name != *.json) ]]; then
            continue
        fi
        [[ $name == *[[:cntrl:]]* || ($name == .* && $begin != .*) ]] || names+=("${typed%"$begin"}$name")
    done
    _pflow_offer
}

# Whether readline's word begins where the value does.
_pflow_is_whole() {
    local start=${#base}
    [[ -z $base || $raw == "$base"* ]] || return 1
    [[ $skip == "$start" || ($skip == $((start + 1)) && ${raw:start:1} == [\'\"]) ]]
}
