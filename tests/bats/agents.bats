# What another program needs to plan without our planner: the nodes, a check that says what to change, errors as JSON.

setup() { load helper; }

# A program that knows no node: it picks them by their effects, misspells a type and an input, forgets the wiring, and
# fixes its flow by the findings alone.
planner() {
    cat >planner.py <<'END'
import json
import subprocess
import sys


def pflow(*words, flow=None):
    ran = subprocess.run(["pflow", *words], input=flow and json.dumps(flow), capture_output=True, text=True)
    return json.loads(ran.stdout)


def merged(target, patch):
    for key, value in patch.items():
        target[key] = merged(target.get(key, {}), value) if isinstance(value, dict) else value
    return target


def fix(flow, finding):
    """What is misspelt is the text at the pointer, or else its last part; what is missing is merged."""
    if "merge" in finding:
        merged(flow, finding["merge"])
        return
    *way, last = finding["pointer"].split("/")[1:]
    place = flow
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if f"'{place[last]}'" in finding["message"]:
        place[last] = finding["near"][0]
    else:
        place[finding["near"][0]] = place.pop(last)


by_effect = {str(each.get("effects")): each["name"] for each in pflow("nodes", "--json")}
writes = by_effect["['writes files']"]
flow = {
    "inputs": {name: {"type": "path", "description": name} for name in ("source", "target")},
    "nodes": [
        {"id": "in", "type": "raed-file", "inputs": {"path": "${source}"}},
        {"id": "out", "type": writes, "inputs": {"pth": "${target}"}},
    ],
    "mappings": {"in": {"output_mappings": {"content": "in.got"}}},
}
for turn in range(4):
    verdict = pflow("check", "--json", "-", flow=flow)
    print(turn, verdict["exit"], *sorted({each["rule"] for each in verdict["findings"]}), file=sys.stderr)
    if verdict["ok"]:
        break
    for each in verdict["findings"]:
        fix(flow, each)
json.dump(flow, open("made.pflow.json", "w"))
values = {"source": "a.txt", "target": "b.txt"}
print(*(f"{need['flag']}={values[need['name']]}" for need in verdict["needs"] if need["required"]))
print(sorted({touch["effect"] for touch in verdict["touches"]}), file=sys.stderr)
END
}

@test "a program that knows no node makes a flow, fixes it by the findings, and runs it" {
    planner
    echo 'from here' >a.txt
    run --separate-stderr "$PYTHON" planner.py
    expect 0 '--source=a.txt --target=b.txt' "['reads files', 'writes files']"
    [[ $stderr == *'0 65 PF11 PF13'* && $stderr == *' 0'$'\n'"['reads"* ]] || expect 0 - 'fixed'
    eval "pflow run made.pflow.json -q $output"
    [ "$(cat b.txt)" = 'from here' ]
}

@test "the needs of a check are the flags that a run takes, of a saved flow too" {
    need jq
    mkdir -p .local/share/pflow/flows
    echo '{"description": "Say it.", "inputs": {"what": {"type": "str", "description": "what to say"}}, "outputs": {"said": "s.stdout"},
        "nodes": [{"id": "s", "type": "shell", "inputs": {"command": "printf %s \"$1\"", "args": ["$what"]}}]}' >.local/share/pflow/flows/say-it.pflow.json
    in_shells 'pflow nodes --json say-it | jq -c ".[0] | [.name, .summary, .reads.what.flag, .reads.what.type, .reads.what.required, .writes.said.type, .effects]"
        pflow check --json say-it | jq -c "[.ok, .description, (.needs[] | .flag, .type, .doc), .gives.outputs.said.type, .touches[].effect]"
        pflow run say-it -r "$(pflow check --json say-it | jq -r ".needs[0].flag")=hello"
        echo "{\"nodes\": [{\"type\": \"flow:say-it\", \"inputs\": {\"what\": \"within\"}}]}" | pflow run - -r'
    expect 0 '["flow:say-it","Say it.","--what","str",true,"any",["runs commands"]]
[true,"Say it.","--what","str","what to say","any","runs commands"]
hello
within'
}

@test "each error is one line of JSON on stdout, and the same words on stderr" {
    need jq
    while read -r code words; do
        WORDS=$words in_shells 'pflow $WORDS </dev/null >out; echo $?; jq -r ".error | .exit, .command" out; wc -l <out'
        expect 0 "$code"$'\n'"$code"$'\n'"${words%% *}"$'\n1' 'pflow: cannot'
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done <<'END'
66 check --json none.json
2 explain --json --graph llm
127 nodes --json wriet-file
END
    in_shells 'pflow nodes --json wriet-file 2>/dev/null | jq -r ".error.near[0]"'
    expect 0 write-file
}

@test "a --json that is no flag of the command's makes no document of it" {
    for words in 'check -- --json' 'chekc --json'; do
        WORDS=$words in_shells 'pflow $WORDS </dev/null 2>/dev/null | grep -c "\"command\":"'
        expect 1 0
    done
}

@test "a stdout that is full, closed or read by nobody changes no exit code and adds no words" {
    in_shells 'pflow check --json none.json >/dev/full; echo $?; { pflow check --json none.json; echo $? >&2; } 2>err | :; cat err; pflow check --json none.json >&-; echo $?'
    expect 0 $'66\npflow: cannot find the flow \'none.json\': no such file\n66\n73'
    [ "$(wc -l <<<"$stderr")" -eq 2 ]
}
