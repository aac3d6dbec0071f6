# What another program needs to plan without our planner: the nodes, a check that says what would mend, errors as JSON.

setup() { load helper; }

# A program that knows no node: it picks them by their types, and mends its flow by the findings alone.
planner() {
    cat >planner.py <<'END'
import json
import subprocess
import sys


def pflow(*words, flow=None):
    given = None if flow is None else json.dumps(flow)
    ran = subprocess.run(["pflow", *words], input=given, capture_output=True, text=True)
    return json.loads(ran.stdout), ran.returncode


def piped(items):
    return next((key for key, item in items.items() if "pipe" in item.get("marks", [])), None)


def node(nodes, effect, *, reads_pipe):
    """The node that has this effect alone, takes a path, and reads (or writes) what a pipe carries."""
    for each in nodes:
        paths = [key for key, item in each["reads"].items() if item["type"] == "path" and item["required"]]
        if each["effects"] == [effect] and paths and bool(piped(each["reads"])) == reads_pipe:
            return each, paths[0]
    sys.exit("no such node")


def slip(name):
    """As somebody writes a name who has it from memory."""
    return name[0] + name[2] + name[1] + name[3:]


def draft(nodes):
    """A flow from one file to another: its wiring forgotten, a type and an input's name misspelt."""
    source, source_path = node(nodes, "reads files", reads_pipe=False)
    sink, sink_path = node(nodes, "writes files", reads_pipe=True)
    read = {"id": "in", "type": slip(source["name"]), "inputs": {source_path: "${source}"}}
    write = {"id": "out", "type": sink["name"], "inputs": {slip(sink_path): "${target}"}}
    inputs = {name: {"type": "path", "description": name} for name in ("source", "target")}
    rename = {"in": {"output_mappings": {piped(source["writes"]): "in.got"}}}
    return {"description": "copy", "inputs": inputs, "nodes": [read, write], "mappings": rename}


def merged(target, patch):
    for key, value in patch.items():
        target[key] = merged(target.get(key, {}), value) if isinstance(value, dict) else value
    return target


def mend(flow, finding):
    """What is misspelt is the text at the pointer, or else the pointer's last part; what is missing is merged."""
    if "merge" in finding:
        merged(flow, finding["merge"])
    elif "near" in finding:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in finding["pointer"].split("/")[1:]]
        place = flow
        for part in way:
            place = place[int(part)] if isinstance(place, list) else place[part]
        if f"'{place[last]}'" in finding["message"]:
            place[last] = finding["near"][0]
        else:
            place[finding["near"][0]] = place.pop(last)


nodes, code = pflow("nodes", "--json")
flow = draft([each for each in nodes if "reads" in each and not each["open"]])
for turn in range(4):
    verdict, code = pflow("check", "--json", "-", flow=flow)
    print(turn, verdict["exit"], *sorted({each["rule"] for each in verdict["findings"]}), file=sys.stderr)
    if verdict["ok"]:
        break
    for each in verdict["findings"]:
        mend(flow, each)
json.dump(flow, open("made.pflow.json", "w"))
values = {"source": "a.txt", "target": "b.txt"}
print(*(f"{need['flag']}={values[need['name']]}" for need in verdict["needs"] if need["required"]))
print(sorted({touch["effect"] for touch in verdict["touches"]}), file=sys.stderr)
END
}

@test "a program that knows no node makes a flow by types, mends it by the findings, and runs it" {
    planner
    echo 'from here' >a.txt
    run --separate-stderr "$PYTHON" planner.py
    expect 0 '--source=a.txt --target=b.txt' "['reads files', 'writes files']"
    [[ $stderr == *'0 65 PF11 PF13'* && $stderr == *' 0'$'\n'"['reads"* ]] || expect 0 - 'mended'
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
        pflow run say-it -r "$(pflow check --json say-it | jq -r ".needs[0].flag")=hello"; echo
        echo "{\"nodes\": [{\"type\": \"flow:say-it\", \"inputs\": {\"what\": \"within\"}}]}" | pflow run - -r'
    expect 0 '["flow:say-it","Say it.","--what","str",true,"any",["runs commands"]]
[true,"Say it.","--what","str","what to say","any","runs commands"]
hello
within'
}

@test "every node tells its interface whole" {
    need jq
    in_shells 'pflow nodes --json | jq -r ".[] | select(.origin == \"bundled\") | [has(\"name\", \"version\", \"summary\", \"description\", \"reads\", \"writes\", \"params\", \"actions\", \"effects\", \"flow_safe\", \"open\", \"origin\", \"file\")] | all" | sort -u
        pflow nodes --json | jq -r ".[] | select(.origin == \"bundled\") | .reads[], .params[] | [has(\"type\", \"doc\", \"required\", \"flag\")] | all" | sort -u
        pflow nodes --json llm write-file | jq -r ".[1].reads.path | .flag, .type, .marks[]"; pflow check --schema | jq -r .type'
    expect 0 $'true\ntrue\n--path\npath\nexplicit\nobject'
}

@test "each error is one line of JSON on stdout, and the same words on stderr" {
    need jq
    while read -r code words; do
        WORDS=$words in_shells 'pflow $WORDS </dev/null >out; echo $?; jq -r ".error | .exit, .command" out; wc -l <out'
        expect 0 "$code"$'\n'"$code"$'\n'"${words%% *}"$'\n1' 'pflow: cannot'
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done <<'END'
66 check --json none.json
2 check none.json --json --bogus
2 explain --json --graph llm
127 nodes --json wriet-file
66 trace --json nope
2 runs --json -n many
127 test-node --json nope
END
    in_shells 'pflow nodes --json wriet-file 2>/dev/null | jq -r ".error.near[0]"'
    expect 0 write-file
}

@test "a --json that is no flag of the command's makes no document" {
    for words in 'check -- --json' 'chekc --json' 'check llm --nonsense=1 => llm --json'; do
        WORDS=$words in_shells 'pflow $WORDS </dev/null 2>/dev/null | wc -c'
        expect 0 0
    done
}

@test "a stdout that is full, closed or read by nobody changes no exit code and adds no words" {
    in_shells 'pflow check --json none.json >/dev/full; echo $?; { pflow check --json none.json; echo $? >&2; } 2>err | :; cat err; pflow check --json none.json >&-; echo $?'
    expect 0 $'66\npflow: cannot find the flow \'none.json\': no such file\n66\n73'
    [ "$(wc -l <<<"$stderr")" -eq 2 ]
}
