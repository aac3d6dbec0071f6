#!/usr/bin/env bats
# Secrets: what a failure says has a mask in their place, on stderr, in documents, logs and traces.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    export PFLOW_NODES=$BATS_TEST_TMPDIR/nodes MY_TOKEN='s3cr3t-"canary' XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
    export PFLOW_TRACE=$BATS_TEST_TMPDIR/traces/
    mkdir -p "$PFLOW_NODES" "$XDG_STATE_HOME" "$PFLOW_TRACE"
    cd "$PFLOW_NODES" || return
    node fetch 'Reads: shared["url"]: str [pipe]' 'Reads: shared["pass"]: str = "" [secret]' \
        'Writes: shared["page"]: str [pipe]' 'Params: token: str = "" [secret] [env MY_TOKEN]' \
        'Actions: default, error' <<'END'
    def exec(self, prepared):
        import json, urllib.parse
        token = self.params["token"]
        raise ConnectionError(f"no page for {token!r}: {json.dumps([token])} {urllib.parse.quote(token)}")

    def prep(self, shared):
        if shared["pass"]:
            raise ValueError("wrong: " + shared["pass"])
END
    printf '%s\n' '#!/bin/sh' '# Call a service.' '#' '# Interface:' '# - Reads: shared["url"]: str [pipe]' \
        '# - Writes: shared["page"]: str [pipe]' '# - Params: token: str = "" [secret] [env MY_TOKEN]' \
        'printf "bad key %s" "$MY_TOKEN" >&2; sleep 0; echo " at $1" >&2; exit 3' >pflow-call
    chmod +x pflow-call
    cd "$BATS_TEST_TMPDIR" || return
}

# Whether nothing that was printed, or written anywhere, holds the secret in one of its forms.
is_nowhere() {
    printf '%s\n' "$output" "$stderr" >said
    run grep -rE 's3cr3t|canary|hunter22' said state traces
    expect 1 ''
}

@test "a stage's failure shows no secret: on stderr, in the error document, with --debug" {
    in_shells 'pflow fetch -n --url=u --debug; pflow-set -n pass=hunter22 | pflow fetch --url=u | pflow-get url'
    expect 1 - "no page for '***'"
    expect 1 - "wrong: ***"
    is_nowhere
}

@test "a program gets its secret, and what it says of it is masked, in a stage and in a step" {
    in_shells 'pflow call -n --url=u; pflow run -n "call --url=u"'
    expect 3 - 'bad key ***'
    is_nowhere
    in_shells 'pflow test-node call -v --only=runs --only=error'
    expect 1
    [[ $output == *'bad key ***'* ]]
    is_nowhere
}

@test "the failure of a step shows no secret: not in a log, a trace, a list of errors or the store" {
    export flow batch=$PWD/batch.pflow.json keep=$PWD/keep.pflow.json
    local list='{"id": "list", "type": "shell", "inputs": {"command": "echo [1,2]"}}'
    printf '{"nodes": [%s, {"id": "b", "type": "%s", "batch": {"over": "list.stdout", "as": "url"%s}}]}' \
        "$list" call '' >"$batch"
    printf '{"nodes": [%s, {"id": "b", "type": "%s", "batch": {"over": "list.stdout", "as": "url"%s}}]}' \
        "$list" fetch ', "on_error": "keep", "jobs": 2' >"$keep"
    for flow in 'fetch --url=u --retries=1 --wait=0' 'fetch --url=u =error=> shell --command=true' "$batch" "$keep"; do
        rm -rf state/pflow
        in_shells 'pflow run -n --isolate "$flow"; pflow run -n "$flow"; pflow runs; pflow trace --json; pflow trace'
        expect 0
        [[ $output == *'***'* ]]
        is_nowhere
    done
    [ -n "$(ls traces state/pflow/runs)" ]
    # In a flow that another one runs, and in a branch of a fork.
    in_shells '
        echo "{\"nodes\":[{\"id\":\"fetch\",\"inputs\":{\"url\":\"u\"}}]}" >in.pflow.json
        echo "{\"nodes\": [{\"id\": \"a\", \"type\": \"read-file\", \"inputs\": {\"path\": \"in.pflow.json\"}},
            {\"id\": \"b\", \"type\": \"./in.pflow.json\"}, {\"id\": \"c\", \"type\": \"shell\", \"inputs\": {\"command\": \"sleep 9\"}}],
            \"edges\": [{\"from\": \"a\", \"to\": \"b\"}, {\"from\": \"a\", \"to\": \"c\"}]}" >out.pflow.json
        pflow run -n out.pflow.json'
    expect 69 - "no page for '***'"
    is_nowhere
    in_shells 'pflow-set -n pass=hunter22 | pflow run "fetch --url=u =error=> shell --command=true" -q --show-store 2>&1'
    expect 0
    [[ $output == *'pass = ***'* ]]
    is_nowhere
    # In an item, where a message cuts it.
    in_shells '
        echo "{\"nodes\": [{\"id\": \"fetch\", \"inputs\": {\"url\": \"\${at.url}\", \"pass\": \"\$key\"},
            \"batch\": {\"over\": \"all\", \"as\": \"at\"}}]}" >all.pflow.json
        key=hunter22-$(printf "%060d" 0)
        pflow-set -n key=$key all:="[{\"url\": \"http://example.com/?key=$key\"}]" | XDG_STATE_HOME=$PWD/other pflow run all.pflow.json | pflow-get url'
    expect 1 - 'item 1 ({"url":"http://example.com/?key=***"}): '
    is_nowhere
    # Each of a batch's items.
    in_shells '
        echo "{\"nodes\": [{\"id\": \"fetch\", \"inputs\": {\"url\": \"u\", \"pass\": \"\${who.pass}\"},
            \"batch\": {\"over\": \"users\", \"as\": \"who\"}}]}" >each.pflow.json
        pflow-set -n users:="[{\"pass\": \"hunter22\"}]" | pflow run each.pflow.json | pflow-get url
        pflow run -n each.pflow.json --users="[{\"pass\": \"hunter22\"}]"'
    expect 2 - 'item 1: cannot run fetch: ValueError: wrong: ***'
    expect 2 - 'cannot take --users: a secret is never a flag'
    is_nowhere
}

@test "an interface with a secret that does not parse is no open one" {
    sed 's/pass"\]: str/pass"]: strr/; s/Fetch/Faulty/' "$PFLOW_NODES/fetch.py" >"$PFLOW_NODES/faulty.py"
    for command in 'pflow faulty --url=u' 'pflow run "faulty --url=u"'; do
        in_shells "pflow-set -n pass=hunter22 | $command | pflow-get url"
        expect 65 - "cannot parse the interface at"
        is_nowhere
    done
}

@test "what is given to a flag for a secret is not quoted back, wherever it is wrong" {
    in_shells '
        for flow in "fetch --token=canary => shell --nope" "fetch --url=u --tokn=canary" "fetch --token=\"x canary\"" \
            "fetch --url=u token=canary" "fetch --pass canary" "shell --api-key=canary => fetch" "fetch --token@canary"; do
            pflow run -n "$flow"; pflow check "$flow"; pflow "$flow"; pflow save it "$flow"
        done
        pflow run -n fetch --url=u --pass="x canary" :: shell
        pflow run -n "fetch --url=u" --token=canary
        for flag in --token=canary --tokn=canary token=canary --fetch.token=canary; do
            pflow fetch -n --url=u -- "$flag"; pflow run -n fetch --url=u "$flag"
        done
        pflow export --to=sh "shell --command=true" >flow.sh; pflow export --to=sh "shell --command=true --args=\$x" >x.sh
        for tool in pflow-set pflow-get pflow-catch "sh flow.sh" "sh x.sh"; do pflow-set a=b | $tool --token=canary; done'
    expect 2 - "cannot read the flow at 'fetch --token=*** => shell --nope': fetch cannot take --token: a secret is never a flag"
    expect 2 - "did you mean --token?"
    is_nowhere
}

@test "after a day of runs, kills, resumes and kept answers nothing at home has a secret, and none is for others" {
    export HOME=$PWD/home LLM_USER_PATH=$PWD/llm MY_TOKEN='canary/"ä' PFLOW_TRACE=0 steps
    unset XDG_STATE_HOME
    mkdir home
    cd "$PFLOW_NODES" || return
    node login 'Reads: shared["pass"]: str [secret]' 'Params: token: str = "" [secret] [env MY_TOKEN]' 'Repeats: yes' \
        'Writes: shared["session"]: str [secret]' 'Writes: shared["page"]: str' <<'END'
    def post(self, shared, prepared, done):
        shared["session"], shared["page"] = "canary-session", self.params["token"] + " and " + shared["pass"]
END
    node size 'Reads: shared["key"]: str [secret]' 'Reads: shared["text"]: str = ""' 'Writes: shared["size"]: int' 'Writes: shared["raw"]: bytes' <<'END'
    flow_safe = True

    def post(self, shared, prepared, done):
        shared["size"] = len(shared["key"] + shared["text"])
        shared["raw"] = b"\xff" + shared["key"].encode() if shared["text"] == "raw" else b""
END
    cd "$BATS_TEST_TMPDIR" || return
    # Secrets from the pipe and a variable, that a step writes, in items, in longer texts, in bytes, and from a vault.
    steps='"nodes": [{"id": "vault", "type": "shell", "repeats": true, "cache": true, "inputs": {"command": "printf \"[\\\"c%s-1\\\",2]\" anary"}},
        {"id": "size", "type": "size", "inputs": {"key": "${vault.stdout[0]}", "text": "raw"}}'
    echo "{$steps], \"outputs\": {\"it\": \"vault.stdout\"}, \"mappings\": {\"vault\": {\"output_mappings\": {\"*\": \"vault\"}}}}" >inner.pflow.json
    echo "{\"name\": \"day\", $steps"', {"id": "login", "type": "login"}, {"id": "inner", "type": "./inner.pflow.json"},
        {"id": "call", "type": "shell", "repeats": true, "inputs": {"command": "echo \"$1\"", "args": ["Bearer ${session}; ${page}"]}},
        {"id": "told", "type": "size", "inputs": {"key": "${inner.it[0]}", "text": "${page}; ${note}"}},
        {"id": "each", "type": "size", "batch": {"over": "users", "as": "who", "jobs": 2}, "inputs": {"key": "${who.pass}", "text": "${who.name}"}},
        {"id": "end", "type": "shell", "repeats": true, "inputs": {"command": "test -e ok"}}], "mappings": {
        "vault": {"output_mappings": {"*": "vault"}}, "size": {"output_mappings": {"*": "size"}}, "inner": {"output_mappings": {"*": "inner"}},
        "call": {"output_mappings": {"*": "call"}}, "told": {"output_mappings": {"*": "told"}},
        "each": {"output_mappings": {"*": "each"}}, "end": {"output_mappings": {"*": "end"}}}}' >day.pflow.json
    printf canary-pass >pass
    echo '[{"name": "raw", "pass": "canary-ann"}, {"name": "bob", "pass": "canary-bob"}]' >users
    in_shells '
        umask 000; cp ../*.pflow.json .; files="--pass@../pass --users@../users --note@../note"; echo "at $(cat ../pass)" >../note
        {
            pflow-set -n pass="$(cat ../pass)" users:="$(cat ../users)" note="at $(cat ../pass)" >../piped
            pflow run day.pflow.json -q <../piped; pflow run day.pflow.json -q --if-running=skip --keep-store <../piped
            PFLOW_TESTING=1 PFLOW_FAILPOINT=journal.end:8 pflow run day.pflow.json -q <../piped
            cp -r ~/.local/state/pflow/runs/ ../after-kill; : >ok
            pflow resume last -q; MY_TOKEN= pflow resume last -q $files; MY_TOKEN=other pflow resume last -q $files
            MY_TOKEN=canary-2 pflow resume last -q --accept-changes $files
            pflow lock day.pflow.json; pflow runs; pflow runs --json; pflow trace last --store; pflow trace last --json
            for step in vault size told each; do pflow why last $step; done
            pflow replay last --dry-run -v <../piped >/dev/null; pflow replay last -q <../piped; pflow cache info; pflow cache verify
            pflow-set -n key=canary-k text="at canary-k" | pflow size --cache -v >../sized
        } >../said 2>&1
        find ~ -type f ! -perm 600 -o -type d ! -perm 700 ! -path "$HOME" ! -path "$HOME/.local" ! -path "$HOME/.local/state" ! -path "$HOME/.cache"
        ls ~/.local/state/pflow/key ~/.local/state/pflow/runs/*/journal.jsonl | wc -l
        base64=$(for pad in "" x xx; do printf "%scanary" "$pad" | base64 | cut -c 5-8; done | paste -sd "|")
                grep -rlEa "canary|$base64" ~ ../after-kill ../said day.lock.json 2>&1'
    expect 1 3
}
