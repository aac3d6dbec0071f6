
# What bash is told: of what may stand here, that which fits, to be inserted or listed. A part of engine.bash.

# Of `names`, each with its text if there are `texts`, those that begin as the word does and are new: `offered`, `about`.
_pflow_offer() {
    local i name all IFS=$'\n'
    ((${#names[@]})) || return 0
    [[ $all_fit || -z $typed ]] || _pflow_keep_fitting
    if [[ -z $typed && -z ${offered[*]-} ]] || ((${#names[@]} > _pflow_most)); then
        ((${#offered[@]})) || about=(${texts[@]+"${texts[@]}"})
        offered+=("${names[@]}")
        return
    fi
    all=$IFS${offered[*]-}$IFS
    for ((i = 0; i < ${#names[@]}; i++)); do
        name=${names[i]}
        [[ $name && $all != *"$IFS$name$IFS"* ]] || continue
        all+=$name$IFS
        about[${#offered[@]}]=${texts[i]-}
        offered+=("$name")
    done
}

# Of `names`, and of their `texts`, keep those that begin as the word does.
_pflow_keep_fitting() {
    local i=-1 name all=("${names[@]}") all_texts=(${texts[@]+"${texts[@]}"})
    names=() texts=()
    for name in "${all[@]}"; do
        i=$((i + 1))
        [[ $name == "$typed"* ]] || continue
        names+=("$name")
        [[ -z ${all_texts[i]-} ]] || texts[${#names[@]} - 1]=${all_texts[i]}
    done
}

# COMPREPLY, from what was offered: a listing where nothing but it is asked for, else words for readline's word.
_pflow_answer() {
    ((${#offered[@]})) || return 0
    compopt -o nosort 2>/dev/null
    case ${COMP_TYPE:-9} in
        63) _pflow_list ;;
        33 | 64)
            _pflow_insert
            ((${#offered[@]} == 1)) || { offered=("${COMPREPLY[@]}") && _pflow_list; }
            ;;
        *) _pflow_insert ;;
    esac
}

_pflow_insert() {
    local end=' ' quoted name IFS=/ begun=${raw:skip} at=${#typed}
    if [[ ${offered[*]} == *[!a-zA-Z0-9_./:@%+=-]* ]]; then
        for name in "${offered[@]}"; do
            _pflow_quote "${name:at}"
            COMPREPLY+=("$begun$quoted")
        done
    elif [[ $typed == "$begun" ]]; then
        COMPREPLY=("${offered[@]}")
    else
        for name in "${offered[@]}"; do COMPREPLY+=("$begun${name:at}"); done
    fi
    ((${#offered[@]} == 1)) || return 0
    [[ ${offered[0]} != *[=/] ]] || end=''
    if [[ $is_pipe ]]; then
        # Of two, readline takes what they share, and leaves the quote around open; one inside it ends with its word.
        quoted=$quote
        _pflow_quote_in "$around"
        [[ -z $end ]] || end=$quoted$end
        COMPREPLY=("${COMPREPLY[0]}$end" "${COMPREPLY[0]}$end ")
    elif [[ -z $end ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

# A text as it must be typed here: in its quote, and in pipe syntax in the quotes around it.
_pflow_quote() {
    quoted=$1
    [[ $1 == *[!a-zA-Z0-9_./:@%+=-]* ]] || return 0
    _pflow_quote_in "$quote"
    [[ -z $around ]] || _pflow_quote_in "$around"
}

_pflow_quote_in() {
    local text=$quoted i
    case $1 in
        '') printf -v quoted %q "$text" ;;
        \') quoted=${text//\'/"'\\''"} ;;
        *)
            quoted=''
            for ((i = 0; i < ${#text}; i++)); do
                [[ ${text:i:1} != [\$\`\"\\] ]] || quoted+=\\
                quoted+=${text:i:1}
            done
            ;;
    esac
}

# A line each, with what is said of it, cut to the terminal; nothing said of any: as it is.
_pflow_list() {
    local i=0 width=0 columns=${COLUMNS:-80} line blanks more='?' IFS=''
    COMPREPLY=("${offered[@]}")
    if [[ -z ${about[*]-} ]] || ((${#offered[@]} > _pflow_most)); then return 0; fi
    if [[ $columns == *[!0-9]* ]] || ((columns < 20)); then columns=80; fi
    for line in "${offered[@]}"; do
        # shellcheck disable=SC2053 # a pattern: as long as the longest, and longer
        if [[ $line == $more* ]] && ((${#line} <= columns / 3)); then
            width=${#line}
            printf -v more '%*s' $((width + 1)) ''
            more=${more// /?}
        fi
    done
    printf -v blanks '%*s' "$width" ''
    for line in "${offered[@]}"; do
        line+="${blanks:${#line}}  ${about[i]-}"
        ((${#line} < columns)) || line=${line:0:columns - 2}…
        COMPREPLY[i++]=$line
    done
    # Half as wide as the terminal: then readline has one column.
    printf -v blanks '%*s' $((columns / 2)) ''
    line=${COMPREPLY[0]}
    ((${#line} >= columns / 2)) || COMPREPLY[0]=$line${blanks:${#line}}
}
