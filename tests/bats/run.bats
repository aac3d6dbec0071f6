#!/usr/bin/env bats
# pflow run as a stage: what comes in, what goes out, its flags, its words and its terminal.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() {
    mkdir "$BATS_FILE_TMPDIR/nodes" && cd "$BATS_FILE_TMPDIR/nodes" || exit
    node get_issue 'Reads: shared["issue_number"]: int [flag issue]  # issue number' \
        'Reads: shared["repo"]: str = "here"  # whose' 'Writes: shared["title"]: str [pipe]  # its title' \
        'Params: limit: int = 10  # how many' 'Params: token: str = null [secret] [env ISSUE_TOKEN]  # a token' \
        <<'END'
    def post(self, shared, prepared, result):
        shared["title"] = "%s %s of %s" % (type(shared["issue_number"]).__name__, shared["issue_number"], self.params["limit"])
END
    node say 'Reads: shared["text"]: str [pipe]  # a text' 'Writes: shared["said"]: str [pipe]  # the same' <<'END'
    def post(self, shared, prepared, result):
        shared["said"] = shared["text"]
END
    node locked 'Reads: shared["key"]: str [secret]  # a key' 'Writes: shared["open"]: bool [pipe]  # true' <<'END'
    def post(self, shared, prepared, result):
        shared["open"] = bool(shared["key"])
END
    node slowly 'Reads: shared["until"]: path [explicit]  # a file to wait for' 'Writes: shared["said"]: str [pipe]  # a text' <<'END'
    def post(self, shared, prepared, result):
        import os, time

        self.emit("first ")
        while not os.path.exists(shared["until"]):
            time.sleep(0.01)
        self.emit("second")
        shared["said"] = "first second"
END
}

setup() { export PFLOW_NODES=$BATS_FILE_TMPDIR/nodes; }

store() { sed '1d;$d'; } # the members of a document, without its header

@test "raw text and bytes come in exactly, and -r gives them so but for a last newline" {
    in_shells '
        printf "a\n\nb" | pflow run "shell --command=cat" -r
        printf "\377\0a" | pflow run "shell --command=cat => shell --command=cat" -r | od -An -c
        printf "\377" | pflow run "shell --command=cat" | pflow-get stdin | od -An -c
        printf x >f; pflow run "shell --command=cat" -r <f'
    expect 0 $'a\n\nb\n 377  \\0   a\n 377\nx'
}

@test "/dev/null, a closed stdin and -n are no input, nor is a file that others read" {
    in_shells '
        printf "one\ntwo\n" >f
        pflow run "shell --command=wc\ -c" -r </dev/null; pflow run "shell --command=wc\ -c" -r <&-
        pflow run -n "shell --command=wc\ -c" -r <f
        { read -r _; pflow run "shell --command=wc\ -c" -r; cat; } <f | tail -n 1
        { head -n 0; read -r _ <f; pflow run --from=text "shell --command=cat" -r; } <f | head -n 1'
    expect 0 $'0\n0\n0\ntwo\none'
}

@test "an empty pipe is 66 where the flow was to work on it, and --allow-empty takes it" {
    in_shells 'true | pflow run "shell --command=touch\ ran => say" -r; echo $?; ls'
    expect 0 66 'pflow run: stdin was empty: did the command before it fail? -n if this step needs no input'
    in_shells 'true | pflow run --allow-empty "shell --command=wc\ -c" -r; true | pflow run "get-issue --issue=1" -r'
    expect 0 $'0\nint 1 of 10'
}

@test "no model is asked about empty data, in a pipe, a flow, a batch and a map, unless a person says so" {
    node asker 'Reads: shared["prompt"]: str = null [own] [word]' 'Reads: shared["text"]: any = null [pipe]' \
        'Writes: shared["answer"]: str [pipe]' 'Params: allow_empty: bool = false' <<'END'
    def post(self, shared, prepared, result):
        shared["answer"] = f"{shared.get('text') or ''}|{shared.get('prompt') or ''}"
END
    export PFLOW_NODES=$PWD
    : >e && echo '[{"q": ""}, {"q": "b"}]' >q.json && echo '["a", ""]' >items.json && printf a >a
    echo '{"nodes": [{"id": "asker"}], "inputs": {"t": {"type": "str"}},
        "mappings": {"asker": {"input_mappings": {"text": "t"}}}}' >mapped.pflow.json
    while IFS=: read -r wanted printed line; do
        run --separate-stderr bash -c "$line" </dev/null
        [ "$status $output" = "$wanted $printed" ] || { echo "$line" && expect "$wanted" "$printed"; }
        [[ $wanted != 66 || $stderr = *"' is empty: did what wrote it fail? --allow-empty takes it" ]]
    done <<'END'
66::pflow-read-file e | pflow-llm Sum -r
66::pflow read-file e -r | pflow-set -n text= | pflow-llm Sum -r
66::pflow 'read-file e => llm Sum' -nr
66::pflow 'read-file e => llm "Sum: $content"' -nr
66::pflow '( read-file e => asker Sum )' -nr
66::pflow 'read-file e => claude-code "Sum: $content"' -nr
66::printf '\n' | pflow-llm Sum -r
66::pflow-set -n 't=  ' | pflow 'asker "is $t"' -r
66::pflow-set -n t= | pflow run mapped.pflow.json -r
66::pflow 'load-json q.json => asker "is ${item.q}" --each --as=item' -nr
66::pflow 'read-file items.json => asker Is --each' -nr
1:["a|Is",null]:pflow run 'read-file items.json => asker Is --each --keep-going --jobs=2' -nr
0:0 66 :pflow map 'asker Is' items.json --format=record | jq -j '"\(.exit) "'
0:66 0 :pflow map 'asker "$q $q"' q.json --format=record | jq -j '"\(.exit) "'
0:a|$ :pflow-read-file a | pflow asker '$$ ' -r
0:|Sum:pflow-read-file e | pflow asker Sum -r --allow-empty
0:|Sum:pflow 'read-file e => asker Sum --allow-empty' -nr
0:|Sum:pflow '( read-file e => asker Sum )' -nr --allow-empty && pflow replay last -q
0:|Sum:pflow asker Sum --text= -nr
0:|Sum:pflow run 'asker Sum' --text= -nr
0:|:pflow run mapped.pflow.json --t= -nr
0:|is  b:pflow run 'asker "is $x $y"' --x= --y=b -nr
0:a|Is:pflow 'read-file a => template "" => asker Is --map-in=text=content' -nr
0::pflow-read-file e | pflow-llm Sum --skip-empty | pflow-get
END
}

@test "piped bytes that no step takes are 64, and nothing runs (PF05)" {
    in_shells 'echo hi | pflow run "shell:a --command=touch\ ran --input=x => say" -r; echo $?; ls'
    expect 0 64 'cannot use stdin: no step takes its 3 bytes (PF05); -n leaves stdin to others'
    in_shells 'echo hi | pflow run "get-issue --issue=1 => say --text=\"<\$stdin>\"" -r'
    expect 0 $'<hi\n>'
}

@test "a flow may be any file that can be read: <(…), a descriptor, a FIFO, stdin; what writes beside it says that it has none" {
    echo '{"nodes": [{"id": "a", "type": "template", "inputs": {"template": "hi"}}]}' >flow.json
    mkfifo fifo
    export SHELLS=bash
    for flow in '<(cat ../flow.json)' '/dev/fd/3 3<../flow.json' '../fifo' '/dev/stdin <../flow.json' '- <../flow.json'; do
        for command in 'run -r' check 'explain --graph' 'export --to=pipe' 'save --force --description=x x' 'plan --wire'; do
            in_shells "[[ '$flow' != ../fifo ]] || cat ../flow.json >../fifo & pflow $command $flow"
            [[ $status -eq 0 && -n $output ]] || expect 0 "pflow $command $flow"
        done
    done
    in_shells 'pflow lock <(cat ../flow.json); echo $?; pflow lock /dev/fd/3 3<../flow.json; echo $?; ls ../*.json'
    expect 0 $'2\n2\n../flow.json' 'cannot find the lock file of a flow that is not in a file'
    in_shells 'pflow plan --edit --write <(cat ../flow.json) "say ho"'
    expect 2 '' 'cannot write the flow back: it has no file'
    in_shells 'echo hi | pflow run <(echo "shell cat") -r; pflow check /dev/zero'
    expect 65 hi 'it has more than 64 MB'
}

@test "a store's members pass byte for byte, whatever the flow does not use" {
    printf '{"$pflow":{"v":1,"last":"text"},\n"n":1.10,\n"odd":{ "a" :  1e999},\n"e":"\\u00e4",\n"text":"hi"\n}\n' >f
    in_shells 'pflow run say <../f >out; sed "1d;\$d" out'
    expect 0 $'"n":1.10,\n"odd":{ "a" :  1e999},\n"e":"\\u00e4",\n"text":"hi",\n"said":"hi"'
}

@test "a member of 100 MB that the flow does not use costs no more than its bytes" {
    { printf '{"$pflow":{"v":1,"last":"text"},\n"big":"' && head -c 100000000 /dev/zero | tr '\0' x && printf '",\n"text":"hi"\n}\n'; } >f
    (ulimit -v 600000 && pflow run say <f >out)
    cmp <(sed -n 2p f) <(sed -n 2p out)
    [ "$(tail -n 3 out)" = $'"text":"hi",\n"said":"hi"\n}' ]
}

@test "an error document passes as it came, and nothing runs" {
    pflow-set -n kept=1 | pflow-shell --command='exit 9' >failed || [ $? -eq 9 ]
    in_shells '
        for form in "" -r; do pflow run "shell --command=touch\ ran" $form <../failed >out; echo $? $(wc -c <out); done
        pflow run "shell --command=touch\ ran" <../failed | cmp - ../failed; ls'
    expect 0 $'9 '"$(wc -c <failed)"$'\n9 0\nout'
}

@test "a broken store is 65, --from=json takes a user's own object" {
    in_shells '
        printf "{\"\$pflow\":{\"v\":1},\"a\":1,\"a\":2}" | pflow run say -r; echo $?
        printf "{\"\$pflow\":{\"v\":2}}" | pflow run say -r; echo $?
        echo text | pflow run --from=store say -r; echo $?
        echo "{\"word\":\"mine\"}" | pflow run --from=json "say --text=\$word" -r'
    expect 0 $'65\n65\n65\nmine' "the key 'a' appears twice"
}

@test "the document has the outputs, what the pipe carries and one entry for the flow" {
    need jq
    in_shells '
        pflow-set -n text=hi k:=1 | pflow run "say => shell --command=\"tr a-z A-Z\"" >o
        jq -c "del(.[\"\$pflow\"])" o
        jq -c ".[\"\$pflow\"] | .last, (.steps[] | [.id, .node, .reads, .writes, (.run | length)])" o'
    expect 0 $'{"text":"hi","k":1,"said":"hi","command":"tr a-z A-Z","stdout":"HI","stderr":"","exit_code":0}
"stdout"
["flow","flow:flow",{"text":["text"]},{"said":["said"],"command":["command"],"stdout":["stdout"],"stderr":["stderr"],"exit_code":["exit_code"]},26]'
}

@test "a flow stands in a pipe between nodes, and flows pipe into flows" {
    echo 'one two' >f
    in_shells 'pflow-read-file --path=../f --id=f | pflow run "say => shell --command=\"tr a-z A-Z\"" | pflow run "say => say:b" |
        pflow-write-file --path=o | pflow run say | pflow-get said f.content; cat o'
    expect 0 $'ONE TWO\none two\nONE TWO'
}

@test "declared outputs are all that goes out, by their names" {
    need jq
    echo '{"outputs":{"count":"w.stdout"},"nodes":[{"id":"w","type":"shell","inputs":{"command":"wc -w"}}]}' >one.pflow.json
    echo '{"outputs":{"upper":"u.stdout","n":"w.stdout"},"nodes":[{"id":"w","type":"shell","inputs":{"command":"wc -w"}},
        {"id":"u","type":"shell","inputs":{"command":"tr a-z A-Z"}}],"mappings":{"u":{"input_mappings":{"input":"stdin"}}}}' >two.pflow.json
    in_shells '
        echo a b | pflow run ../one.pflow.json | jq -c "[keys_unsorted[1:], .[\"\$pflow\"].last]"
        echo a b | pflow run ../two.pflow.json | jq -c "[keys_unsorted[1:], .[\"\$pflow\"].last]"
        echo a b | pflow run ../one.pflow.json -r; echo a b | pflow run ../two.pflow.json | pflow-shell --command=cat -r'
    expect 0 $'[["stdin","count"],"count"]\n[["stdin","upper","n"],"upper"]\n2\nA B'
}

@test "a failed step's error document has the store as it was, and no stage after it has an effect" {
    need jq
    in_shells '
        pflow-set -n kept=1 | pflow run "shell:made --command=\"echo x\" => read-file:second --path=/nope" |
            pflow-shell --command="touch ran" | pflow run "shell --command=\"touch ran\"" | pflow-write-file --path=o >doc
        echo $?
        jq -c ".[\"\$pflow\"] | .error, [.steps[] | .id, .node, .exit]" doc
        jq -c "del(.[\"\$pflow\"])" doc; ls'
    expect 0 $'66
{"step":"second","node":"read-file","exit":66,"message":"cannot read \'/nope\': no such file or directory"}
["flow","flow:flow",66]
{"kept":"1"}
doc' "pflow run: second (read-file): cannot read '/nope': no such file or directory"
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "-r, -j and -q choose what goes out" {
    in_shells '
        echo hi | pflow run say -r; echo hi | pflow run say -j | head -c 9; echo; echo hi | pflow run say -q
        echo hi | pflow run say -rj; echo $?; pflow run -n "shell --command=\"exit 3\"" -q; echo $?'
    expect 0 $'hi\n{"$pflow"\n2\n3' 'cannot print in two ways: --raw and --json'
}

@test "flags that fit none or several are 2 and say which would do" {
    in_shells 'pflow run -n get-issue --isue=1 -r; echo $?'
    expect 0 2 'cannot take --isue: no such flag; did you mean --issue?'
    in_shells 'pflow run -n get-issue --issue=1 :: get-issue:b --issue=2 --limit=3 -r; pflow run -n "get-issue => get-issue:b" --limit=3 -r; echo $?'
    expect 0 - 'it fits several steps (PF02); --get-issue.limit or --b.limit'
}

@test "a secret is never a flag, and stands in no log, document or message" {
    in_shells 'pflow run -n locked --key=s3cret -r; echo $?; ISSUE_TOKEN=s3cret pflow run -n get-issue --token=s3cret -r; echo $?'
    expect 0 $'2\n2' 'a secret is never a flag'
    in_shells 'ISSUE_TOKEN=s3cret pflow run -v --show-store --debug -n "get-issue => shell --command=\"exit 3\"" --issue=1 -q; echo $?'
    [[ $output$stderr != *s3cret* ]]
    grep -rq '"token":"\*\*\*"' "$HOME/.local/state/pflow"
    run -1 grep -r s3cret "$HOME/.local/state/pflow"
    in_shells 'pflow run -n locked -r'
    expect 66 '' "cannot find 'key' (a key) for locked: nothing gives it (PF03); a secret is never a flag"
}

@test "what a run is given from outside is noted in its snapshot" {
    need jq
    echo '{"nodes":[{"id":"i","type":"get-issue","params":{"limit":5}},{"id":"s","type":"say","inputs":{"text":"own"}}]}' >f.pflow.json
    in_shells 'ISSUE_TOKEN=s3cret pflow run -n ../f.pflow.json --issue=7 --limit=3 --s.text=mine -r
        jq -cS "{cli_injections, config_overrides}" "$HOME"/.local/state/pflow/runs/*/snapshot.json'
    expect 0 $'mine\n{"cli_injections":{"issue_number":7,"s.text":"mine"},"config_overrides":{"i":{"limit":3,"token":"***"}}}'
}

@test "what nothing gives is 66 before anything runs, all of it at once" {
    in_shells 'pflow run -n "shell --command=\"touch ran\" => get-issue => shell:b" -r; echo $?; ls'
    expect 0 66 "cannot find 'issue_number' (issue number) for get-issue, 'command' (the command) for shell: nothing gives it (PF03); --issue=INT --b.command=STR"
}

@test "a flow that comes on stdin leaves none for its steps" {
    in_shells '
        echo "shell --command=\"wc -c\"" | pflow run - -r
        echo "{\"nodes\":[{\"type\":\"shell\",\"inputs\":{\"command\":\"wc -c\"}}]}" >f; pflow run - -r <f
        : | pflow run - -q; echo $?'
    expect 0 $'0\n0\n66' "cannot read the flow 'stdin': it is empty"
}

@test "a dry run touches nothing, says what it would, and later stages are dry too" {
    need jq
    echo text >f
    in_shells '
        pflow run --dry-run -n "read-file --path=../f => shell --command=\"touch ran\" => write-file --path=o" |
            pflow-write-file --path=p | pflow run "shell --command=\"touch ran\"" >doc
        echo $?; ls; jq -c ".[\"\$pflow\"] | .dry, .last" doc'
    expect 0 $'0\ndoc\n["path","content","command","stdout","stderr","exit_code"]\n"stdout"' \
        'pflow run: would run write-file (write-file); reads content from stdout, path from --path; writes files; path: o'
    [ ! -e "$HOME/.local/state" ]
    in_shells 'pflow-read-file --path=../f --dry-run | pflow run "shell --command=\"touch ran\" => write-file --path=o" -q; echo $?; ls'
    expect 0 0 'would run shell (shell); reads command from --command, input from content'
}

@test "-v says where values come from, --show-store what there is at the end, --debug where it failed" {
    in_shells 'pflow run -v -n "get-issue --issue=1 => say" -r 2>&1 | grep " reads \| writes "'
    expect 0 'pflow run: get-issue reads issue_number from the flow itself
pflow run: get-issue writes title to title
pflow run: say reads text from title
pflow run: say writes said to said'
    in_shells 'pflow run --show-store -n "get-issue --issue=1" -q 2>&1'
    expect 0 $'issue_number = 1\ntitle = int 1 of 10'
    in_shells 'printf "a\033[2J\nb" >f; pflow run --show-store -n read-file --path=f -q 2>&1'
    expect 0 $'path = f\ncontent = a\\x1b[2J\nb'
    in_shells 'pflow run --debug -n "read-file --path=/nope" -q'
    expect 66 '' 'Traceback'
    in_shells 'pflow run -n "read-file --path=/nope" -q'
    [[ $stderr != *Traceback* ]]
}

@test "as cron starts it, without HOME or with a state directory that cannot be, it runs with --no-journal alone" {
    pflow=$(command -v pflow)
    export pflow
    in_shells '
        env -i "$pflow" run --no-journal -n "shell --command=\"echo a\" => shell --command=cat" -r
        for state in "" rel /proc/none /dev/null; do
            env -u HOME XDG_STATE_HOME=$state "$pflow" run --no-journal -n "shell --command=\"echo b\"" -r
        done 2>err; grep -c "^pflow run: warning: cannot keep a log" err; wc -l <err; rm err
        for state in "" rel /proc/none /dev/null; do
            env -u HOME XDG_STATE_HOME=$state "$pflow" run -n "shell --command=\"echo b >ran\"" -r; echo $?
        done; ls'
    expect 0 $'a\nb\nb\nb\nb\n2\n2\n78\n78\n73\n73' 'cannot keep a journal of this run'
    [[ $stderr == *--no-journal* ]]
}

@test "pflow WORDS is pipe syntax, a command, a node or a saved flow" {
    mkdir -p "$HOME/.local/share/pflow/flows"
    echo '{"inputs":{"text":{"type":"str"}},"nodes":[{"type":"say"}]}' >"$HOME/.local/share/pflow/flows/speak.pflow.json"
    in_shells '
        pflow say --text=a :: shell --command="cat; echo 1" -r; pflow "say --text=a => shell --command=\"cat; echo 2\"" -r
        pflow say --text=a "=>" shell --command="cat; echo 3" -r; pflow say --text=b -nr
        pflow speak --text=c -r; pflow speak --text=d :: shell --command=cat -r
        pflow run flow:speak --text=e -r; echo f | pflow "say | shell --command=cat" -r; pflow "say --text=g" -nr
        pflow "pflow-shell --command=\"echo h\" --id=x" -r'
    expect 0 $'a1\na2\na3\nb\nc\nd\ne\nf\ng\nh'
    for words in 'spaek --text=x:speak' 'chek f:check' 'raed-file --path=f:read-file'; do
        in_shells "pflow ${words%:*} -q; echo \$?"
        expect 0 127 "did you mean ${words#*:}"
    done
    in_shells 'HOME= pflow speak --text=c -q; echo $?'
    expect 0 127
}

@test "one step in words says what it says in quotes, to every command that takes a flow" {
    in_shells '
        pflow-set city=Oslo | pflow run shell --command="echo \"\$1\"" --args="\$city" -r
        pflow-set city=Oslo | pflow run -r shell:x --args "\$city" --command "echo \"\$1\"" --retries=1
        pflow run -n get-issue --repo="\$\$x" --verbatim --issue=1 --show-store -r 2>&1 | grep repo
        for command in "explain --json" "check --json" plan "plan --pipe" "export --to=sh" "export --to=python"; do
            pflow $command "shell --command=\"echo a\" --args=\$city" >quoted 2>&1
            pflow ${command%% *} shell --command="echo a" --args="\$city" $(echo $command | cut -s -d" " -f2) >words 2>&1
            cmp quoted words && grep -q city words && echo same
        done
        pflow export --to=pipe -o o llm Why -o seed 1 -s -n; pflow plan llm "Name a tree" --pipe; cat o
        pflow save print shell --command="echo \"\$1\"" --args="\$city" --force >/dev/null; pflow print --city=Rome -r'
    expect 0 $'Oslo\nOslo\nrepo = $$x\nsame\nsame\nsame\nsame\nsame\nsame
llm --prompt=\'Name a tree\'
llm --prompt=Why --option=seed=1 --system=-n\nRome'
}

@test "a separator that the shell took for a redirection is 2 and names the file" {
    for words in 'say --text=x => shell' 'run -n say --text=x >> shell' 'say --text=x =left=> shell' 'run ./f.pflow.json => say'; do
        in_shells "pflow $words; echo \$?; ls"
        expect 0 $'2\n'"${words##* }" "for a redirection into the file '${words##* }', which is now here"
    done
    need zsh
    run --separate-stderr zsh -fc 'pflow run -n say --text=x => shell'
    expect 2 '' "into the file 'shell'"
    in_shells 'pflow run -n "say --text=meant" -r >shell; cat shell; pflow run -n say --text=meant -r >out; cat out'
    expect 0 $'meant\nmeant'
}

@test "progress is for a terminal's stderr, none in a pipe, with -q or in a file" {
    in_terminal bash --norc -i
    type_line 'pflow run -n "say:one --text=a => say" -j | cat'
    shows '[1] one (say)'
    shows '[2] say'
    until_true eval "screen | grep -q '^{\"[$]pflow\"'"
    type_line 'clear; pflow run -n "say --text=b" -q; pflow run -n "say --text=c" 2>err -r; TERM=dumb pflow run -n "say --text=d"; echo "<$?>"'
    shows '<0>'
    run -1 eval 'screen | grep "\[1\]"'
    [ ! -s err ]
}

@test "a terminal sees how far a batch is in one line, a file does not" {
    node take 'Reads: shared["x"]: str [pipe]  # a file, or nothing' <<'E'
    def post(self, shared, prepared, result):
        import os, time
        while not os.path.exists(shared["x"]):
            time.sleep(0.02)
E
    echo '{"nodes": [{"type": "take", "id": "t", "batch": {"over": "xs", "as": "x", "jobs": 2}}]}' >f.pflow.json
    in_terminal PFLOW_NODES="$PWD" bash --norc -i
    type_line 'pflow run f.pflow.json -n --xs='"'[\".\", \".\", \"go\"]'"'; echo "<$?>"'
    shows '[1] t (take)  2/3  '
    touch go
    shows '<0>'
    [[ $(screen | sed -n 2p) == '[1] t (take)  '*'s  3/3' ]] || { screen && return 1; }
    PFLOW_NODES=$PWD pflow run f.pflow.json -n --xs='[".", "go"]' 2>err >out
    [ ! -s err ]
}

@test "the last text is shown as it arrives, and ends its line before anything else" {
    in_terminal bash --norc -i
    type_line 'pflow run -n slowly --until=go; echo "<$?>"'
    shows 'first'
    screen | grep -q '^first $\|^first$'
    touch go
    shows '<0>'
    [ "$(screen | sed -n '2p;4p')" = $'first second\n<0>' ] || { screen && return 1; }
    [[ $(screen | sed -n 3p) == '[1] slowly  '* ]]
}

@test "a text that is streamed through a pipe is whole and once, in a process of its own too" {
    : >go
    in_shells 'pflow run -n slowly --until=../go -r --stream; pflow run -n --isolate slowly --until=../go -r --stream
        pflow run -n "slowly --until=../go => say" -r --stream'
    expect 0 $'first second\nfirst second\nfirst second'
}

@test "help names the flags of a flow, and a step that is not there" {
    in_shells 'pflow run get-issue --help | sed -n "/^Inputs/,/^Common/p"; pflow run locked -h | grep "key  "; pflow run nosuch --help >o; echo $?'
    expect 0 'Inputs:
  --issue N                   issue number [required]
  --repo TEXT                 whose [default "here"]

Params (how it works):
  --limit, --get-issue.limit N
                              how many [default 10]

Common:
  key                         a key [a secret, from the store]
65'
}

@test "each visit of a loop and each item of a batch gets its params anew" {
    export PFLOW_NODES=$BATS_TEST_TMPDIR
    printf 'from pocketflow import Node
class Tick(Node):
    def prep(self, s): return s.get("item")
    def post(self, s, p, r):
        self.params["step"] += 1
        self.params.setdefault("all", []).append(9)
        s["seen"] = [*s.get("seen", []), self.params["step"], len(self.params["all"])]
        return "again" if len(s["seen"]) == 2 else "default"\n' >tick.py
    items='{"$pflow":{"v":1,"last":"l"},"l":[1,2,3]}'
    in_shells "export PFLOW_NODES=..
        pflow run -n 'tick:t --step:=0 =again=> t' -r
        pflow run -n 'tick:t --step:=0 --all:=[] =again=> t' -r
        for jobs in 1 2; do echo '$items' | pflow run 'tick --each --step:=0 --jobs='\$jobs -r; done"
    expect 0 $'[1,1,1,1]\n[1,1,1,1]\n[[1,1],[1,1],[1,1]]\n[[1,1],[1,1],[1,1]]'
}

@test "a change in place to a read that the node does not write is dropped, with a warning, in a stage, a step, Python and test-node" {
    export PFLOW_NODES=$BATS_TEST_TMPDIR
    node grow 'Reads: shared["items"]: list [pipe]' 'Writes: shared["n"]: int [pipe]' <<<'    def prep(self, shared): return shared["items"]
    def exec(self, items): return items.append(9) or len(items)
    def post(self, shared, items, n): shared["n"] = n'
    sed 's/class Grow/class Keep/; s/append(9) or/copy() and/' grow.py >keep.py
    printf 'from pflow import Flow, load_node, step\ns = {"items": [1]}
Flow(step(load_node("grow.py"))).run(s)\nprint(s)\n' >flow.py
    told="warning: 'grow' changed 'items' in place, but does not declare that as a write: it is dropped"
    pflow-set -n items:=[1] >store
    while read -r way; do
        run --separate-stderr eval "$way"
        expect 0 - "$told"
        [[ $output == *[\"\']items[\"\']:*\[1\]* && $(grep -c . <<<"$stderr") -eq 1 ]] || expect 0 - 'once, and dropped'
    done <<END
pflow grow --map-in items=items <store
pflow run 'grow --map-in=items=items' <store
pflow run 'grow --each=lists --as=items --jobs=1' -j <<<'{"\$pflow":{"v":1},"items":[1],"lists":[[1],[2,3],[4]]}'
$PYTHON flow.py
END
    run pflow test-node grow.py
    expect 1 && [[ $output == *"it changed 'items' in place"* ]]
    run pflow test-node keep.py
    expect 0
}

@test "python -m pflow is pflow, and runs nodes and tools where none of their programs are" {
    place=$("$PYTHON" -c 'import os, pflow, sysconfig; print(os.path.dirname(os.path.dirname(pflow.__file__)), sysconfig.get_paths()["purelib"], sep=":")')
    ln -s "$PYTHON" py
    alone() { PYTHONPATH=$place PATH=/usr/bin:/bin ./py -m pflow "$@"; }
    [ "$(alone --version)" = "$(pflow --version)" ]
    [ "$(echo hi | alone template 'x $stdin' | alone get)" = 'x hi' ]
    [ "$(alone help get; alone llm --help; alone __complete bash 9 99 '' 'pflow l')" = "$(pflow help get; pflow llm --help; pflow __complete bash 9 99 '' 'pflow l')" ]
    [ "$(alone run 'template hi => shell "tr a-z A-Z"' -r)" = HI ]
    run -78 --separate-stderr alone save greet 'template hi' --command
    expect 78 '' 'cannot make a command: the pflow executable is not found'
}
