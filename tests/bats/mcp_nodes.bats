#!/usr/bin/env bats
# MCP servers' tools as nodes: pflow mcp add, refresh, list, test, remove, up, status, down, with a real server.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    need jq
    export PATH=$HOME/.local/bin:$PATH XDG_RUNTIME_DIR=$HOME/run SECRET=canary-1 TOKEN=canary-2 CI_DIR=$HOME
    mkdir -p .local/bin run
    cp "$BATS_TEST_DIRNAME/../mcp/client/server.py" server.py
    real=("$PYTHON" "$HOME/server.py")
}

teardown() { pflow mcp down 2>/dev/null || true; }

@test "a server's tools are nodes in pipes and flows, with help and TAB, until it is removed" {
    run --separate-stderr pflow mcp add box -- "${real[@]}"
    expect 0 - "added 17 tools of 'box'"
    [[ $output == *pflow-mcp-box-echo* && $(stat -c %a .local/share/pflow/mcp .local/share/pflow/mcp/box.json | xargs) == "700 600" ]]
    mv server.py moved.py # nothing needs it for what follows
    run --separate-stderr bash -c 'pflow-mcp-box-echo --help | head -1; pflow check "mcp-box-echo --text=hi" && pflow __complete bash 9 99 "" "pflow mcp remove "; pflow mcp list'
    expect 0
    [[ $output == *mcp-box-echo* && $output == *$'\n'box* && $output == *"box  1.2  17 tools  $PYTHON $HOME/server.py"* ]]
    mv moved.py server.py
    run --separate-stderr bash -c 'echo from a pipe | pflow-mcp-box-echo -r; pflow "mcp-box-echo --text=hi => shell \"tr a-z A-Z\"" -r; pflow-mcp-box-fail'
    expect 1 - 'no such thing' || expect 1 - 'such thing'
    [[ $output == $'from a pipe\nHI'* ]]
    run --separate-stderr pflow mcp list --json
    [[ $(jq -r '.[0] | .name, .tools["mcp-box-echo"], .env[0]' <<<"$output" | xargs) == "box echo HOME" ]]
    run --separate-stderr pflow mcp remove box
    expect 0
    [ -z "$(find .local -name '*mcp*box*')" ] && [ ! -e .local/share/pflow/mcp/box.json ]
    run -127 --separate-stderr pflow mcp remove box
    expect 127 '' "cannot find the MCP server 'box'"
}

@test "nothing that pflow makes can be written by others, whatever the umask" {
    rmdir .local/bin .local
    umask 000
    pflow mcp add box -- "${real[@]}"
    pflow save words 'read-file => shell "wc -w"' --command
    pflow new-node own && pflow new-node other --lang=sh
    pflow export words --to=sh -o out/words.sh && pflow lock words
    pflow run 'template "x" --cache' -q && pflow mcp-box-echo --text=hi -q
    printf 'a\nb\n' | PFLOW_TRACE=traces/ pflow map 'template "$item"' -q --ledger=m.db --errors=failed
    LLM_USER_PATH='' pflow models default 4o
    [ -s .config/io.datasette.llm/default_model.txt ]
    run find . -perm /022 ! -type l ! -name 'separate-*'
    expect 0 ''
}

@test "test shows what differs and changes nothing, refresh takes it" {
    pflow mcp add box -- "${real[@]}"
    run --separate-stderr pflow mcp test
    expect 0 '' "'box' answers, with the same tools"
    sed -i 's/"deep"/"deeper"/' server.py
    run --separate-stderr pflow mcp test box
    expect 1 - 'pflow mcp refresh box'
    [[ $output == *+*deeper* ]] && ! type -P pflow-mcp-box-deeper
    run --separate-stderr pflow mcp refresh
    expect 0 - 'other tools: 17'
    [[ $output == *+*deeper* ]] && type -P pflow-mcp-box-deeper && ! type -P pflow-mcp-box-deep
    run --separate-stderr pflow mcp refresh box
    expect 0 '' 'the same tools: 17'
}

@test "a tool that cannot be a node is left out and named" {
    edit() { sed -E "s/for name in names\]/for name in names] + [{'name': 'bad', 'inputSchema': []}, {'name': '查', 'inputSchema': {}}]/; $1" server.py >odd.py; }
    edit 's/"echo": \{"type"/"b-echo": {"type"/'
    run --separate-stderr pflow mcp add a -- "$PYTHON" "$HOME/odd.py"
    expect 0 - "'a': left out the tool 'bad': its inputSchema is not that of an object"
    [[ $output == *pflow-mcp-a-u67e5* && $stderr == *"the tool '查' is the node mcp-a-u67e5"* && $stderr != *b-echo* ]]
    edit ''
    run --separate-stderr pflow mcp add a-b -- "$PYTHON" "$HOME/odd.py"
    expect 0 - "'a-b': left out the tool 'echo': 'mcp-a-b-echo' is '$HOME/"
    [[ $output != *b-echo* && $output == *pflow-mcp-a-b-slow* ]]
}

@test "after kill -9 an add is begun anew, and a remove is finished" {
    PFLOW_TESTING=1 PFLOW_FAILPOINT=mcp-add:3 run -137 pflow mcp add box -- "${real[@]}"
    [[ $(find .local -name 'mcp_*.py' | wc -l) == 3 && ! -e .local/share/pflow/mcp/box.json ]]
    pflow mcp add other -- "${real[@]}"
    [ -z "$(find .local -name '*mcp?box*')" ]
    PFLOW_TESTING=1 PFLOW_FAILPOINT=mcp-remove run -137 pflow mcp remove other
    run -0 pflow mcp remove other
    [ -z "$(find .local -name '*mcp?other*' -o -name 'other.json')" ]
}

@test "up keeps servers until down, and one whose state matters is used only then" {
    run -0 --separate-stderr pflow mcp status
    expect 0 '' 'no server is kept'
    pflow mcp add box --keep -- "${real[@]}"
    run --separate-stderr pflow-mcp-box-remember --text=a
    expect 78 - 'pflow mcp up box'
    run --separate-stderr bash -c 'pflow mcp up 2>/dev/null && pflow-mcp-box-remember --text=a -r && pflow-mcp-box-remember --text=b -r
        pflow mcp status; pflow mcp status --json | jq -r ".[0].calls"; pflow mcp down; pflow mcp status'
    expect 0 - 'no server is kept'
    [[ $output == $'a\na b\nbox  1.2  process '*$'  2 calls\n2' ]]
}

@test "what is kept of variables and headers is shown nowhere" {
    run --separate-stderr pflow mcp add box --env=SECRET -- "${real[@]}"
    expect 0 - && grep -q canary-1 .local/share/pflow/mcp/box.json
    run bash -c 'SECRET=other pflow-mcp-box-fail; pflow mcp list --json; pflow mcp list; pflow mcp test; pflow help mcp-box-fail; pflow nodes --json; grep -r canary .local/share/pflow/nodes .local/bin; pflow mcp add b2 --url=http://127.0.0.1:9/ --header="Authorization: Bearer env:TOKEN"'
    [[ $output != *canary* && $output == *'such thing'* && $output == *'Take ***'* && $output == *'cannot use'* ]]
    run --separate-stderr pflow mcp add b3 --url=http://127.0.0.1:9/ --header='Authorization: Bearer canary-3'
    expect 2 '' "cannot add 'b3': cannot send 'Authorization' with its value written out"
    [[ $stderr != *canary* ]]
}

@test "wrong words are one line with the right form" {
    while IFS='|' read -r code words said; do
        run --separate-stderr bash -c "pflow mcp $words </dev/null"
        expect "$code" '' "$said"
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done <<'END'
2|add|cannot add a server with no name
2|add box|neither a command nor a URL
2|add box --url=http://127.0.0.1:9/ -- cat|with a command and a URL
2|add My_Server -- cat|cannot call a server 'My_Server'
78|add box --env=NOT_SET -- cat|the variable 'NOT_SET' is not set
78|add box -- no-such-program|'no-such-program': no such file or directory
2|list --keep|cannot take --keep with list
2|remove|cannot remove a server without its name
66|add --from=nope.json|cannot find 'nope.json'
66|add --from=cursor|cannot find the configuration of cursor
2|down box|cannot end single servers
END
}

@test "add --from takes the servers of another client, shown without their secrets" {
    mkdir .vscode .codex
    printf '{"mcpServers": {"My_Server": {"command": "%s", "args": ["%s"], "env": {"SECRET": "canary-4"}}, "off": {"command": "x", "disabled": true}}}' "${real[@]}" >.claude.json
    printf '{ // ours\n"inputs": [{"id": "the-key", "type": "promptString", "password": true}],\n"servers": {"box": {"command": "%s", "args": ["${workspaceFolder}/server.py", "${input:the-key}"], "env": {"SECRET": "${input:the-key}"},},}}' "$PYTHON" >.vscode/mcp.json
    printf '[mcp_servers.dx]\ncommand = "%s"\nargs = ["%s"]\nenv = {SECRET = "canary-4"}\n' "${real[@]}" >.codex/config.toml
    run --separate-stderr pflow mcp add --from=claude </dev/null
    expect 2 - '--yes adds them without asking'
    [[ $output == my-server* && ! -e .local/share/pflow/mcp ]]
    run --separate-stderr pflow mcp add --from=claude --yes
    expect 78 - "cannot take the server 'off': it is turned off there"
    [[ $output == my-server*SECRET*pflow-mcp-my-server-echo* && $output$stderr != *canary* ]]
    run --separate-stderr pflow mcp add --from=vscode --yes
    expect 78 '' "the variable 'THE_KEY' is not set; set and export THE_KEY"
    THE_KEY=canary-4 run --separate-stderr pflow mcp add --from=vscode --yes
    expect 0
    [[ $output$stderr$(pflow mcp list; pflow mcp list --json; pflow mcp refresh 2>&1) != *canary* ]]
    run --separate-stderr pflow mcp add --from=.codex/config.toml dx --yes
    expect 0
    [ "$(grep -l canary-4 .local/share/pflow/mcp/*.json | wc -l)" -eq 3 ]
    run --separate-stderr pflow mcp add --from=claude My_Server --yes
    expect 0 '' "'my-server' is there already"
}

@test "npx and uvx are resolved to what they would run, when a server is added" {
    mkdir fake fake/node_modules fake/node_modules/.bin fake/node_modules/box
    printf '#!/bin/sh\necho asked >>%s/asked\nwhile [ "$1" != sh ]; do shift; done\nPATH=%s:$PATH exec "$@"\n' "$HOME" "$HOME/fake" >fake/uvx
    printf '#!/bin/sh\necho "$*" >>%s/asked\nprintf %%s "%s:/usr/bin"\n' "$HOME" "$HOME/fake/node_modules/.bin" >fake/npx
    printf '#!/bin/sh\nexec %s %s "$@"\n' "${real[@]}" | tee fake/box >fake/node_modules/.bin/start-box
    echo '{"bin": {"start-box": "x.js"}}' >fake/node_modules/box/package.json
    chmod +x fake/* fake/node_modules/.bin/*
    PATH=$HOME/fake:$PATH pflow mcp add one -- uvx box@1.0 word
    PATH=$HOME/fake:$PATH pflow mcp add two -- npx -y box@latest
    run --separate-stderr bash -c 'pflow-mcp-one-environment -r | jq -r ".environment.PWD, .words[1]"; pflow-mcp-two-echo --text=hi -r; pflow mcp list --json | jq -c "map(.run)"; cat asked'
    expect 0
    [[ $output == *$'\nword\nhi\n[["'$HOME'/fake/box","word"],["'$HOME'/fake/node_modules/.bin/start-box"]]'*asked*--package=box@latest* ]]
}

@test "what a hostile server does is one line with its code, and a stage does not hang" {
    pflow mcp add box -- "${real[@]}"
    pflow mcp up 2>/dev/null
    while read -r tool code said; do
        run --separate-stderr timeout 60 "pflow-mcp-box-$tool" -r </dev/null
        expect "$code" '' "$said"
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
        [[ $stderr != *$'\e'* ]]
    done <<'END'
fail 1 such thing
ask 1 which pflow declines
huge 65 is longer than 50 MB
garbage 69 what is not a message
cut 69 what is not a message
end 69 it has ended
END
    for program in pflow-mcp-box-fail 'pflow run mcp-box-fail'; do # with what the tool gave
        run --separate-stderr bash -c "$program -n 2>/dev/null | jq -c '.[\"\$pflow\"].error | .exit, .result'"
        [ "$output" = $'1\n{"code":7,"of":[""]}' ]
    done
    run --separate-stderr pflow-mcp-box-silent --timeout=0.5
    expect 124 -
    sed -i 's/"deep"/"deeper"/' server.py
    pflow mcp down
    run -127 --separate-stderr pflow-mcp-box-deep -r
    expect 127 '' 'pflow mcp refresh box'
    run --separate-stderr pflow-mcp-box-twice -r
    expect 0 first
}

@test "pflow mcp serve as a server of itself gives what the nodes give without it" {
    printf 'a,b\n1,x\n' >t.csv
    pflow mcp add own --keep -- pflow mcp serve template load-csv list-files split-text read-file 2>/dev/null
    pflow mcp up
    for words in 'template --template=hi' 'load-csv --path=t.csv' 'list-files --pattern=*.csv' 'split-text --text=abc --size=2'; do
        run -0 bash -c "{ pflow-mcp-own-$words | jq .result; pflow-$words -n; } | jq -cs '.[0] as \$own | .[1] | with_entries(select(.key | in(\$own))) == \$own and \$own != {}'"
        [ "$output" = true ]
    done
    run --separate-stderr pflow-mcp-own-read-file --path=none
    expect 1 - "pflow-read-file: cannot read 'none': no such file or directory"
}

@test "a secret of a server is in no argument list, log, store, trace or error" {
    pflow mcp add box --env=SECRET -- "${real[@]}"
    run --separate-stderr bash -c 'pflow run --keep-store "mcp-box-fail"; pflow run --keep-store "mcp-box-echo --text=hi => mcp-box-garbage"; pflow trace last; pflow trace last --json; pflow runs --json; export PFLOW_TRACE=$HOME/trace; pflow-mcp-box-fail | pflow trace' </dev/null
    [[ $stderr == *'such thing: ***'* && $output == *'not a message'* && -s trace && $output$stderr != *canary* ]]
    pflow-mcp-box-silent 2>/dev/null 3>&- &
    echo "$HOME/run/pflow" >broker
    until_true grep -qaFf broker /proc/[0-9]*/cmdline
    cat /proc/[0-9]*/cmdline >arguments 2>/dev/null || true
    kill "$!"
    ! grep -aq canary-1 arguments || false
    run find . -type f ! -path './.local/share/pflow/mcp/*' ! -name server.py -exec grep -l canary-1 {} +
    [ -z "$output" ]
}
