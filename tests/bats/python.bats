#!/usr/bin/env bats
# pflow run FILE.py: flows of plain pocketflow code as they are.
# shellcheck disable=SC2016

load helper

setup() {
    cat >flow.py <<'END'
from pocketflow import BatchFlow, BatchNode, Flow, Node
from helping import shout
class Split(Node):
    def prep(self, shared): return shared["text"]
    def post(self, shared, text, words):
        print("splitting")
        shared["words"] = text.split()
class Shout(BatchNode):
    def __init__(self, end):
        super().__init__(max_retries=2)
        self.end = end
    def prep(self, shared): return shared["words"]
    def exec(self, word): return shout(word) + self.end
    def post(self, shared, words, loud): shared["loud"] = loud
class Each(BatchFlow):
    def prep(self, shared): return [{"n": n} for n in (1, 2)]
class Count(Node):
    def prep(self, shared): open("noted")
    def post(self, shared, prepared, done): shared.setdefault("n", []).append(self.params["n"])
def create_flow():
    split = Split()
    split >> Shout("!") >> Each(start=Count())
    return Flow(start=split)
END
    echo 'shout = str.upper' >helping.py
    printf '%s\n' 'from flow import create_flow' 'if __name__ == "__main__":' '    create_flow().run({"text": "x"})' >main.py
}

@test "a flow of plain pocketflow code takes stdin and flags, and is traced, resumed and replayed" {
    in_shells '
        echo so it is | pflow run ../main.py -q; echo $?
        : >noted; pflow resume last -q; pflow trace last | grep -c "^\[.*\(split\|shout\|each\\) (..*" ; pflow replay last -r
        pflow run ../flow.py:create_flow --text="it is" --n:=[0] -n -j | pflow-get loud n; pflow run ../flow.py -n -q; echo $?'
    expect 0 $'66\n4\n[1,2]\n["IT!","IS!"]\n[0,1,2]\n66' '--text'
}

@test "check, explain, a dry run, help and a picture know it; TAB does not run it" {
    in_shells '
        echo "print(1)" >>../flow.py; cp ../flow.py ../helping.py .; export COMP=x
        pflow check flow.py | grep -c inferred; pflow explain --graph flow.py | tail -n 1; pflow run flow.py --help | grep -om1 -- "--text"
        pflow run flow.py --text=x -n -q --dry-run 2>&1 | grep -c "would run"; pflow export --to=dot flow.py 2>&1 | grep -c "\->"
        echo "open(\"CANARY\", \"w\")" >>flow.py; pflow __complete run flow.py -- >/dev/null 2>&1; ls CANARY'
    expect 2 $'2\n3 each\n--text\n3\n2' CANARY
}

@test "what was typed first is told the right form" {
    in_shells 'cd ..; for words in flow.py "run flwo.py" "save x flow.py" "run main.py:flow"; do pflow $words >/dev/null; echo $?; done'
    expect 0 $'127\n66\n65\n66'
    [[ $stderr == *'pflow run flow.py runs its flow'*"cannot read the flow 'flwo.py': no such file"*'let it read self.params'*'main.py:create_flow'* ]]
}
