# pflow nodes: every node there is, and what it declares.

setup() { load helper; }

@test "a node's file is a node wherever a flow may be named: run, map, check, a step, a saved flow, a script" {
    mkdir nodes && cat >nodes/pflow-hello <<'END'
#!/bin/sh
# Interface:
# - Reads: shared["text"]: str [pipe]  # whom
# - Writes: shared["hi"]: str [pipe]  # it
jq -c '.hi = "hi " + .text'
END
    chmod +x nodes/pflow-hello
    run --separate-stderr sh -c 'echo a | pflow run ./nodes/pflow-hello -r && echo b | pflow map ./nodes/pflow-hello -r
        pflow check ./nodes/pflow-hello && pflow run "./nodes/pflow-hello --text=c => template \"[\$hi]\"" -n -r
        pflow save greet ./nodes/pflow-hello >saved; cd /; pflow greet --text=d -n -r; cd - >/dev/null
        pflow export --to=sh "./nodes/pflow-hello --text=e" >x.sh && cd / && sh "$OLDPWD/x.sh" | pflow-get hi'
    expect 0 $'hi a\nhi b\n./nodes/pflow-hello: 1 step, pipe syntax: no findings\n[hi c]\nhi d\nhi e'
}

@test "the nodes of pflow are listed with what they touch" {
    in_shells 'PATH=$(dirname "$(command -v pflow)"):/usr/bin:/bin COLUMNS=100 pflow nodes | grep -e Nodes -e read-file -e shell | tr -s " "'
    expect 0 'Nodes that come with pflow
 read-file 1.0.0 reads files Read a file exactly.
 shell 1.0.0 runs commands Run a command with /bin/sh.'
}

@test "own nodes, programs on PATH and saved flows are listed, and none of them is run" {
    in_shells 'mkdir -p own bin data/pflow/flows
        printf "%s\n" "import pocketflow" "open(\"ran\", \"w\")" "class Mine(pocketflow.Node):" "    \"\"\"Mine.\"\"\"" >own/mine.py
        printf "%s\n" "#!/bin/sh" "# Theirs." "touch ran" >bin/pflow-theirs; chmod +x bin/pflow-theirs
        echo "{\"description\": \"Ours.\", \"nodes\": [{\"type\": \"theirs\"}]}" >data/pflow/flows/ours.pflow.json
        export PFLOW_NODES=$PWD/own PATH="$PWD/bin:$PATH" XDG_DATA_HOME=$PWD/data
        pflow nodes | grep -A 1 -e "^Your" -e "^Programs" -e "^Saved"
        pflow nodes mine theirs ours | grep "^From" | sed "s,/.*/,,"; ls'
    expect 0 'Your own, in Python
  mine  1.0.0  open  Mine.
--
Programs, your own and on PATH
  theirs  1.0.0  open  Theirs.
--
Saved flows
  flow:ours  open  Ours.
From     mine.py (python)
From     pflow-theirs (program)
From     ours.pflow.json (flow)
bin
data
own'
}

@test "a file that gives no node is broken, with the reason, unless a node beside it imports it" {
    in_shells 'mkdir own; export PFLOW_NODES=$PWD/own
        echo "class Mine: pass" | tee own/mine.py own/helper.py >own/other.py
        printf "%s\n" "import pocketflow, helper" "class A(pocketflow.Node): pass" | tee own/one.py >own/two.py
        echo "class B(A): pass" >>own/two.py; export LLM_USER_PATH=$PWD
        for twice in 1 2; do pflow nodes | sed -n "s, [^ ]*/own/, /,;/^Broken/,\$p"; done; pflow doctor | grep -c "^nodes *broken"
        pflow nodes two --json | grep -c "each be the node"; echo "x = 1" >own/none.py
        pflow nodes own/none.py --json | grep -o "none.py.: it has no class"; echo "{\"nodes\":[{\"type\":\"two\"}]}" | pflow check - | grep -o "PF09.*/" | sed "s,/.*,,"'
    broken="Broken
  mine  in /mine.py, Mine does not inherit from pocketflow.Node; class Mine(pocketflow.Node)
  other  in /other.py, Mine does not inherit from pocketflow.Node; class Mine(pocketflow.Node)
  two  in /two.py, 'A' and 'B' may each be the node; call one Two"
    expect 0 "$broken
$broken
3
1
none.py': it has no class
PF09: 'two' is not a node: in "
}

@test "--json has the documents that --describe gives" {
    need jq
    in_shells <<'E'
        pflow nodes --json write-file | jq -S '.[0] | del(.origin, .file)' >one
        pflow-write-file --describe | jq -S . >two
        cmp one two && pflow nodes --json | jq -r '.[] | select(.origin == "bundled") | .name' | grep -xE 'llm|read-file|shell'
E
    expect 0 $'llm\nread-file\nshell'
}

@test "a node that is not there is 127, with the nearest" {
    in_shells 'pflow nodes write-fil || echo $?'
    expect 0 127 'did you mean write-file'
}

@test "a search finds by all words, and is 1 where nothing is found" {
    in_shells 'pflow nodes --search "WRITE whole" | tr -s " " | head -n 2; pflow nodes --search=no-such-word || echo $?; pflow nodes --search write zzz || echo $?'
    expect 0 'Found, best first
 write-file 1.0.0 writes files Write a file, whole or not at all.
1
1' "cannot find a node about 'write zzz'"
}

@test "wrong flags are 2, and a closed stdout is 141" {
    in_shells 'pflow nodes --jsn; echo $?; pflow nodes --color=red; echo $?; pflow nodes --search; echo $?'
    expect 0 $'2\n2\n2' 'did you mean --json?'
    SHELLS=bash in_shells 'pflow nodes --json | true; echo "${PIPESTATUS[0]}" | grep -x -e 0 -e 141 >/dev/null; pflow nodes >&-; echo $?'
    expect 0 73 'it is closed'
}

@test "what a terminal would obey in a stranger's file reaches none: in help, lists, pages, completions and exports" {
    need script
    mkdir -p own && cd own
    evil=$(printf 'evil \033[31m\302\2332J\342\200\256\007')
    printf '%s\n' '#!/bin/sh' "# Do $evil." '#' "# More $evil." '#' '# Interface:' \
        "# - Reads: shared[\"text\"]: str = \"\\u001b\\u009b\" [pipe]  # the $evil" "# - Reads: shared[\"need\"]: str  # a $evil" \
        "# - Writes: shared[\"out\"]: str [pipe]  # it is $evil" "# - Actions: default, other  # when $evil" '#' \
        '# Examples:' "#     pflow one $evil" >pflow-one
    chmod +x pflow-one
    node two "Reads: shared[\"text\"]: str [pipe]  # the $evil" 'Reads: shared["need"]: str' <<<"    version = \"1 $evil\""
    printf '%s\n' 'from pocketflow import Node' 'class Three(Node):' "    \"\"\"Reads $evil.\"\"\"" \
        '    def prep(self, shared): return shared["a\x1b"], shared["need"]' '    def post(self, shared, a, b): shared["\x9b"] = 1' >three.py
    cat >say <<'END'
for n in one two three; do
    pflow $n --help; pflow $n --version; pflow $n --describe; pflow $n -n --nope; pflow $n -n; pflow nodes $n; pflow nodes --json $n
    pflow explain $n; pflow check "$n => $n => $n"; pflow check --json $n; pflow run -n $n; pflow run $n --help
    pflow test-node $n; pflow save s$n "$n --need=x" --description=x; pflow show s$n; pflow "$n --need=x => $n" -n --dry-run
    for to in sh python pipe dot mermaid; do pflow export --to=$to "$n --need=x"; done
    for shell in bash zsh fish; do pflow __complete $shell 2 pflow $n --; done
done
pflow nodes; pflow nodes --search evil; pflow list; pflow setup; cat $HOME/.local/share/man/man1/pflow-one.1
echo '{"nodes":[{"type":"shell","inputs":{"command":"echo \u001b[31m \u009b"}}]}' >x.pflow.json
for to in sh python pipe; do pflow export --to=$to x.pflow.json; done
END
    PFLOW_NODES=$PWD run script -qec 'TERM=dumb sh say </dev/null 2>&1' /dev/null
    [[ $status -eq 0 && $output == *'\x1b[31m'* ]] || expect 0 'escapes'
    run grep -aP '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' <<<"$output"
    expect 1 ''
}

@test "own nodes import the modules beside them, everywhere, and two directories do not mix" {
    for word in one two; do
        mkdir $word
        echo "WORD = '$word'" >$word/helper.py
        printf '%s\n' 'import helper' 'from pflow import Node, flow_safe' '@flow_safe' "class Say${word^}(Node):" '    """Say it.' '' \
            '    Interface:' '    - Reads: shared["text"]: str [pipe]  # a text' '    - Writes: shared["said"]: str [pipe]  # the word' \
            '    """' '    def prep(self, shared): return shared["text"]' '    def exec(self, text): return text.strip() + helper.WORD' \
            '    def post(self, shared, text, said): shared["said"] = said' >$word/say_$word.py
    done
    export PFLOW_NODES=$PWD/one:$PWD/two
    in_shells 'cd "$HOME"
        echo a | pflow say-one -r
        echo a | pflow run "say-one => say-two" -r
        echo "[\"b\",\"c\"]" | pflow run "say-two --each --jobs=2" -r
        pflow test-node one/say_one.py | tail -n 1
        pflow nodes | grep helper
        for text in old old new; do echo "WORD = \"$text\"" >two/helper.py; echo a | pflow say-two --cache -r; done'
    expect 0 'aone
aonetwo
["btwo","ctwo"]
say-one: 41 ok, 0 failed, 4 skipped
aold
aold
anew'
}
