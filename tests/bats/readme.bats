# What README shows of a terminal: what is typed there prints what stands there.

# shellcheck disable=SC2016,SC2154 # a shell of its own reads them; helper.bash's tmux

setup() {
    load helper
    export LC_ALL=C.UTF-8 INPUTRC=/dev/null
    root=$(realpath "$BATS_TEST_DIRNAME/../..")
    cp -r "$root/examples" .
    quick_llm && export PFLOW_MODEL=bakery # the small model's answer
    awk '/^```console$/ { block++; shown = 1; next } /^```$/ { shown = 0 } shown { print > ("block-" block) }' "$root/README.md"
}

# Whether the screen is the block of README: ... stands for anything, and a time for any time.
is_shown() {
    screen | PYTHONPATH=$root "$PYTHON" -c '
import re, sys
from tests.help.source import fits
times = lambda text: re.sub(r"[\d.]+ (ms|s)\b", "0 s", text)
block = open(sys.argv[1]).read().replace("<TAB>", "")
sys.exit(not fits(times(block) + "...", times(sys.stdin.read())))' "$1"
}

@test "what is typed at a terminal prints what README shows" {
    for block in block-*; do
        in_terminal bash --norc --noprofile -i
        type_line "PS1='\$ '; source '$root/completions/bash/pflow-write-file'; clear; echo rea''dy"
        shows ready
        type_line clear
        until_true eval '! screen | grep -q ready'
        while IFS= read -r line; do
            case $line in
                '$ '*'<TAB>') line=${line#??} && "${tmux[@]}" send-keys -l "${line%<TAB>}" \; send-keys Tab Tab ;;
                '$ '*) type_line "${line#??}" && until_true eval "screen | tail -n 1 | grep -qx '\\$'" ;;
            esac
        done <"$block"
        until_true is_shown "$block" || { screen && return 1; }
        "${tmux[@]}" kill-server
    done
    [ -e block-4 ]
}
