#!/usr/bin/env bats
# examples/jobs: what people do with a model in a day, each in five lines of pflow at most.
# shellcheck disable=SC2016,SC2154 # a $ in single quotes is for pflow; helper.bash's variables

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

setup() {
    jobs=$(realpath "$BATS_TEST_DIRNAME/../../examples/jobs")
    export PATH=$jobs:$PATH PFLOW_MODEL=reply NO_PROXY=127.0.0.1
    own_llm
    cp -r "$jobs/../notes" "$jobs/../notes.txt" .
}

# What a model is asked, and how, is seen by the server in the tests that ask the real one; the others need its answers.
quick() {
    quick_llm
    export PFLOW_MODEL=$1
}

run_job() { run --separate-stderr timeout 60 "$@"; }

repository() {
    own_git
    git init -q repository
}

@test "seventeen jobs: each says what it does, and has five lines of pflow at most" {
    [ "$(ls "$jobs" | wc -l)" -eq 17 ]
    for job in "$jobs"/*; do
        [[ $(sed '/^#!/d' "$job" | head -n 1) == '# '[A-Z]* ]]
        [ "$(grep -v '^#' "$job" | grep -c 'pflow')" -le 5 ]
    done
}

@test "a day in git is summarized, and a quiet day is quiet" {
    repository
    GIT_COMMITTER_DATE=2001-01-01T00:00:00 git -C repository commit -q --allow-empty -m old
    run_job env -i HOME="$HOME" PATH="$PATH" "$jobs/day-in-git" repository day.md
    expect 0 ''
    [ -z "$stderr" ] && [ ! -e day.md ]
    git -C repository commit -q --allow-empty -m new
    quick reply
    run_job day-in-git repository day.md
    expect 0 ''
    [ "$(cat day.md)" = 'Oak, ash and elm.' ]
    run_job day-in-git nowhere day.md
    [ "$(cat day.md)" = 'Oak, ash and elm.' ]
}

@test "mails are fields, one that fails is told" {
    need jq
    mkdir mails
    for number in 1 2 3 4 5 6; do echo "From: $number" >"mails/$number.eml"; done
    PFLOW_MODEL=form run_job mails-to-json mails fields.json
    expect 0 ''
    jq -e 'length == 6 and .[0].response.sender == "oak" and (.[0].item | startswith("From: "))' fields.json
}

@test "translations are made once, and again when the text is another" {
    need make
    quick reply
    cp notes.txt README.md
    run_job make -s -j2 -f "$jobs/translations.mk"
    expect 0
    [ "$(cat README.German.md README.French.md)" = 'Oak, ash and elm.Oak, ash and elm.' ]
    run_job make -q -f "$jobs/translations.mk"
    expect 0
    touch -d tomorrow README.md
    run_job make -q -f "$jobs/translations.mk"
    expect 1
}

@test "a talk about a log file goes on with what was said" {
    need jq
    printf 'first line\n' >log
    run --separate-stderr sh -c "printf 'And \$why?\nReally?' | talk-about-log log 'What is this?'"
    expect 0 $'Oak, ash and elm.\nOak, ash and elm.\nOak, ash and elm.'
    grep -F 'Really?' "$PEER/requests.jsonl" | jq -e '[.body.messages[].content] | (.[0] | contains("first line")) and .[2] == "And $why?" and .[4] == "Really?"'
}

@test "rows of a CSV file get a class" {
    need jq
    printf 'id,text\n1,"It broke"\n2,"Thanks, all"\n' >tickets.csv
    PFLOW_MODEL=form run_job classify-rows <tickets.csv
    expect 0 $'oak,1,"It broke"\noak,2,"Thanks, all"'
    PFLOW_MODEL=nokey run_job classify-rows <tickets.csv
    expect 77 ''
}

@test "an image and an invoice go along" {
    need jq
    base64 -d <<<'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' >part.png
    printf '%%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%%%EOF\n' >invoice.pdf
    PFLOW_MODEL=form run_job compare-invoice part.png invoice.pdf
    expect 0 'Oak, ash and elm.'
    grep -F image_url "$PEER/requests.jsonl" | jq -e '[.body.messages[0].content[].type] == ["text", "image_url", "file"]'
    PFLOW_MODEL=form run_job compare-invoice part.png missing.pdf
    expect 66 '' missing.pdf
}

@test "twenty texts get a sentence each, four at a time" {
    need jq
    mkdir -p texts/more
    for number in $(seq 10); do echo "$number" | tee "texts/$number.txt" >"texts/more/$number.txt"; done
    run_job sentence-each texts all.json
    expect 0 ''
    jq -e 'length == 20 and all(. == "Oak, ash and elm.")' all.json
}

@test "a tree is translated into a tree of the same shape" {
    mkdir -p texts/a/b && echo one >texts/a/b/one.txt && echo two >texts/two.txt
    run_job translate-tree German texts out
    expect 0 ''
    [ "$(cd out && find . -type f | sort | tr '\n' ' ')" = './texts/a/b/one.txt ./texts/two.txt ' ]
    [ "$(cat out/texts/a/b/one.txt)" = 'Oak, ash and elm.' ]
    run_job translate-tree German "$PWD/texts" out
    expect 77 '' 'is not a path below the working directory'
}

@test "each ticket is asked once, whatever stands before it next time" {
    need jq
    mkdir -p .config/pflow && echo '"form" = { input = 1, output = 1 }' >.config/pflow/prices.toml
    printf '{"number":%s,"text":"a ticket"}\n' 1 2 >tickets.jsonl
    PFLOW_MODEL=form run_job ask-each-ticket tickets.jsonl tickets.db 1
    expect 0
    { echo '{"number":3,"text":"a ticket"}' && cat tickets.jsonl; } >more.jsonl
    PFLOW_MODEL=form run_job ask-each-ticket more.jsonl tickets.db 1
    expect 0 - '2 done, 1 to do, about $'
    jq -se 'map(.number) == [3, 1, 2] and all(.response.team)' <<<"$output"
}

@test "a git hook writes the message, and a commit never waits for a model" {
    repository
    quick reply
    cp "$jobs/prepare-commit-msg" repository/.git/hooks/
    cd repository
    echo one >file && git add file
    GIT_EDITOR=true run_job git commit -q
    expect 0
    [ "$(git log -1 --format=%s)" = 'Oak, ash and elm.' ]
    echo two >file
    PFLOW_MODEL=nokey GIT_EDITOR='sh -c "echo by hand >\"\$1\"" sh' run_job git commit -q -a
    expect 0
    [ "$(git log -1 --format=%s)" = 'by hand' ]
    run_job git commit -q --allow-empty -m given
    [ "$(git log -1 --format=%s)" = given ]
}

@test "a loop in a script on stdin runs to its end" {
    quick reply
    mkdir examples && mv notes examples
    run --separate-stderr sh -c 'cat "$1" | sh' sh "$jobs/loop-on-stdin.sh"
    expect 0 3
    [ "$(sort -u titles.txt)" = 'Oak, ash and elm.' ]
}

@test "what an answer took is told, and a price only where it is known" {
    PFLOW_MODEL=priced run_job cost notes.txt
    [[ $output == *'$0.25'* ]] || expect 0 '$0.25'
    run_job cost notes.txt
    [[ $status -eq 0 && $output == *' tokens'* && $output != *'$0'* ]] || expect 0 'unknown'
}

@test "a prompt comes from a library, with templates" {
    need jq
    mkdir prompts && echo 'Translate into ${language}' >prompts/translate.txt
    run_job ask translate language=French <notes.txt
    expect 0 'Oak, ash and elm.'
    grep -F French "$PEER/requests.jsonl" | jq -e '.body.messages[0].content | endswith("by Friday.\n\nTranslate into French")'
    run_job ask nothing <notes.txt
    expect 66 '' prompts/nothing.txt
}

@test "what is urgent is mailed, and a failure is one" {
    quick form
    printf '#!/bin/sh\necho "$@" >mailed; cat >>mailed\n' >bin/mail && chmod +x bin/mail
    run_job mail-if-urgent ada@example.org <notes.txt
    expect 0 ''
    [ "$(head -n 1 mailed)" = '-s urgent ada@example.org' ] && tail -n +2 mailed | cmp - notes.txt
    rm mailed
    PFLOW_MODEL=nokey run_job mail-if-urgent ada@example.org <notes.txt
    expect 77 ''
    [ ! -e mailed ]
}

@test "a page is explained, and an error of its server is none" {
    need curl
    quick reply
    mkdir site && cp notes.txt site/page
    "$PYTHON" -u -m http.server --bind 127.0.0.1 -d site 0 >log 2>&1 3>&- &
    local server=$!
    until_true grep -q Serving log
    base=$(grep -o 'http://[0-9.:]*' log)
    run_job explain-page "$base/page"
    expect 0 'Oak, ash and elm.'
    run_job explain-page "$base/nope"
    expect 66 '' 'stdin was empty'
    kill "$server"
}

@test "titles and years are lines for sort and cut" {
    need jq
    quick form
    run_job titles-by-year notes/*
    expect 0 $'40\toak\n40\toak\n40\toak'
    PFLOW_MODEL=nokey run_job titles-by-year notes/*
    expect 77 ''
}

@test "rename-by-content only says it, and with -f does it; nothing is ever replaced" {
    quick reply
    mkdir 'a dir' && echo one >'a dir/x y.txt' && echo two >plain
    run_job rename-by-content 'a dir/x y.txt'
    expect 0 'a dir/x y.txt -> a dir/oak-ash-and-elm.txt'
    [ "$(ls 'a dir')" = 'x y.txt' ] && [ -e plain ]
    run_job rename-by-content -f 'a dir/x y.txt' plain
    expect 0 $'a dir/x y.txt -> a dir/oak-ash-and-elm.txt\nplain -> ./oak-ash-and-elm'
    [ "$(cat 'a dir/oak-ash-and-elm.txt' oak-ash-and-elm)" = $'one\ntwo' ]
    run_job rename-by-content -f 'a dir/oak-ash-and-elm.txt'
    expect 0 ''
    echo three >three.txt && echo four >four.txt
    run_job rename-by-content -f three.txt four.txt
    expect 73 'three.txt -> ./oak-ash-and-elm.txt' 'cannot call four.txt'
    [ "$(cat four.txt oak-ash-and-elm.txt)" = $'four\nthree' ]
    PFLOW_MODEL=marks run_job rename-by-content -f four.txt
    expect 73 '' 'cannot call four.txt'
    run_job rename-by-content -f missing.txt four.txt
    [[ $status -ne 0 && -e four.txt ]]
}

@test "no example takes what is called by data for a flag, a template, JSON, a pattern or a command" {
    need make
    need jq
    need awk
    repository
    git -C repository commit -q --allow-empty -m new
    quick form
    mkdir d && cd d
    local root=$jobs/../.. name line names=('$stdin ${x} `touch pwned`*.txt' $'["it\'s; touch pwned;\'"].txt' '-r.txt')
    for name in "${names[@]}"; do cp ../notes.txt "./$name"; done
    line=$(grep '^seq 3 .*xargs' "$root/docs/pipes.md")
    run --separate-stderr sh -c "printf '%s\\n' \"\$@\" ${line#seq 3}" sh "${names[@]}"
    expect 0 "$(printf 'job %s\n' "${names[@]}" | sort)"
    awk '/^```make$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/README.md" >Makefile
    run_job titles-by-year "${names[@]}"
    [ "$(grep -c oak <<<"$output")" -eq 3 ] || expect 0 'three lines'
    for name in "${names[@]}"; do
        run_job make -s -- "${name%.txt}.summary"
        expect 0 && [ -s "./${name%.txt}.summary" ]
        run_job cost "$name"
        expect 0
        run_job compare-invoice "$name" "$name"
        expect 0 - && [[ $stderr != *JSON* ]]
        "$jobs/../cron/digest" "$name" "../$name.d" && [ -s "../$name.d/$(date +%Y-%m-%d).md" ]
        run_job day-in-git ../repository "../$name.md"
        expect 0 && [ -s "../$name.md" ]
        run --separate-stderr talk-about-log "./$name" "$name" <<<"$name"
        expect 0 && [ "$(grep -c oak <<<"$output")" -eq 2 ]
    done
    mkdir examples && mv ./*.txt examples
    line=$(sed -n '/^ls examples.*while/,/^done/p' "$root/man/man7/pflow-intro.7" | sed 's/\\-/-/g; s/\\(aq/'"'"'/g; s/\\(dq/"/g')
    run --separate-stderr sh -c "$line"
    expect 0 $'6\n6\n6'
    [ "$(find .. -name 'pwned*')" = '' ]
}
