#!/usr/bin/env bats
# The trace: in the header, and where PFLOW_TRACE says.
# shellcheck disable=SC2016,SC2154

load helper

setup() { quick_llm; }

parent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01

@test "PFLOW_TRACE=1 writes events to stderr, as JSON lines" {
    need jq
    in_shells 'PFLOW_TRACE=1 pflow-shell -n --command=true -q 2>events; jq -c "[.event, .id, .node, .exit]" events'
    expect 0 $'["start","shell","shell",null]\n["end","shell","shell",0]'
    in_shells 'PFLOW_TRACE=0 pflow-shell -n --command=true -q 2>&1; PFLOW_TRACE=/nope/events pflow-shell -n --command="echo hi" -r; ls'
    expect 0 hi 'warning: cannot write the trace'
}

@test "PFLOW_TRACE=FILE gathers the events of a pipe, one line each" {
    need jq
    in_shells '
        PFLOW_TRACE=$PWD/events; export PFLOW_TRACE
        pflow-shell -n --command="echo hi" | pflow-write-file --path=o -q
        pflow-read-file --path=/nope -q 2>/dev/null
        jq -s -c "[length, (map(.run) | unique | length), (map(.exit) | max)]" events; stat -c %a events'
    expect 0 $'[6,3,66]\n600' || expect 0 $'[6,2,66]\n600'
}

@test "PFLOW_TRACE=DIR gets a file a process" {
    in_shells '
        mkdir d; PFLOW_TRACE=$PWD/d; export PFLOW_TRACE
        pflow-shell -n --command="echo hi" | pflow-write-file --path=o -q; ls d | sed "s/[0-9]*[.]/N./"
        PFLOW_TRACE=$PWD/new/; pflow-shell -n --command=true -q; ls new | wc -l'
    expect 0 $'pflow-shell-N.jsonl\npflow-write-file-N.jsonl\n1'
}

@test "the events of sixteen at once are whole lines" {
    need jq
    seq 40 | PFLOW_TRACE=$PWD/events timeout 60 xargs -P 16 -I{} pflow-shell -n --command=true --args={} -q
    [ "$(jq -s length events)" -eq 80 ]
}

@test "no trace ever holds a value" {
    in_shells '
        PFLOW_TRACE=$PWD/events; export PFLOW_TRACE
        pflow-set -n key=secret-1 | pflow-shell --command="echo secret-2; : secret-3" --args="\$key" --args=secret-4 |
            pflow-llm --prompt="secret-5 \$key" --system=secret-6 | pflow-write-file --path=o >doc
        pflow-shell -n --command="echo secret-7; exit 3" --args=secret-8 -q 2>/dev/null
        head -n 1 doc | cat events - >all; grep -c "\"steps\"" all; grep -o "secret-[0-9]" all'
    expect 1 1
}

@test "the header's steps say id, node, version, reads, writes and milliseconds" {
    need jq
    in_shells '
        echo hi | pflow-shell --id=s --command=cat | pflow-llm --prompt="\$s" | jq -c ".[\"\$pflow\"].steps[] | [.id, .node, .version, .reads, .writes, (.ms | type), .tokens.out, .model]"' 
    expect 0 '["s","shell","1.0.0",{"command":["--command"],"input":["stdin"]},{"stdout":["s.stdout"],"stderr":["s.stderr"],"exit_code":["s.exit_code"]},"number",null,null]
["llm","llm","1.0.0",{"prompt":["--prompt (s)"]},{"response":["response"],"usage":["usage"]},"number",1,"echo"]'
}

@test "every document says who wrote it and keeps the run of its first stage" {
    need jq
    in_shells 'pflow-set -n a=1 >one; pflow-shell --command=true <one | pflow-write-file --content=x --path=o >two
        jq -r ".[\"\$pflow\"] | .run" one two | uniq | wc -l; jq -r ".[\"\$pflow\"].run" one | grep -c "^[0-7][0-9A-HJKMNP-TV-Z]\{25\}$"
        jq -r ".[\"\$pflow\"].by" two | cut -d" " -f1'
    expect 0 $'1\n1\npflow-shell'
}

@test "TRACEPARENT is taken, and handed on in the header and to a command" {
    need jq
    in_shells "
        TRACEPARENT=$parent pflow-shell -n --command='printenv TRACEPARENT' >doc
        TRACEPARENT=00-ffffffffffffffffffffffffffffffff-b7ad6b7169203331-01 pflow-shell --command='printenv TRACEPARENT' <doc >next
        jq -r '.stdout, .[\"\$pflow\"].traceparent' doc next | grep . | cut -c 1-36 | uniq -c | tr -s ' '"
    expect 0 ' 4 00-0af7651916cd43dd8448eb211c80319c-'
    run env TRACEPARENT="$parent" pflow-shell -n --command='printenv TRACEPARENT' -r
    [[ $status -eq 0 && $output != *b7ad6b7169203331* && ${#output} -eq ${#parent} ]]
}

@test "--html writes the page into a pipe or a file, and the page holds the trace" {
    pflow run -q 'shell "echo a && echo b" => shell:count "wc -l"'
    pflow trace last >trace
    [[ $(pflow trace last --html) == '<!doctype html>'*'</html>' ]]
    [ "$(pflow trace last --html=page.html)" = page.html ]
    [ "$(pflow trace last --html -o other.html)" = other.html ]
    run --separate-stderr pflow trace last --html=a -o b
    expect 2 - 'cannot take -o with --html=a; one of them names the file'
    for words in 'trace last --json' 'trace last --otlp' 'trace last --color=always' 'runs --json' 'runs'; do
        pflow $words -o out
        pflow ${words%% --color*} | sed 's/"time":[^,}]*//' | diff - <(sed 's/"time":[^,}]*//' out)
    done
    rm -r .local/state/pflow/runs
    pflow trace page.html | cmp - trace
    head -c 5000 page.html >cut.html
    in_shells 'pflow trace ../cut.html'
    expect 65 '' "cannot read the trace in '../cut.html': it is not a whole page of pflow"
}

@test "--html on a terminal writes a file that is called as the run" {
    pflow run -q 'shell "echo a"'
    id=$(ls .local/state/pflow/runs)
    in_terminal sh
    type_line 'pflow trace --html'
    shows "$id.html"
    type_line 'pflow runs --html'
    shows runs.html
    grep -q "pflow trace $id" runs.html
    [ -s "$id.html" ]
}

@test "--store has the values that a run has kept, its secrets masked, and so has its page" {
    need jq
    node login 'Writes: shared["session"]: str [secret]' 'Writes: shared["user"]: str' <<'END'
    def post(self, shared, prep_res, exec_res):
        shared["session"], shared["user"] = "hunter2-1234", "bo"
END
    in_shells '
        export PFLOW_NODES=$PWD/..
        pflow run "login => template hi\ \$user" -n -q --keep-store && pflow trace last --html=p.html >/dev/null
        for run in last p.html; do pflow trace $run --store --json; done | jq -c ".store | map_values(.value)"
        pflow trace last --store | grep "session:"
        pflow run "login => template hi\ \$user" -n -q && pflow trace last --store --json | jq -c ".store.text"
        grep -c "hunter2" p.html || true'
    expect 0 $'{"session":"***","user":"bo","text":"hi bo"}\n{"session":"***","user":"bo","text":"hi bo"}
    session: str, 12 characters: "***"\n{"type":"str","size":5}\n0'
}

@test "two runs, or pages, give their difference" {
    pflow run -q 'shell "echo a" => shell:count "wc -l"'
    pflow trace last --html=before.html
    pflow run -q 'shell "echo a" => shell:words "wc -w"'
    in_shells 'pflow trace ../before.html last | grep -x "[-+] [a-z]*"' # how long the other step took may differ
    expect 0 $'- count\n+ words'
    for wrong in 'last @2 --chrome' '../before.html --html' 'last --html --json' 'last --open'; do
        in_shells "pflow trace $wrong"
        expect 2
    done
}
