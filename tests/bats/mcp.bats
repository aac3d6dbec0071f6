# pflow mcp serve: pflow as an MCP server, as a user starts it and as the official inspector sees it.

setup_file() {
    load helper
    start_server
}

teardown_file() {
    load helper
    stop_server
}

setup() { load helper; }

HELLO='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}'
READY='{"jsonrpc":"2.0","method":"notifications/initialized"}'

# Say what comes on stdin to a server, a message a line, after a handshake; hang up once it has given so many answers.
say() {
    local answers=$1 line
    coproc SERVER { exec pflow mcp serve --all 2>said 3>&-; }
    local in=${SERVER[1]} out=${SERVER[0]} pid=$SERVER_PID
    { printf '%s\n' "$HELLO" "$READY" && cat; } >&"$in"
    read -r -u "$out" line
    while ((answers--)); do read -r -u "$out" line && printf '%s\n' "$line"; done
    exec {in}>&-
    wait "$pid"
}

@test "a node is called by hand: one line of JSON in, one out" {
    need jq
    run say 1 <<<'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shell","arguments":{"command":"cat","input":"$x --y"}}}'
    [ "$status" -eq 0 ]
    [ "$(jq -r .result.structuredContent.stdout <<<"$output")" = '$x --y' ]
}

@test "a message that cannot be read is answered with an error, and its id where that can be told" {
    need jq
    local depth id
    for id in a:250 null:100000; do
        depth=${id#*:} id=${id%:*}
        run say 1 <<<'{"jsonrpc":"2.0","params":{"name":"shell","arguments":{"id":7,"command":"\"[{\"","input":'"$(printf "%${depth}s" | tr ' ' '[')$(printf "%${depth}s" | tr ' ' ']')"'}},"id":"a","method":"tools/call"}'
        [ "$status" -eq 0 ]
        [ "$(jq -r '"\(.id) \(.error.code)"' <<<"$output")" = "$id -32700" ]
        [[ $output == *'recursion limit'* ]]
    done
    run say 3 <<<$'\n{"id":3}\nno JSON\n{"jsonrpc":"2.0","id":4,"method":"ping"}'
    [ "$(jq -c '[.id, .error.code]' <<<"$output" | tr -d '\n')" = '[3,-32600][null,-32700][4,null]' ]
}

@test "the root of all is served only to who says so" {
    run --separate-stderr env -C / pflow mcp serve </dev/null
    expect 2 '' '--root DIR limits the files'
    run --separate-stderr env -C / pflow mcp serve --root=/ </dev/null
    expect 0
    run --separate-stderr pflow mcp serve --root=nope </dev/null
    expect 66 '' "cannot serve the files below 'nope': no such file or directory"
}

@test "without the SDK it is 78, with what gets it" {
    mkdir hidden
    echo 'raise ImportError("no", name="mcp_types")' >hidden/mcp_types.py
    run --separate-stderr env PYTHONPATH=hidden pflow mcp serve </dev/null
    expect 78 '' "cannot serve: the official MCP SDK in its present form is not installed; "
}

@test "wrong words are 2, a name that is none 127" {
    run --separate-stderr pflow mcp </dev/null
    expect 2 '' 'serve'
    run -127 --separate-stderr pflow mcp serve red-file </dev/null
    expect 127 '' 'did you mean read-file'
}

@test "a client that says nothing ends it, with nothing on stdout" {
    in_shells 'pflow mcp serve --read-only </dev/null; echo $?; pflow mcp serve <&-'
    expect 64 0 'cannot serve: stdin is closed'
}

@test "it says who is to speak to it when a person starts it" {
    in_terminal bash --norc --noprofile
    type_line '(trap : INT; pflow mcp serve; echo "it ended with $?")'
    shows 'an MCP client starts this'
    "${tmux[@]}" send-keys C-c
    shows 'it ended with 130'
}

# bats test_tags=rights
@test "it works without a home, in a directory that cannot be written" {
    need jq
    printf '%s\n' "$HELLO" "$READY" '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' >messages
    mkdir locked && chmod 555 locked && cd locked || return
    export OLD=$HOME
    as_mortal 'unset HOME; { cat "$OLD/messages"; until grep -q "\"id\":2" "$OLD/answers"; do sleep 0.05; done; } |
        pflow mcp serve read-file >"$OLD/answers" 2>"$OLD/said"'
    [ "$(jq -r 'select(.id == 2) | .result.tools[].name' "$OLD/answers")" = read-file ]
    [ ! -s "$OLD/said" ]
}

# The official inspector, without its browser: MCP_INSPECTOR is the node_modules that hold it and its node.
inspect() {
    local node; node=$(echo "$MCP_INSPECTOR"/node-linux-*/bin)
    PATH=$node:$PATH timeout 60 node "$MCP_INSPECTOR/@modelcontextprotocol/inspector/clients/launcher/build/index.js" --cli "$@"
}

@test "the official inspector lists and calls the tools, and has nothing to say" {
    need jq
    [ -n "${MCP_INSPECTOR-}" ] || missing 'the MCP inspector is not there (MCP_INSPECTOR)' || return
    mkdir -p .local/share/pflow/flows
    cat >.local/share/pflow/flows/lines.pflow.json <<'E'
{"pflow": 1, "description": "Count lines.", "inputs": {"file": {"type": "path"}}, "outputs": {"lines": "count.stdout"},
 "nodes": [{"id": "read", "type": "read-file"}, {"id": "count", "type": "shell", "inputs": {"command": "wc -l"}}],
 "mappings": {"read": {"input_mappings": {"path": "file"}}, "count": {"input_mappings": {"input": "read.content"}}}}
E
    seq 3 >three.txt
    mkdir .local/share/pflow/nodes && cd .local/share/pflow/nodes || return # the inspector hands on no PFLOW_NODES
    node all_types 'Reads: shared["a"]: str [pipe]  # text' 'Reads: shared["b"]: list[str] = []' 'Reads: shared["c"]: list = []' \
        'Reads: shared["d"]: dict = {}' 'Reads: shared["e"]: list[dict{a: int, b: list[bytes], c: any}] = []' \
        'Writes: shared["f"]: dict{stars: int, why: str} [pipe]' 'Writes: shared["g"]: path' 'Writes: shared["h"]: any' \
        'Params: i: low|high = "low"' 'Params: j: float = 1.5' 'Params: k: bytes = null' </dev/null
    cd "$HOME" || return
    run --separate-stderr inspect pflow mcp serve --method tools/list --strict
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    [ "$(jq -r '.tools[].name' <<<"$output" | grep -c -e '^pflow_' -e '^lines$' -e '^read-file$' -e '^all-types$')" = 9 ]
    run --separate-stderr inspect pflow mcp serve --method tools/call --tool-name lines --tool-arg file=three.txt
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    [ "$(jq -c '.structuredContent, .isError' <<<"$output" | tr '\n' ' ')" = '{"lines":"3\n"} false ' ]
}
