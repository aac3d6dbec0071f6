#!/usr/bin/env bats
# The llm node against a server that speaks OpenAI's protocol, and with the small local model.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

@test "the main job: notes in, a summary in a file, or an object that fits a schema" {
    cp "$NOTES" notes.txt
    echo '{"type":"object","required":["name"]}' >schema.json
    in_shells 'cat ../notes.txt | pflow-llm --model=json --prompt="Which tree?" --schema=../schema.json | pflow-get response.name response.height'
    expect 0 $'oak\n40'
    in_shells 'cat ../notes.txt | pflow-llm --model=reply --prompt="Summarize" | pflow-write-file --path=out.md | pflow-get usage.model; cat out.md'
    expect 0 $'reply\nOak, ash and elm.'
}

@test "pflow why names the files and the model that changed, once; a run is not resumed over other files" {
    in_shells 'export XDG_STATE_HOME=$PWD; echo %PDF- >a.pdf; echo %PDF- >b.pdf; echo "{\"type\":\"object\"}" >s.json
        ask() { pflow run "llm Hi $*" -n -q; pflow why last llm | sed 1d; }
        ask -m see -a a.pdf -a b.pdf --cache >first; echo "%PDF-1" >b.pdf; ask -m see -a a.pdf -a b.pdf --cache; ask -m form -a a.pdf -a b.pdf --cache
        try() { pflow run "llm Hi -m form --schema=s.json -a a.pdf => read-file need" -n -q 2>/dev/null; echo " " >>$1; pflow resume last -q; echo $?; }; try s.json; try a.pdf'
    expect 0 "    attachment: the file 'b.pdf' changed
    model: 'form' was 'see'
78
78" "'s.json', which 'llm' read, has changed"
    [[ $stderr == *"'a.pdf', which 'llm' read, has changed"* ]]
}

@test "a budget ends a run before its next call, with 79; one of money wants to know the price" {
    in_shells 'export XDG_STATE_HOME=$PWD
        pflow run -n "llm:a Hi => llm:b Hi => llm:c Hi" --max-calls=2 -q 2>error; echo $?
        sed "s/resume 0[0-9A-Z]*/resume ID/" error; pflow trace </dev/null | grep ^failed:
        pflow resume last -q 2>/dev/null; echo $?; pflow resume last -q --max-calls=3; echo $?
        pflow "llm:d Hi => llm" -n --max-cost=0.5 -q; echo $?; 
        pflow run "llm:a Hi => llm:b Hi" --no-journal -n --max-calls=1 -q; pflow run "llm:d Hi" -n --max-tokens-total=0 -q'
    expect 2 "79
pflow run: c (llm): cannot ask 'echo': the run has used 2 of 2 calls; pflow resume ID --max-calls=… goes on
failed: c (exit 79): cannot ask 'echo': the run has used 2 of 2 calls
79
0
78" "cannot take --max-tokens-total=0: it must be more than 0"
    [[ $stderr == *"cannot ask 'echo' under --max-cost: its price is not known"*'prices.toml can give it'*'1 of 1 calls; --max-calls allows more'* ]]
}

@test "a budget holds for a run with its resumes, after kill -9 too; with more of it the run goes on" {
    need jq
    mkdir held && touch held/{1,2,3,4}
    in_shells 'export XDG_STATE_HOME=$PWD
        flow="list-files --pattern=../held/* => llm:each --each=files --as=prompt --keep-going => llm:last Hi"
        PFLOW_TESTING=1 PFLOW_FAILPOINT=journal.end:3 pflow run "$flow" -n -q --max-calls=3
        pflow resume last -q 2>/dev/null; echo $?; grep -c "content.*\.\./held/" "$PEER/requests.jsonl"
        pflow resume last -q --max-calls=9; pflow runs | grep -o "[0-9]/3.*"; pflow trace last --json |
            jq -c "[.events[] | select(.event == \"budget\") | .used.calls] | last"'
    expect 0 $'79\n3\n3/3  flow  cost unknown\n6'
    [ "$(requests_with ../held/)" -eq 6 ] # that of the answer which the kill left out, too
}

@test "a PDF in ASCII is no prose, through the pipe and from a file" {
    printf '%%PDF-1.4\n1 0 obj\n%%%%EOF\n' >a.pdf
    in_shells '
        echo "$(pflow-read-file -n --path=../a.pdf | pflow-llm --model=see --prompt=What? -r)"
        echo "$(pflow run "read-file --path=../a.pdf => llm --model=see --prompt=What?" -n -r)"
        pflow-llm --model=echo --prompt=never-sent-pdf -q <../a.pdf; echo $?'
    expect 0 $'What?[file]\nWhat?[file]\n65' "it is application/pdf, and the model 'echo' takes no attachments"
    [ "$(requests_with never-sent-pdf)" -eq 0 ]
}

@test "files go along with a question: by -a, and in a flow; none leads out of the root" {
    printf '%%PDF-1.4\n1 0 obj\n%%%%EOF\n' >a.pdf
    cp a.pdf 'b ü.pdf'
    in_shells '
        echo "$(pflow-llm -m see -a ../a.pdf "-a../b ü.pdf" --prompt=What? -r <../a.pdf)"
        cd .. && echo "$(pflow run "list-files --pattern=*.pdf => llm --model=see --prompt=What? --attachment=\$files" -n -r)"
        pflow-llm -n -m see -a gone.pdf --prompt=never-sent-gone -q; echo $?
        PFLOW_ROOT=$PWD pflow-llm -n -m see -a /etc/passwd --prompt=never-sent-root -q'
    expect 77 $'What?[file][file][file]\nWhat?[file][file]\n66' 'cannot use '
    [ "$(requests_with never-sent)" -eq 0 ]
}

@test "a model is asked once for each text, of files and of lines, as it is typed" {
    mkdir d && cd d && echo one >a.txt && echo two >'b c.txt'
    pflow 'list-files "*.txt" => read-file --each => llm "One sentence" --each --jobs=4 => write-file all.json'
    [ "$(cat all.json)" = '["one\n\nOne sentence","two\n\nOne sentence"]' ]
    run --separate-stderr bash -c 'printf "oak\nash\n" | pflow "llm \"On \$item\" --each --with-item" -r'
    expect 0 '[{"item":"oak","response":"On oak"},{"item":"ash","response":"On ash"}]'
    pflow export --to=sh 'llm "On $item" --each' >each.sh
    run --separate-stderr bash -c 'printf "oak\nash\n" | sh each.sh | pflow-get'
    expect 0 '["On oak","On ash"]'
}

@test "llm, llm chat, pflow-llm and a flow go on with one another in llm's own log" {
    need jq
    own_llm
    echo 'the text' | PFLOW_LLM_LOG=1 pflow-llm --model=reply --prompt=one --system=brief -q
    run --separate-stderr env -u PFLOW_MODEL llm -c two
    expect 0 'Oak, ash and elm.'
    run --separate-stderr env -u PFLOW_MODEL pflow-llm -n -c --prompt=three -r
    [[ $status -eq 0 && $output == 'Oak, ash and elm.' ]] || expect 0 'Oak, ash and elm.'
    printf 'four\nexit\n' | llm chat -c -m reply
    run --separate-stderr pflow run 'llm --model=echo --continue --prompt=five' -n -r
    expect 0 five
    grep -F '"five"' "$PEER/requests.jsonl" | jq -c '[.body.messages[] | select(.role != "assistant").content]' >said
    [ "$(cat said)" = '["brief","the text\n\none","two","three","four","five"]' ]
    run --separate-stderr eval 'llm logs -c --json | jq -r ".[] | .model, .input_tokens > 0"'
    expect 0 $'reply\ntrue\nreply\ntrue\nreply\ntrue\nreply\ntrue\necho\ntrue'
    PFLOW_LLM_LOG=0 pflow-llm -n --model=reply --prompt=six -q
    run --separate-stderr eval 'llm logs --json -n 0 | jq length'
    expect 0 5
}

@test "many at once share llm's settings and its log; one that cannot be written costs no answer" {
    need jq
    own_llm
    seq 4 | timeout 90 xargs -P 4 -I{} pflow-llm -n --log --model=echo --prompt='busy-{}' -q
    [ "$(requests_with busy-)" -eq 4 ]
    [ "$(llm logs --json -n 0 -q busy | jq length)" -eq 4 ]
    rm "$LLM_USER_PATH/logs.db" && mkdir "$LLM_USER_PATH/logs.db"
    run --separate-stderr pflow-llm -n --log --model=reply --prompt=x -r
    rmdir "$LLM_USER_PATH/logs.db"
    [[ $status -eq 0 && $output == 'Oak, ash and elm.' && $stderr == *'not in llm'*'unable to open'* ]] || expect 0 'a warning'
}

@test "an answer streams with -r --stream, word by word" {
    mkfifo out
    pflow-llm -n --model=slow-stream --prompt=x -r --stream >out 3>&- &
    local stage=$!
    exec 9<out
    IFS= read -r -d ' ' -u 9 first
    [ "$first" = Oak, ]
    [ ! -e "$PEER/go" ]
    : >"$PEER/go"
    rest=$(cat <&9)
    wait "$stage"
    [ "$rest" = 'ash and elm.' ]
}

@test "a reader that leaves ends a streaming llm silently" {
    run --separate-stderr timeout 60 bash -c 'pflow-llm -n --model=many --prompt=x -r --stream | head -c4; echo " ${PIPESTATUS[*]}"'
    [[ $output == 'word '@(0|141)' 0' && -z $stderr ]] || expect 0 'word 141 0'
}

@test "--timeout ends a model that does not answer" {
    in_shells 'timeout 20 pflow-llm -n --model=stall --prompt=x --timeout=1 | pflow-get response'
    expect 124 '' --timeout
}

@test "ctrl-C ends a model that does not answer" {
    env --default-signal=INT pflow-llm -n --model=stall --prompt=stalled-1 >out 2>err 3>&- &
    local stage=$!
    until_true grep -q stalled-1 "$PEER/requests.jsonl"
    kill -INT "$stage"
    code=0 && wait "$stage" || code=$?
    [ "$code" -eq 130 ]
    [ "$(wc -l <err)" -eq 1 ]
    run -1 grep Traceback err
}

@test "no credit, said with status 200, is asked about once by a stage and three times by a map" {
    in_shells 'pflow-llm -n -m no-credit Hi --retries=3 --wait=0 -q >/dev/null; echo $?
        seq 9 | pflow map "llm \$item -m no-credit-flat --retries=3 --wait=0" --from=lines --jobs=1 -q; echo $?
        grep -c "\"no-credit\"" $PEER/requests.jsonl; grep -c no-credit-flat $PEER/requests.jsonl'
    expect 0 $'77\n77\n1\n3'
}

@test "a key that is refused is 77 and never shown" {
    in_shells 'pflow-llm -n --model=unauthorized --prompt=x -v --debug >doc 2>err; echo $?; cat doc err | grep -c sk-peer'
    expect 1 $'77\n0'
}

@test "a model at an address answers without settings, for free, from the cache, in a conversation; no record has a key" {
    own_llm
    in_shells "export XDG_STATE_HOME=\$PWD OPENAI_API_KEY=sk-never XDG_CACHE_HOME=\$PWD/cache A=http://127.0.0.1:$(cat "$PEER/port")"'
        for _ in 1 2; do pflow run "llm at-address -m $A/v1#reply --cache" -n -r --max-cost=1; done; pflow runs | grep -c "  \$0  "
        pflow-llm -n -m "$A#form" Hi -r --schema "name, height int"
        pflow run "llm Hi -m http://me:sk-never@127.0.0.1#x" -n -q; echo $?
        PFLOW_MODEL="$A/v1?key=sk-never#x" pflow "llm Hi" -n -q; echo $?; grep -rc sk-never . | grep -v :0; unset PFLOW_MODEL
        pflow-llm -n -m "$A#reply" one -r --log && pflow-llm -n -c two | pflow-get usage.model
        pflow-llm -n -m "$A" Hi -q; echo $?; pflow-llm -n -m "$A#unauthorized" Hi -q'
    expect 77 "Oak, ash and elm.
Oak, ash and elm.
1
{\"name\":\"oak\",\"height\":40}
77
77
Oak, ash and elm.
http://127.0.0.1:$(cat "$PEER/port")/v1#reply
78" "401: Incorrect API key provided: DUMMY_KEY.; llm keys set http://127.0.0.1:"
    [ "$(requests_with at-address)" -eq 1 ]
}

@test "the small local model summarises the notes in the real pipe" {
    need_local_model
    mkdir examples && cp "$NOTES" examples/notes.txt
    export BATS_TEST_TIMEOUT=600
    run --separate-stderr env -u LLM_USER_PATH PFLOW_MODEL=SmolLM2 timeout 500 sh -c "
        cat examples/notes.txt | pflow-llm --prompt='Summarize these notes in one sentence' |
            pflow-write-file --path=out.md |
            pflow-get usage.model usage.output"
    expect 0
    [[ $output =~ ^SmolLM2$'\n'[1-9][0-9]*$ ]] || expect 0 'SmolLM2 and a number'
    [[ $(cat out.md) == 'The bakery on Mill Street is closed in August'*'market stall moves from Tuesday to Thursday.' ]]
}

@test "the second time a cached stage asks no model and imports no llm; another default is asked" {
    own_llm
    printf 'reply' >llm/default_model.txt
    unset PFLOW_MODEL
    ask() { echo cached-tree | PYTHONPROFILEIMPORTTIME=1 pflow-llm 'Summarize' --cache 2>stderr | pflow-get response usage.model; }
    without_llm() { ask >out && ! grep -q ' llm$' stderr; } # settings that are fresh are looked at with llm
    run ask
    [ "$output" = $'Oak, ash and elm.\nreply' ]
    until_true without_llm
    [ "$(cat out)" = $'Oak, ash and elm.\nreply' ]
    [ "$(requests_with 'cached-tree')" -eq 1 ]
    printf 'echo' >llm/default_model.txt
    run ask
    [[ $output == *$'cached-tree'*echo ]]
    run --separate-stderr pflow-llm -n 'Summarize' -m reply --cache=require
    expect 66 - 'text'
}

@test "an answer that was cut, is empty or had to be mended is never kept, and says so" {
    in_shells '
        flow="llm:a never-kept -m long --cache => llm:b never-kept -m json-fenced --schema=\"name, height int\" --cache =>
            llm:c never-kept -m empty --cache --allow-no-answer"
        for _ in 1 2; do pflow run "$flow" -n -q; done; pflow-llm -n never-kept --cache -q -m empty --allow-no-answer'
    expect 0 '' "is not kept: the answer stops at its token limit"
    [[ $stderr == *'is not kept: it stands among other words'*'is not kept: it has no text'* ]]
    [ "$(requests_with never-kept)" -eq 7 ]
}

@test "an answer without text overwrites nothing, and a map's row says so, or that one was cut" {
    echo before >out.txt
    run --separate-stderr sh -c 'pflow-llm -n cut -m empty --cache | pflow-write-file out.txt -q'
    expect 75 '' 'it has no text'
    [ "$(cat out.txt)" = before ]
    run --separate-stderr sh -c 'pflow-llm -n cut -m empty --allow-no-answer | pflow-write-file out.txt -q; wc -c <out.txt'
    expect 0 0
    for each in empty long long; do printf '{"m":"%s"}\n' "$each"; done >items.jsonl
    run --separate-stderr pflow map 'llm Hi --model=$m --max-tokens=4' items.jsonl --errors=failed.jsonl --jobs=1
    expect 1 - '2 done with a warning like this: llm: the answer stops at its token limit, after 4 tokens'
    [ "$(jq -r .warning <<<"$output" | sort -u)" = 'llm: the answer stops at its token limit, after 4 tokens' ]
    [[ $(jq -r .error failed.jsonl) == *"'empty': it has no text"* ]]
    [[ $stderr != *'the answer of'*stops* ]]
}

@test "a terminal sees what a map waits for below its rows" {
    in_terminal sh
    type_line "seq 2 | PFLOW_MODEL=echo pflow map 'llm Go' --rpm=1 -r"
    shows 'min  next call in'
    "${tmux[@]}" send-keys C-c
    shows 'ended by SIGINT'
}
