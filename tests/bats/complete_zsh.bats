#!/usr/bin/env bats
# What zsh completes, in a terminal: flags in their groups, values, names and pipe syntax (completions/zsh).
# shellcheck disable=SC2016,SC2034,SC2154

load helper

setup() {
    COMPLETIONS=$(realpath "$BATS_TEST_DIRNAME/../../completions/zsh")
    export XDG_CACHE_HOME=$HOME/cache XDG_DATA_HOME=$HOME/data XDG_STATE_HOME=$HOME/state
    tracer=()
    mkdir -p functions cache/pflow/completion data/pflow/{flows,nodes} state/pflow/runs bin docs
    touch docs/'my file.txt' docs/"it's.txt"
}

# An interactive zsh with completion and the settings given, and HOME/bin as its PATH.
in_zsh() {
    need zsh
    {
        printf 'path=(~/bin) fpath=(~/functions %q $fpath)\nautoload -U compinit\ncompinit -u -D\n' "$COMPLETIONS"
        printf '%s\n' "$@" 'print ready'
    } >.zshrc
    in_terminal ZDOTDIR="$HOME" "${tracer[@]}" "$(command -v zsh)" -d -i
    becomes $'ready\n>'
}

# Type a line, and TAB after it, on a screen with nothing else.
tab() {
    "${tmux[@]}" send-keys C-u C-l
    becomes '>'
    "${tmux[@]}" send-keys -l "$1" \; send-keys Tab
    [ $# -eq 1 ] || "${tmux[@]}" send-keys -l "$2"
}

# Run a line in place of what is typed.
set_up() {
    "${tmux[@]}" send-keys C-u C-l
    type_line "$1"
}

# Wait until this is all that the screen has.
becomes() { until_true is_screen "$1" || { screen && return 1; }; }

is_screen() { [ "$(screen)" = "$1" ]; }

# The completion of pflow-odd, whose descriptions mean something to a shell.
odd_node() {
    "$PYTHON" - functions "$odd_text" <<'PY'
import os, sys
from pflow.docs.completion.zsh import files
from pflow.help.usage import COMMON, DATA, DIRECTORY, FILE, MODEL, PARAMS, Flag, Usage

usage = Usage("pflow-odd", "be odd")
usage.is_node = True
usage.flags = [
    Flag(("--one",), sys.argv[2], group=DATA, metavar="TEXT"),
    Flag(("--two", "--dos"), "the same words", group=DATA, metavar="PATH", values=FILE),
    Flag(("--three",), "the same words", group=PARAMS, metavar="PATH", values=DIRECTORY),
    Flag(("--four",), "the same words", group=PARAMS),
    Flag(("--kind",), "which [a, b]", group=PARAMS, metavar="K", choices=("a", "b c", "$d", "e'f")),
    Flag(("--list",), "any: of them", group=PARAMS, metavar="ITEM", repeats=True),
    Flag(("--max-tokens",), "how many", group=PARAMS, metavar="N"),
    Flag(("--model",), "which", group=PARAMS, metavar="M", values=MODEL),
    Flag(("-q", "--quiet"), "print nothing", group=COMMON),
]
for name, text in files([usage]).items():
    with open(os.path.join(sys.argv[1], name), "w") as file:
        file.write(text)
PY
}

program() { printf '#!/bin/sh\ntouch "%s/ran"\n' "$HOME" >"bin/$1" && chmod +x "bin/$1"; }

odd_text='it'\''s "q" [b] a:b $HOME `touch ran` $(touch ran) \n \ %B100%% {x} * ~ !!'
odd_flags='Data (into the store)
--one        -- '"$odd_text"'
--two        -- the same words
--dos        -- the same words
Params (how it works)
--three      -- the same words
--four       -- the same words
--no-four    -- not: the same words
--kind       -- which [a, b]
--list       -- any: of them
--max-tokens -- how many
--model      -- which
Common
--quiet      -- print nothing'

@test "a node's flags are listed in their groups, data first, with their descriptions" {
    in_zsh
    tab 'pflow-llm --'
    shows '--version'
    screen | grep -v '^--' >headings
    run cat headings
    expect 0 $'> pflow-llm --\nData (into the store)\nParams (how it works)\nCommon'
    screen | grep -A1 '^Data' | grep -qx -e '--prompt      -- what to ask'
    tab 'pflow-llm --t'
    shows '--timeout'
    [[ $(screen) == *'Data'*--text*'Params'*--temperature*'Common'*--timeout* ]]
}

@test "a description is shown as it is, and flags with the same one are not merged" {
    odd_node
    in_zsh
    tab 'pflow-odd --'
    becomes "> pflow-odd --"$'\n'"$odd_flags"
    [ ! -e ran ]
}

@test "headings have the user's format, groups the user's names, and tag-order picks among them" {
    odd_node
    in_zsh "zstyle ':completion:*' format '<%d>'" "zstyle ':completion:*' group-name ''"
    tab 'pflow-odd --t'
    becomes '> pflow-odd --t
<Data (into the store)>
--two        -- the same words
<Params (how it works)>
--three      -- the same words'
    tab 'pflow-odd --one='
    becomes "> pflow-odd --one="$'\n'"<$odd_text>"
    set_up "zstyle ':completion:*:pflow-odd:*' tag-order params -"
    tab 'pflow-odd --t' ree
    becomes '> pflow-odd --three=ree'
}

@test "a flag is completed with an =, which a blank takes away, and is offered once" {
    odd_node
    in_zsh
    tab 'pflow-llm --mod'
    becomes '> pflow-llm --model='
    tab 'pflow-llm --mod' ' x'
    becomes '> pflow-llm --model x'
    tab 'pflow-llm --dr' x
    becomes '> pflow-llm --dry-run x'
    tab 'pflow-odd --max_' 9
    becomes '> pflow-odd --max-tokens=9'
    tab 'pflow-odd --no' x
    becomes '> pflow-odd --no-four x'
    tab 'pflow-odd --dos=x --no-four --list=a --list b --max_tokens=1 --kind a --model m -q --'
    becomes '> pflow-odd --dos=x --no-four --list=a --list b --max_tokens=1 --kind a --model m -q --
Data (into the store)
--one   -- '"$odd_text"'
Params (how it works)
--three -- the same words
--list  -- any: of them'
    tab 'pflow-odd -'
    shows '-q           -- print nothing'
    set_up 'setopt completeinword'
    for line in 'pflow-odd' "pflow 'odd"; do
        tab "$line --ki=b"$'\cB\cB'
        becomes "> $line --kind=b"
    done
}

@test "values: choices, paths, models" {
    odd_node
    printf '%s\t%s\n' "gpt:4 \$x'y" 'it'\''s "q" [b] a:b $x `touch ran` \n %B' plain '' >cache/pflow/completion/models
    in_zsh
    for line in 'pflow-odd --model=' 'pflow-odd --model '; do
        tab "$line"
        becomes "> ${line% }"$'\ngpt:4 $x\'y -- it\'s "q" [b] a:b $x `touch ran` \\n %B\nplain'
    done
    tab 'pflow-odd --model=g' x
    becomes "> pflow-odd --model=gpt:4\\ \\\$x\\'y x"
    tab 'pflow-odd --kind b' x
    becomes '> pflow-odd --kind b\ c x'
    tab 'pflow-odd --four=t' x
    becomes '> pflow-odd --four=true x'
    tab 'pflow-odd --two=docs/m' x
    becomes '> pflow-odd --two=docs/my\ file.txt x'
    tab 'pflow-odd --two="docs/m' x
    becomes '> pflow-odd --two=docs/my\ file.txt x'
    tab "pflow-odd --dos 'docs/m" x
    becomes "> pflow-odd --dos 'docs/my file.txt' x"
    tab 'pflow-odd --three=do' x
    becomes '> pflow-odd --three=docs/x'
    tab 'pflow-write-file --path=docs/i' x
    becomes "> pflow-write-file --path=docs/it\\'s.txt x"
    tab 'pflow-llm --from=s' x
    becomes '> pflow-llm --from=store x'
}

@test "pflow is followed by commands, nodes, tools and saved flows" {
    odd_node
    touch data/pflow/flows/fix-issue.pflow.json data/pflow/nodes/{my_own,_none,pflow-none}.py
    printf 'odd\tOdd: `it` is [so]\n' >cache/pflow/completion/nodes
    for name in pflow-odd 'pflow-$(touch ran)' 'pflow-a b' pflow-odd.interface pflow-none.sh pflow-get; do program "$name"; done
    PFLOW_NODES=$HOME/nodes in_zsh
    tab 'pflow '
    shows 'Saved flows'
    until_true eval 'screen | grep -qx fix-issue'
    run eval 'screen | sed -n "/^Nodes/,/^Tools/p; /^get/p; /^Saved/,\$p; /^Commands/p"'
    [[ $output == $'Commands\nNodes\nmy-own\nodd       -- Odd: `it` is [so]\nTools\nget '*$'\nSaved flows\nfix-issue' ]]
    tab 'pflow ru'
    becomes '> pflow run'
    tab 'pflow nodes od' x
    becomes '> pflow nodes odd x'
    tab 'pflow trace --st' x
    becomes '> pflow trace --store x'
    tab 'pflow odd --ki' b
    becomes '> pflow odd --kind=b'
    tab 'pflow fix-issue --jo' 2
    becomes '> pflow fix-issue --jobs=2'
    tab 'pflow get --nu' x
    becomes '> pflow get --null x'
    tab 'pflow my-own --' x
    becomes '> pflow my-own --x'
    program pflow-its_own
    set_up rehash
    for listed in '' $'gone\tno more\n'; do
        printf 'its_own\tIts\nmy-own\tMine\n%sodd\tOdd\n' "$listed" >cache/pflow/completion/nodes
        tab 'pflow nodes '
        becomes $'> pflow nodes\nNodes\nits_own   -- Its\nmy-own    -- Mine\nodd       -- Odd\nSaved flows\nfix-issue'
    done
    [ ! -e ran ]
}

@test "what plans and keeps flows: models, saved flows, what may be allowed" {
    odd_node
    program pflow-odd
    touch data/pflow/flows/fix-issue.pflow.json fix.txt
    printf 'a-model\t\n' >cache/pflow/completion/models
    in_zsh
    tab 'pflow plan --model=' x
    becomes '> pflow plan --model=a-model x'
    tab 'pflow plan --edit fix-' x
    becomes '> pflow plan --edit fix-issue x'
    tab "pflow plan 'odd --ki" b
    becomes "> pflow plan 'odd --kind=b"
    tab 'pflow show ' x
    becomes '> pflow show fix-issue x'
    tab 'pflow remove a fi' x
    becomes '> pflow remove a fix-issue x'
    tab 'pflow mcp ' x
    becomes '> pflow mcp serve x'
    tab 'pflow mcp serve fi' x
    becomes '> pflow mcp serve fix-issue x'
    tab 'pflow save name odd --ki' b
    becomes '> pflow save name odd --kind=b'
    tab "pflow save name 'odd --ki" b
    becomes "> pflow save name 'odd --kind=b"
    tab "pflow 'say it' --allow=c" x
    becomes "> pflow 'say it' --allow=commands x"
    tab "pflow 'say it' --allow do" x
    becomes "> pflow 'say it' --allow docs/x"
    tab "pflow 'say it' --show" x
    becomes "> pflow 'say it' --show-store x"
    tab "pflow 'odd => odd' --show" x
    becomes "> pflow 'odd => odd' --show-store x"
    tab "pflow 'odd => odd' --fre" x
    becomes "> pflow 'odd => odd' --frex"
}

@test "runs are offered newest first, however groups are named" {
    mkdir state/pflow/runs/{01JDAAAAAAAAAAAAAAAAAAAAA1,01JDAAAAAAAAAAAAAAAAAAAAA2,.hidden,other}
    printf '01JDAAAAAAAAAAAAAAAAAAAAA1\told: 2 days\n' >cache/pflow/completion/runs
    in_zsh
    for style in format group-name; do
        tab 'pflow trace '
        becomes '> pflow trace 01JDAAAAAAAAAAAAAAAAAAAAA
01JDAAAAAAAAAAAAAAAAAAAAA2
01JDAAAAAAAAAAAAAAAAAAAAA1 -- old: 2 days'
        set_up "zstyle ':completion:*' $style ''"
    done
}

@test "steps as words: a node's name after a separator, then its flags and values" {
    odd_node
    program pflow-odd
    in_zsh
    for sign in :: "'=>'" '">>"' '\|' '=failed=\>' '\;'; do
        tab "pflow run read-file --path=a $sign od" x
        becomes "> pflow run read-file --path=a $sign odd x"
        tab "pflow read-file $sign odd:draft --four --ki" b
        becomes "> pflow read-file $sign odd:draft --four --kind=b"
    done
    tab 'pflow run odd --kind=b' x
    becomes '> pflow run odd --kind=b\ c x'
    tab 'pflow run odd --jo' 2
    becomes '> pflow run odd --jobs=2'
    tab 'pflow odd --four :: none --' x
    becomes '> pflow odd --four :: none --x'
}

@test "- and _ are one in a node's name" {
    mkdir -p data/pflow/nodes
    printf '#!/bin/sh\n# Interface:\n# - Params: the_size: int = 1  # how big\n' >data/pflow/nodes/pflow-its_own
    chmod +x data/pflow/nodes/pflow-its_own
    pflow setup --prefix prefix >/dev/null
    COMPLETIONS=$PWD/prefix/share/zsh/site-functions
    in_zsh
    for line in 'its_own' 'its-own' 'read_file :: its-own:x'; do
        tab "pflow $line --the" 2
        becomes "> pflow $line --the-size=2"
    done
    tab 'pflow read_file --pa' x
    becomes '> pflow read_file --path=x'
}

@test "steps in one quoted word: names, flags, and values quoted for both" {
    odd_node
    program pflow-odd
    in_zsh
    for sign in '=>' '>>' '|' ';' '=failed=>'; do
        tab "pflow 'read-file --path=x $sign od" x
        becomes "> pflow 'read-file --path=x $sign odd x"
        tab "pflow run \"read-file --path=\\\$x $sign odd:d --four --ki" b
        becomes "> pflow run \"read-file --path=\\\$x $sign odd:d --four --kind=b"
    done
    tab "pflow 'od" x
    becomes "> pflow 'odd x"
    tab "pflow check 'odd --kind=b" x
    becomes "> pflow check 'odd --kind=b\\ c x"
    tab "pflow 'odd --kind e" x
    becomes "> pflow 'odd --kind e\\'\\''f x"
    tab 'pflow "odd --kind=\$' x
    becomes '> pflow "odd --kind=\\\$d x'
    tab "pflow 'odd --two=docs/m" x
    becomes "> pflow 'odd --two=docs/my\\ file.txtx"
    tab "pflow 'odd --two=\"docs/m" x
    becomes "> pflow 'odd --two=docs/my\\ file.txtx"
    tab "pflow 'odd --one=\"a => b\" --three=do" x
    becomes "> pflow 'odd --one=\"a => b\" --three=docs/x"
    tab "pflow run 'odd => odd' --js" x
    becomes "> pflow run 'odd => odd' --json x"
    tab "pflow 'read it, sum => none --" x
    becomes "> pflow 'read it, sum => none --x"
}

@test "it completes alike whatever options and variables a user may have set" {
    odd_node
    program pflow-odd
    in_zsh 'setopt ksharrays shwordsplit nullglob noglob kshglob shglob globsubst rcquotes cshjunkiequotes nounset' \
        'setopt errreturn kshautoload posixidentifiers nofunctionargzero nomultibyte warncreateglobal' \
        'for name in blank data ends flags given kind names others rows steps suffixes tags texts titles values; do' \
        '    typeset -g $name=7' 'done'
    tab 'pflow-odd --'
    becomes "> pflow-odd --"$'\n'"$odd_flags"
    tab "pflow 'read-file => odd --kind=b" x
    becomes "> pflow 'read-file => odd --kind=b\\ c x"
    tab 'pflow nodes od' x
    becomes '> pflow nodes odd x'
}

@test "without HOME, lists and programs it offers what it knows" {
    in_zsh 'unset HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME'
    tab 'pflow-llm --model=' x
    becomes '> pflow-llm --model=x'
    tab 'pflow tra' x
    becomes '> pflow trace x'
    tab 'pflow nodes ' x
    becomes '> pflow nodes --x'
}

@test "nothing is run on TAB: no Python, no node, no other program" {
    need strace
    odd_node
    for name in pflow-odd python python3 pflow; do program "$name"; done
    printf 'm\td\n' >cache/pflow/completion/models
    tracer=(strace -f --seccomp-bpf -o "$HOME/trace" -e trace=process)
    in_zsh
    sed -n '$=' trace >before
    tab 'pflow-llm --'
    shows '--version'
    tab 'pflow-llm --model=' x
    becomes '> pflow-llm --model=m x'
    tab 'pflow '
    shows Tools
    tab "pflow 'read-file => odd --ki" b
    becomes "> pflow 'read-file => odd --kind=b"
    tab 'pflow odd --two=docs/m' x
    becomes '> pflow odd --two=docs/my\ file.txt x'
    run sed -n "$(($(<before) + 1)),\$p" trace
    expect 0 ''
    [ ! -e ran ]
}
