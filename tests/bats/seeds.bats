#!/usr/bin/env bats
# The command lines of the seeds, as a shell takes them: as they are printed, and as they are meant.
# shellcheck disable=SC2016,SC2034,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

# A code block of a paper: the lines between its fences, without those that are comments.
block() {
    awk -v wanted="$2" '/^```/ { if (!inside) n++; inside = !inside; next } inside && n == wanted && !/^#/' \
        "$BATS_TEST_DIRNAME/../seeds/papers/$1.md"
}

@test "as they are printed, a shell takes => and >> for redirections, and pflow says so" {
    SHELLS='sh bash'
    while read -r paper number file; do
        script=$(block "$paper" "$number" | grep -v '^pflow "')
        in_shells "$script
            echo \$?; ls" </dev/null
        [[ $output == 2$'\n'*"$file"* ]] || expect 0 "2 and $file"
        [[ $stderr == *"the shell took '"[\>=]">"*"for a redirection into the file '$file'"* ]] || expect 0 "said of $file"
        [ "$(wc -l <<<"$stderr")" -eq 1 ] || expect 0 "one line for $file"
    done <<'LINES'
002 11 summarise-text
003 8 llm
003 26 export-dashboard
LINES
}

@test "the scenarios of one stage" {
    SHELLS='sh bash'
    printf 'some notes\n' >notes.txt
    in_shells 'pflow summarise-text --temperature=0.9 -q </dev/null'
    expect 66 '' --text
    in_shells 'cat ../notes.txt | pflow summarise-text | pflow-get stdin summary'
    expect 0 $'some notes\nsome notes\n\nSummarize this text. Answer with the summary alone.'
    in_shells 'cat ../notes.txt | pflow llm --prompt="Summarize this" | pflow-get response'
    expect 0 $'some notes\n\nSummarize this'
    in_shells 'pflow llm --temperature=0.9 -q'
    expect 66 '' --prompt
}

@test "the nodes as they are printed stand in pipes and in flows, and their pipe is inferred" {
    export PFLOW_NODES=$BATS_TEST_DIRNAME/../seeds/nodes/printed
    printf 'some notes\n' >notes.txt
    for pipe in 'cat ../notes.txt | pflow llm-node --prompt="Summarize: \$stdin"' \
        'pflow-read-file -n --path=../notes.txt | pflow llm-node --prompt="Summarize: \$content"' \
        'cat ../notes.txt | pflow run "llm-node --prompt='"'Summarize: \\\$stdin'"' => llm-node"'; do
        in_shells "$pipe | pflow-write-file --path=o.md -q; cat o.md"
        expect 0 - ''
        [[ $output == 'gpt-4 at 0.7, None: '*'Summarize: some notes' ]] || expect 0 "$pipe"
    done
    in_shells 'cat ../notes.txt | pflow llm-node | pflow llm-node --model=b --temperature=0.9 -r'
    expect 0 'b at 0.9, None: gpt-4 at 0.7, None: some notes'
    in_shells 'cat ../notes.txt | pflow llm-node --prompt=Summarize | pflow-write-file --path=o.md -q; echo $?; ls'
    expect 0 64 "--prompt='… \$stdin'"
    in_shells 'cat ../notes.txt | pflow run "llm-node --prompt=Summarize => write-file --path=o.md" -q; echo $?; ls'
    expect 0 64 PF05
    in_shells 'pflow transcribe -n --url=u | pflow-llm --prompt=Summarize -r'
    expect 0 $'This is the video transcript content...\n\nSummarize'
    for next in 'llm --prompt=Summarize' 'llm-node --model=b'; do
        in_shells "pflow run 'transcribe --url=u => $next => write-file --path=o.md' -q && cat o.md"
        [[ $output == *'This is the video transcript content...'* ]] || expect 0 "$next"
        [[ $stderr != *PF13* ]]
    done
    pflow nodes >listed
    grep -q ' open, inferred  General-purpose LLM processing' listed
    grep -q 'transcribe  1.0.0  inferred' listed
    [[ $(pflow nodes llm-node) == *'Inferred  reads prompt [pipe]; writes response [pipe]'* ]]
    [[ $(pflow transcribe --describe) == *'"inferred":true}'* && $(pflow-llm --describe) == *'"inferred":false}'* ]]
    run pflow check 'transcribe --url=u => llm-node'
    [[ $output == *'transcribe: inferred: reads url [pipe]; writes transcript [pipe] ('*'no item is marked [pipe])'* ]]
    [[ $output == *'llm-node: inferred: reads prompt [pipe]; '*"llm_node.py: its 'Interface:' block is missing or prose)"* ]]
    [[ $(pflow llm-node --help) == *'prompt to send to LLM'* && $(pflow llm-node --prompt=x -n -r 2>&1) == 'gpt-4 at '* ]]
    run pflow test-node "$PFLOW_NODES/transcribe.py"
    [[ $status -eq 1 && $output == *'no mark [pipe]; inferred: reads url [pipe]; writes transcript [pipe]'* ]]
}

@test "a program's pipe is inferred too, as a stage and as a step" {
    mkdir own && export PFLOW_NODES=$PWD/own
    cat >own/pflow-count <<'END'
#!/bin/sh
# Count the words of a text.
#
# Interface:
# - Reads: shared["text"]: str  # the text
# - Writes: shared["words"]: int  # how many words it has
[ -n "$PFLOW_NODE" ] || exec pflow "$0" "$@"
exec jq '.words = (.text | split(" ") | length)'
END
    chmod +x own/pflow-count
    need jq
    for stage in 'pflow count' '../own/pflow-count' 'pflow run count'; do
        in_shells "echo one two three | $stage -r"
        expect 0 3 ''
    done
    in_shells "echo 'one two' >t; pflow run 'read-file --path=t => count => shell --command=cat' -r"
    expect 0 2 ''
}

@test "an open node takes JSON after := alike as a stage, as a step, in a flow's file, and in a script of it" {
    SHELLS='sh bash'
    mkdir own && export PFLOW_NODES=$PWD/own
    cat >own/look.py <<'END'
from pocketflow import Node


class Look(Node):
    def prep(self, shared):
        return shared["what"], shared.get("more", 1)

    def post(self, shared, prepared, result):
        shared["seen"] = repr([*prepared, self.params.get("steps", 3), self.params.get("else")])
END
    echo '{"nodes": [{"id": "look"}]}' >flow.json
    flags='--what:='\''{"a": [null, "$$"]}'\'' --more=two --steps:=0.5 --else:=true'
    wanted="[{'a': [None, '\$']}, 'two', 0.5, True]"
    pflow export --to=sh "look $flags" >script
    for way in "pflow look -n $flags" "pflow run look $flags" \
        "pflow look $flags :: look:b --what='\$what' --more=two --steps:=0.5 --else:=true" \
        "pflow run ../flow.json ${flags/'$$'/'$'}" 'sh ../script'; do
        in_shells "$way </dev/null | pflow-get"
        [ "$output" = "$wanted" ] || expect 0 "$way"
    done
    in_shells 'pflow run ../flow.json --steps=x -q'
    expect 2 - 'it is not an int'
}

@test "the key that input_key names takes the pipe, and what output_key names is carried on" {
    export PFLOW_NODES=$BATS_TEST_DIRNAME/../seeds/nodes/keys
    echo some notes >notes.txt
    flow='summarize --input-key=text --output-key=short => summarize --input-key=text --output-key=shorter'
    pflow export --to=python "$flow" >script.py
    for way in 'pflow summarize --input-key=stdin --output-key=short | pflow summarize --input-key=text --output-key=more' \
        "pflow run '$flow'" "$PYTHON ../script.py"; do
        in_shells "cat ../notes.txt | $way | pflow-write-file --path=o.md -q; cat o.md"
        expect 0 'Summary of Summary of some notes'
    done
    need jq
    echo '{"docs": {"a.txt": "A", "b.txt": "B"}, "names": ["a.txt", "b.txt"], "name": "a.txt"}' >docs.json
    for keys in '--input_key=docs/a.txt --output_key=out/x' "--input_key='docs/\$name' --output_key='out/x'"; do
        for way in "summarize --from=json $keys" "run --from=json summarize $keys :: shell cat"; do
            in_shells "pflow $way <../docs.json | jq -c .out"
            expect 0 '{"x":"Summary of A"}'
        done
    done
    batch="summarize --input_key='docs/\$doc' --each=names --as=doc"
    in_shells "pflow run --from=json $batch --output_key='out/\$doc' <../docs.json | jq -c .out
        pflow run --from=json $batch --output_key=out <../docs.json | jq -c .out
        pflow summarize --from=json --input_key=docs/c.txt --output_key=out <../docs.json -q"
    expect 66 $'{"a.txt":"Summary of A","b.txt":"Summary of B"}\n["Summary of A","Summary of B"]' "no 'c.txt' in docs"
}

@test "the keys that input_bindings and output_bindings name are the node's, in a pipe and in a flow" {
    mkdir own && export PFLOW_NODES=$PWD/own
    sed 's/class YTTranscript/class MyYt/' "$BATS_TEST_DIRNAME/../seeds/nodes/bindings/yt_transcript.py" >own/my_yt.py
    yt="my-yt '--input_bindings:={\"url\":\"video_url\"}' '--output_bindings:={\"transcript\":\"raw\"}' '--config:={}'"
    for flag in --video_url=U --url=U; do
        for way in "$yt $flag -n | pflow-shell cat" "run -n $yt $flag :: shell cat"; do
            in_shells "pflow $way | pflow-get video_url raw stdout"
            expect 0 $'U\nThis is the video transcript content...\nThis is the video transcript content...'
        done
    done
    for way in "$yt --url=U --id=x -n" "run -n $yt --url=U --id=x"; do
        in_shells "pflow $way | pflow-get x.video_url x.raw"
        expect 0 $'U\nThis is the video transcript content...'
    done
    for way in "$yt" "run $yt"; do
        in_shells "echo U | pflow $way -r; pflow $way -r </dev/null"
        expect 66 'This is the video transcript content...' "cannot find 'video_url'"
    done
}
