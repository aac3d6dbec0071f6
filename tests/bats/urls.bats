#!/usr/bin/env bats
# A value in a URL is one part of it, and what a step wrote never chooses its host, however the steps are run.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    node visit 'Reads: shared["url"]: url [explicit]  # where to go' 'Reads: shared["also"]: any = null [pipe]' \
        'Writes: shared["got"]: str [pipe]' <<'END'
    def prep(self, shared): return shared["url"]
    def exec(self, url): return url
    def post(self, shared, _, url): shared["got"] = url
END
    export PFLOW_NODES=$PWD
    echo '{"inputs": {"base": {"type": "str", "required": true}}, "nodes": [{"id": "v", "type": "visit", "inputs": {"url": "$base/in"}}],
        "outputs": {"got": "v.got"}}' >in.pflow.json
    sed 's/base/stdout/g' in.pflow.json >named.pflow.json
    echo '{"nodes": [{"id": "a", "type": "shell", "inputs": {"command": "printf http://h"}}, {"type": "./named.pflow.json"},
        {"type": "template", "inputs": {"template": "${a.stdout}"}}]}' >moved.pflow.json
    sed 's/visit/.\/in.pflow.json/; s/"url": "$base/"base": "$base/' in.pflow.json >outer.pflow.json
}

# Run `CODE OUTPUT COMMAND` of each line; `-` stands for an empty output.
holds() {
    local code wanted command
    while read -r code wanted command; do
        run --separate-stderr sh -c "$command"
        expect "$code" "$([ "$wanted" = - ] || echo "$wanted")"
        [ "$code" -eq 0 ] || [[ $stderr == *"cannot fill "* ]]
    done
}

@test "a value behind literal text is one part of a URL, in stage, flow, batch and flow within" {
    holds <<'END'
0 http://h/a%2F..%3Fb printf a/..?b | pflow visit --url='http://h/$stdin' -r
0 http://h/a%2F..%3Fb pflow run -n "shell 'printf a/..?b' => visit --url='http://h/\$stdout'" -r
0 ["http://h/a%2Fb","http://h/c"] pflow run -n "shell 'echo a/b; echo c' => visit --url='http://h/\$u' --each --as=u" -r
0 http://h/a%2Fb/in pflow run -n "shell 'printf a/b' => ./in.pflow.json --base='http://h/\$stdout'" -r
77 - printf evil | pflow visit --url='http://$stdin@h/' -q
77 - pflow run -n "shell 'printf evil' => visit --url='http://\$stdout/'" -q
77 - pflow run -n "shell 'printf evil' => ./in.pflow.json --base='http://\$stdout'" -q
77 - pflow run -n "shell 'printf evil' => visit --url='http://\$u/' --each --as=u" -q
77 - printf evil | pflow-llm x -m echo -a 'http://$stdin/x' -q
77 - printf evil | pflow-http 'http://$stdin/' --body:=null -r
77 - printf evil | pflow-fetch-page 'http://$stdin/' -r
77 - printf evil | pflow-yt-transcript 'https://$stdin/' -r
END
}

@test "a URL begins with what a person gave, never in a template with what a step wrote" {
    holds <<'END'
0 http://h/i pflow run -n 'visit --url=$base/i' --base=http://h -r
0 http://h/i pflow-set -n base=http://h | pflow visit --url='$base/i' -r
0 http://h/i pflow-set -n base=http://h | pflow run 'visit --url=$base/i' -r
0 http://h/i printf http://h | pflow visit --url='$stdin/i' -r
0 http://h/in pflow run -n ./in.pflow.json --base=http://h -r
0 http://h pflow-shell -n 'printf http://h' | pflow visit --map-in url=stdout -r
0 http://h pflow run -n "shell 'printf http://h' => visit --map-in url=stdout" -r
0 ["http://h"] pflow run -n "shell 'echo http://h' => visit --each --as=url" -r
77 - pflow-shell -n 'printf http://h' | pflow visit --url='$stdout/i' -q
77 - pflow-shell -n 'printf http://h' | pflow visit --url='$stdout' -q
77 - pflow-shell -n 'printf http://h' --id=a | pflow visit --url='${a.stdout}/i' -q
77 - pflow-shell -n 'printf http://h' | pflow run 'visit --url=$stdout/i' -q
77 - pflow run -n "shell 'printf http://h' => visit --url='\$stdout/i'" -q
77 - pflow run -n "shell 'printf http://h' => visit --url='\$u/i' --each --as=u" -q
77 - pflow run -n "shell 'printf http://h' => ./in.pflow.json --map-in base=stdout" -q
77 - pflow run -n "shell 'printf http://h' => ./outer.pflow.json --map-in base=stdout" -q
77 - pflow run -n "shell 'printf http://h' => ./named.pflow.json" -q
77 - pflow run -n moved.pflow.json -q
END
}

@test "both exports hold a URL alike, and explain says who chooses the host" {
    flow='shell "printf http://h" => visit --url=$stdout/i'
    for target in sh python; do
        pflow export --to=$target 'visit --url=$base/$part' >good.$target
        pflow export --to=$target "$flow" >bad.$target
    done
    holds <<'END'
0 http://h/a%2Fb sh good.sh --base=http://h --part=a/b | pflow-get
77 - sh bad.sh | pflow-get
0 http://h/a%2Fb "$PYTHON" good.python --base=http://h --part=a/b -r
77 - "$PYTHON" bad.python -q
END
    run pflow explain 'visit --url=$base/i'
    [[ $(xargs <<<"$output") == *'template $base/i of --base, which chooses the host'* ]]
    run pflow explain "$flow"
    [[ $(xargs <<<"$output") == *'(shell), which is refused: what a step wrote cannot choose the host'* ]]
}
