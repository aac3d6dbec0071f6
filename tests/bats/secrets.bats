#!/usr/bin/env bats
# Secrets: what a failure says has a mask in their place, on stderr, in documents, logs and traces (DESIGN.md, section 3).
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
        echo "{\"nodes\": [{\"id\": \"fetch\", \"inputs\": {\"url\": \"\$at.url\", \"pass\": \"\$key\"},
            \"batch\": {\"over\": \"all\", \"as\": \"at\"}}]}" >all.pflow.json
        key=hunter22-$(printf "%060d" 0)
        pflow-set -n key=$key all:="[{\"url\": \"http://example.com/?key=$key\"}]" | XDG_STATE_HOME=$PWD/other pflow run all.pflow.json | pflow-get url'
    expect 1 - 'item 0 ({"url":"http://example.com/?key=***"}): '
    is_nowhere
    # Each of a batch's items.
    in_shells '
        echo "{\"nodes\": [{\"id\": \"fetch\", \"inputs\": {\"url\": \"u\", \"pass\": \"\$who.pass\"},
            \"batch\": {\"over\": \"users\", \"as\": \"who\"}}]}" >each.pflow.json
        pflow-set -n users:="[{\"pass\": \"hunter22\"}]" | pflow run each.pflow.json | pflow-get url
        pflow run -n each.pflow.json --users="[{\"pass\": \"hunter22\"}]"'
    expect 2 - 'item 0: cannot run fetch: ValueError: wrong: ***'
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
    expect 2 - "cannot read the flow at 'fetch --token=*** => shell --nope': cannot take --token: a secret is never a flag"
    expect 2 - "did you mean --token?"
    is_nowhere
}
