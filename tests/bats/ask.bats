#!/usr/bin/env bats
# ask: a person at the terminal answers, whatever stdin and stdout are; elsewhere the default does.
# shellcheck disable=SC2016,SC2154

load helper

@test "a line answers, or the beginning of a choice, or the default; the pipe stays what it is" {
    in_terminal bash --norc -i
    type_line 'echo x | pflow-ask "Is it
\"\$stdin\"?" --choice=yes --choice=no --default=no | pflow-get answer stdin >got; echo "<$?>"'
    shows '"x'
    shows '"? [yes, no] (no)'
    type_line maybe
    until_true eval '[ "$(screen | grep -c "^>")" -ge 4 ]' # it asks again
    type_line y
    shows '<0>'
    [ "$(cat got)" = $'yes\nx' ]
    type_line 'clear; pflow-ask "What now?" --default=rest -r | tr a-z A-Z'
    shows 'What now? (rest)'
    type_line ''
    shows 'REST'
}

@test "in a batch one is asked after another, and ^D is no answer" {
    in_terminal bash --norc -i
    type_line "printf 'a\\nb\\n' | pflow 'ask \"Take \$item?\" --each --jobs=2' -r >got; echo \"<\$?>\""
    until_true eval '[ "$(screen | grep -c "^Take .?")" = 1 ]'
    type_line one
    until_true eval '[ "$(screen | grep -c "^Take .?")" = 2 ]'
    type_line one
    shows '<0>'
    [ "$(cat got)" = '["one","one"]' ]
    type_line 'clear; pflow-ask "Go on?"; echo "<$?>"'
    shows 'Go on?'
    "${tmux[@]}" send-keys C-d
    shows '<66>'
    shows 'no answer came'
}

@test "a default that is no choice is refused, and the choices are named" {
    run --separate-stderr pflow-ask 'Sure?' --choice=yes --choice=no --default=maybe -r -n
    expect 2 '' "cannot use 'maybe' as the default: it is not one of the choices; --default takes one of yes, no"
}
