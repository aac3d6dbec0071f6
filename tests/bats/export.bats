#!/usr/bin/env bats
# pflow export and pflow import: the same flow as something else, and back.
# shellcheck disable=SC2016,SC2154

load helper

@test "a script takes the inputs of the flow as flags, whatever is in them" {
    export nasty=$'$x "q" \' \\ `z`  é\n$$two'
    in_shells '
        pflow export --to=sh "shell --command=cat --input=\"\$text\"" >flow.sh
        sh flow.sh --text="$nasty" | pflow-get stdout'
    expect 0 "$nasty"
    in_shells '
        pflow export --to=sh "shell --command=cat --input=\"<\$text>\"" >flow.sh
        sh flow.sh --nope=1 | pflow-get; echo $?; sh flow.sh | pflow-get; echo $?'
    expect 0 $'2\n66' "no such flag"
}

@test "no text of a flow's file becomes code of a script, whatever it says it is" {
    need jq
    in_shells '
        break="x
touch CANARY #"
        jq -n --arg x "$break" "{name: \$x, description: \$x, inputs: {(\$x): {description: \$x, default: \$x}}, nodes: [
            {id: \"a\", type: \"shell\", inputs: {command: \"cat\", args: [\$x]}}],
            mappings: {a: {input_mappings: {input: \"[\(\$x | tojson)]\"}}}}" >x.pflow.json
        pflow export --to=sh x.pflow.json >x.sh; sh x.sh | pflow-get stdout; echo; ls CANARY'
    expect 2 $'x\ntouch CANARY #' "No such file"
    # The name of a param that nobody declared.
    in_shells '
        printf "%s\n" "from pocketflow import Node" "class Own(Node): pass" >own.py
        jq -n "{nodes: [{type: \"own\", params: {\"x\ntouch CANARY\n\": \"y\"}}]}" >own.pflow.json
        PFLOW_NODES=$PWD pflow export --to=sh own.pflow.json >own.sh; PFLOW_NODES=$PWD sh own.sh; ls CANARY'
    expect 2 - "No such file"
}

@test "a flow that breaks a rule is not exported, and its findings are said" {
    in_shells "pflow export --to=dot 'read-fil --path=x'"
    expect 65 '' 'cannot export: nodes[0].type: PF11: '
}

@test "what is exported comes from a file, a saved flow, stdin or pipe syntax" {
    in_shells '
        echo "{\"nodes\":[{\"id\":\"a\",\"type\":\"shell\",\"inputs\":{\"command\":\"true\"}}]}" >f.pflow.json
        mkdir -p "$HOME/.local/share/pflow/flows"; cp f.pflow.json "$HOME/.local/share/pflow/flows/saved.pflow.json"
        for flow in f.pflow.json saved -; do pflow export --to=mermaid $flow <f.pflow.json | tail -n 1; done
        pflow export --to=mermaid shell:a --command=true :: shell:b --command=true | tail -n 1
        for to in sh python; do pflow export --to=$to -o made "shell cat => shell cat"; echo words | ./made | pflow-get; done'
    expect 0 $'    n1["a<br/>shell"]\n    n1["a<br/>shell"]\n    n1["a<br/>shell"]\n    n1 --> n2\nwords\nwords'
}

@test "a file that cannot be written is 73, and what was there stays" {
    in_shells 'mkdir d; pflow export --to=dot -o d "shell --command=true"; echo $?; echo old >o
        pflow export --to=dot -o o "read-fil --path=x"; cat o'
    expect 0 $'73\nold' "cannot write 'd'"
}

@test "a pocketflow Flow is imported, runs, and what is missing is said" {
    in_shells '
        printf "%s\n" "from pocketflow import Flow, Node" "class Hi(Node):" "    def post(self, s, p, e): s[\"hi\"] = 1" \
            "def make():" "    a, b = Hi(), Hi()" "    a >> b" "    return Flow(start=a)" >hi.py
        pflow import hi.py:make -o hi.pflow.json; pflow run -q hi.pflow.json </dev/null 2>/dev/null; echo $?
        PFLOW_NODES=$PWD pflow run -j hi.pflow.json </dev/null 2>/dev/null | pflow-get hi
        pflow export --to=pipe hi.py
        for name in hi.py:nope hi.py hi.txt; do pflow import $name 2>/dev/null; echo $?; done'
    expect 0 - "no node is called 'Hi': put the class into hi.py in a directory on PFLOW_NODES"
    [[ $output == $'65\n1\n66\n{\n'*$'\n0\n2' ]]
    [[ $stderr == *"no node 'hi'; its class is in /"*"/hi.py alone: pflow run /"*" runs it; in hi.py in a directory on PFLOW_NODES"* ]]
}

@test "a script of pipes is imported, with its variables as inputs, and so is what export writes" {
    cat >two.sh <<'END'
#!/bin/sh -e
set -u # as usual
FILE=${1:-a.txt}
pflow-read-file --path="$FILE" | \
    pflow-shell --command='tr "$1" "$2"' --args=a-z --args=A-Z |
    pflow-write-file --path=mid.txt -q; how='in capitals'

pflow-template -n 'no $$content' | pflow-shell 'cat mid.txt -' | pflow-template "$how: \$stdout" -r
END
    in_shells 'echo one >a.txt; sh ../two.sh a.txt; pflow import ../two.sh -o two.pflow.json && pflow run two.pflow.json -n -r
        pflow export --to=sh -o flow.sh "read-file a.txt => shell cat => write-file b"; pflow import flow.sh | pflow export --to=sh - | cmp - flow.sh'
    expect 0 $'in capitals: ONE\nno $content\nin capitals: ONE\nno $content'
    [[ $stderr != *"a shell would expand"* && $stderr != *"-q of"* ]]
    while IFS='~' read -r script said; do
        printf '# A script\n\n%b\n' "$script" >no.sh
        run --separate-stderr pflow run no.sh -r
        expect 2 '' "$said"
    done <<'END'
for f in *; do x; done~line 3: 'for' is not one of pflow's programs; list-files
pflow-read-file a | grep x~line 3: 'grep' is not one of pflow's programs
pflow-read-file a | select x~line 3: 'select' is not one of pflow's programs
set -- a~line 3: 'set' is not one of pflow's programs
set +e~line 3: 'set' is not one of pflow's programs
pflow-read-file a >b~line 3: '>b' is a redirection, which only a shell does
pflow-read-file "$HOME"~line 3: no line before sets '$HOME'
x=1\npflow-read-file "${x:-2}"~line 4: no line before sets '${x:-2}'
content=$1; pflow-read-file "$content"~cannot take the variable 'content' as an input: 'read-file' has a key of that name
x=`date`~line 3: 'x=`date`' is not one of pflow's programs
x=\0176/a~line 3: 'x=
x=${1:-a b}~line 3: 'x=${1:-a' is not one of pflow's programs; x="${1:-a b}"
x=1&~line 3: 'x=1&' is not one of pflow's programs
x=1\nx=2~line 4: 'x=2' is not one of pflow's programs; NAME=$1
PATH=a~line 3: 'PATH=a' is not one of pflow's programs
x=1 pflow-read-file a~line 3: 'x=1' is not one of pflow's programs
x=1; pflow-template "$x $(date)"~line 3: pipe syntax runs no commands inside a text
pflow-read-file a || true~line 3: '|' joins no two programs
pflow-read-file a => pflow-shell cat~line 3: '=>' joins no two programs
pflow-read-file a && pflow-read-file b~line 3: '&&' works only in a shell
pflow-read-file a &~line 3: '&' works only in a shell
{ pflow-read-file a; }~line 3: '{' is not one of pflow's programs
pflow-read-file *.txt~line 3: a shell would expand '*.txt'
pflow-read-file a?~line 3: a shell would expand 'a?'
pflow-read-file [ab]~line 3: a shell would expand '[ab]'
pflow-read-file --path={a,b}~line 3: a shell would expand '--path={a,b}'
x="a b"\npflow-template $x~line 4: a shell would split '$x'; "$x" keeps it whole
x=$1\npflow-template $x~line 4: a shell would split '$x'
x=$1\npflow-shell "echo $x"~line 4: nothing fills '$x' in a command; pflow-shell 'echo "$1"' "$x" hands it over
x=$1\npflow-template '$x'~line 4: '$x' is not the variable here
set -e\npflow-shell -n 'echo a' -r\npflow-shell -n 'echo b' -r~line 4: its output would be lost
pflow-shell -n 'echo a' -q\nset -e\npflow-shell -n 'echo b' -r~line 5: a shell would go on here after a failure; set -e
set -e\npflow-shell -n 'echo a' -q\npflow-shell cat -r~line 5: it would read the script's stdin; -n
END
    while IFS='~' read -r script flags; do
        printf '%b\n' "$script" >yes.sh
        run --separate-stderr pflow run -n yes.sh -r $flags
        expect 0 "$(sh yes.sh "${flags#*=}" </dev/null)"
    done <<'END'
x=5\npflow-shell -n "echo [$x]" -r
x='a $b'; pflow-shell -n "b=1; echo \\"[$x]\\"" -r
x=s/l; pflow-template -n --template=$x.${x}x -r
x=\n\npflow-template -n "a$x" -r
x='$$5'\npflow-template -n "$x\\$\\$" -r
f=${1:-none}\npflow-shell -n 'y=$1; echo "$y"' "<$f>" -r
f=${1:-none}\npflow-template -n "<$f>" -r~--f=some
f=${1:-none}\npflow-shell -n 'echo b' | pflow-template "<$f>" -r~--f=some
set -eu\npflow-shell -n 'echo a >x' -q; pflow-read-file x | pflow-shell cat -r
END
    in_shells "echo 'grep x' >one.sh; pflow import one.sh"
    expect 2 '' "line 1: 'grep' is not one of pflow's programs"
    in_shells 'printf "#!/bin/sh\nset -e\n" >no; echo "grep x" >one.sh; { pflow run one.sh; pflow save x one.sh; pflow one.sh; pflow ./no; } 2>&1 >/dev/null; :'
    [ "$(grep -c "'grep' is not one of pflow's programs" <<<"$output")" = 2 ]
    [ "$(grep -c "; pflow run .* runs it as a flow, pflow import .* makes one of it" <<<"$output")" = 2 ]
    in_shells 'printf "set -Eeuo pipefail\nFILE=\$1\npflow-read-file \"\$FILE\" | pflow-shell \"tr a-z A-Z\"\n" >up.sh; echo hi >hi; pflow run up.sh --FILE=hi -r'
    expect 0 'HI'
}

@test "what a flow has no place for is refused and named: arguments of a constructor, methods of a Flow" {
    cat >made.py <<'END'
from pocketflow import Flow, Node
import pflow

class WithArg(Node):
    def __init__(self, number=1, *, key="k", **more):
        super().__init__(**more)
        self.number, self._key = number, key
    def post(self, shared, p, e):
        shared["n"] = [self.number, self._key]

class Params(pflow.Node):
    def __init__(self, end, *tries):
        super().__init__(*tries)
        self.set_params({"end": end})

class Counted(Flow):
    def get_next_node(self, node, action):
        return None

lost = Flow(WithArg(7, key="secret", max_retries=2))
inside = pflow.Flow(pflow.step(WithArg(key="other"), "mine"))
default = Flow(WithArg(1, max_retries=3, wait=2))
kept = Flow(Params("!", 3, 2))
kept.start_node.id, kept.start_node.wait = "me", 2
later = Flow(WithArg())
later.start_node.number, later.start_node.exec = 9, lambda prepared: 42
counted = Counted(WithArg())
END
    in_shells 'for name in lost inside default kept counted later; do pflow import ../made.py:$name 2>err; echo $?; grep -v PFLOW_NODES err; done'
    expect 0 - ''
    [[ $output == "65
pflow: cannot use 'with-arg' with its 'number' and 'key': a flow does not keep constructor arguments; "*"step(\"with-arg\", params="*"
65
pflow: cannot use 'mine' with its 'key': a"*'"retries": 2,
      "wait": 2'*'"end": "!"'*"
0
65
pflow: cannot use Counted: it overrides get_next_node"*"
pflow import: warning: 'with-arg' had its 'number' and 'exec' set after it was made, but a flow keeps only params"* ]]
    [[ $output != *secret* && $output != *other* ]]
    run -0 "$PYTHON" -c 'import made; s = {}; made.inside.run(s); print(s)'
    [ "${lines[-1]}" = "{'n': [1, 'other']}" ]
}
