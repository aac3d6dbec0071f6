
# What was typed: words as the shell takes them, and where readline begins its word. A part of engine.bash.

# The words of a text, and its last word; `ends` are the signs that may end one, or quote.
_pflow_split() {
    local rest=$1 ends=$2 chunk sign size=${#1} begun='' start=0 at=0 cut=0 before=0
    words=() word='' quote='' is_redirected=''
    while [[ $rest ]]; do
        case $quote in
            '') chunk=${rest%%["$ends"]*} && _pflow_cut "$1" ;;
            \') chunk=${rest%%\'*} ;;
            *) chunk=${rest%%[\"\\]*} ;;
        esac
        word+=$chunk
        rest=${rest:${#chunk}}
        [[ -z $chunk ]] || begun=1
        [[ $rest ]] || break
        sign=${rest:0:1}
        rest=${rest:1}
        at=$((size - ${#rest}))
        case $quote$sign in
            \'\' | \"\") quote='' cut=$before ;;
            \' | \") quote=$sign begun=1 before=$cut cut=$at ;;
            \\ | \"\\) _pflow_escape ;;
            *) _pflow_end_word "$sign" ;;
        esac
    done
    raw=${1:start}
    skip=$((cut > start ? cut - start : 0))
}

# A sign of COMP_WORDBREAKS in a chunk without quotes: behind the last one, readline begins its word; @ and $ belong to it.
_pflow_cut() {
    local breaks=${COMP_WORDBREAKS-} i tail=$chunk
    for ((i = 0; i < ${#breaks}; i++)); do
        tail=${tail##*"${breaks:i:1}"}
    done
    [[ $tail != "$chunk" ]] || return 0
    cut=$((size - ${#rest} + ${#chunk} - ${#tail}))
    [[ ${1:cut - 1:1} != [@\$] ]] || cut=$((cut - 1))
}

_pflow_escape() {
    if [[ $quote && ${rest:0:1} != [\$\`\"\\] ]]; then word+=\\; fi
    word+=${rest:0:1}
    rest=${rest:1}
    begun=1
}

# A blank, a redirection, or a sign between two commands or steps.
_pflow_end_word() {
    local is_pipe_text=''
    [[ $ends == *'<'* ]] || is_pipe_text=1
    [[ $1 != [\<\>] || $word == *[!0-9]* ]] || begun=''
    if [[ $begun && -z $is_redirected ]]; then words+=("$word"); fi
    [[ -z $begun ]] || is_redirected=''
    word='' begun='' start=$at
    case $is_pipe_text$1 in
        ' ' | $'\t' | 1[\ $'\t']) ;;
        1*) words+=("${1/$'\n'/;}") ;;
        [\<\>] | '&')
            if [[ $1 == '&' && $rest != '>'* ]]; then words=() && return; fi
            rest=${rest#"${rest%%[!<>&|]*}"}
            start=$((size - ${#rest})) is_redirected=1
            ;;
        *) words=() ;;
    esac
}

# Drop what stands before the command: assignments, and what a shell lets stand there.
_pflow_find_command() {
    local i
    for ((i = 0; i < ${#words[@]}; i++)); do
        [[ ${words[i]##*/} == "$1" ]] || continue
        words=("${words[@]:i}")
        return
    done
    return 1
}
