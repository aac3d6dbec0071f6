#!/usr/bin/env bats
# Bare words, letters and values from files: what a hand types first.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

@test "words fill what flags fill, in a stage, through pflow, and in pipe syntax" {
    cp "$NOTES" notes.txt
    in_shells '
        cat ../notes.txt | pflow-llm "Summarize" | pflow-write-file out.md -q; grep Summarize out.md
        pflow read-file ../notes.txt | pflow llm "In a line" | pflow write-file b.md -q; grep line b.md
        pflow run -q "read-file ../notes.txt => llm Summarize -s \"be brief\" => write-file c.md"; cmp out.md c.md
        pflow-list-files "*.md" -n -r
        pflow-shell -n "grep -c \"\$1\" \"\$2\"" Summarize out.md -r'
    expect 0 $'Summarize\nIn a line\n["b.md","c.md","out.md"]\n1'
}

@test "letters are llm's, alone and in bundles" {
    in_shells 'pflow-llm -nm echo -s brief -o seed 1 -o top_p 0.5 "Name a tree" -q && pflow-llm -nqmecho again'
    expect 0 ''
    grep -F 'Name a tree' "$PEER/requests.jsonl" | grep -F '"seed": 1' | grep -F '"top_p": 0.5' | grep -qF brief
    [ "$(requests_with again)" -eq 1 ]
    [[ $(pflow nodes llm) == *'-m, PFLOW_MODEL'* && $(pflow-llm --help) == *'-o, --option'*'-o NAME VALUE]'* ]]
}

@test "behind a letter of every stage, true is a word" {
    in_shells 'pflow-shell -n true; pflow-shell -nq true; pflow shell -v -n true -r; pflow -q "shell -n true"
        pflow run shell -n true -q; pflow-shell -n false -q'
    expect 1 - "cannot finish 'false': exit code 1"
    in_shells 'pflow-shell -n ls --no-check true -q'
    expect 2 '' "the bare word 'true'; leave it out; -- true if it is the value"
}

@test "--KEY@FILE is the text of a file, with its templates; a value that begins with @ stays one" {
    echo 'Say $what' >ask.txt
    printf 'for x; do\n    echo "<$x>"\ndone\n' >each.sh
    in_shells '
        pflow-set -n what="Oak @ask.txt" | pflow-llm --prompt@../ask.txt -r
        pflow-set -n what=Oak | pflow-llm --prompt@../ask.txt --verbatim -r
        pflow-llm -n --prompt=@../ask.txt -r
        pflow-shell -n --command@../each.sh @a "b c" -r
        pflow-llm -n --prompt@none -q; echo $?'
    expect 0 $'Say Oak @ask.txt\nSay $what\n@../ask.txt\n<@a>\n<b c>\n66' "cannot read 'none' for --prompt: no such file or directory"
}

@test "a slip is said with the right form: words without quotes, a pattern the shell expanded, arguments that nothing takes" {
    in_shells 'pflow-llm -n Summarize this -q'
    expect 2 '' "cannot take the bare word 'this': --prompt has 'Summarize'; quotes keep words together: 'Summarize this'"
    in_shells 'touch m.txt; pflow-llm -n Summarize m.txt -q'
    expect 2 '' "<m.txt reads that file, and -a m.txt attaches it; quotes keep words together"
    in_shells 'pflow-shell -n ls -la -q'
    expect 2 '' "quotes make it a part of the text: 'ls -la'"
    in_shells 'pflow-set -n a.b=1 | pflow-get .a.b >/dev/null'
    expect 2 '' "'.a.b' is how jq writes a path; here it is 'a.b'"
    in_shells 'touch a.md b.md; pflow-list-files -n *.md -q'
    expect 2 '' "quotes keep a pattern from the shell: '*.md'"
    in_shells 'pflow-llm --prompt = x -q'
    expect 2 '' 'no blanks around it: --KEY=VALUE'
    in_shells 'pflow-shell -n echo hello -q'
    expect 2 '' "cannot take the bare word 'hello': 'echo' does not use its arguments; quotes keep words together: 'echo hello'"
    printf 'a\377b' >l1.txt
    while IFS='~' read -r exit command said; do
        run --separate-stderr sh -c "$command"
        expect "$exit" - "$said"
    done <<'END'
2~pflow check 'list-files x => shell wc --each -j4'~shell cannot take -j4: no such flag; --jobs=4
2~pflow run 'llm hi' -m a~cannot take -m: no such flag; -m stands in the quotes of the flow; --model=… may stand behind
2~echo a | pflow map -n 'shell cat'~cannot take -n: the items come from stdin; pflow map FLOW FILE -n
0~echo a | pflow map 'shell "cat" -n'~-n of 'shell' does nothing in a flow: put -n after the flow
0~pflow map -n 'shell cat' l1.txt --dry-run && pflow map 'shell cat' l1.txt -n --dry-run~would run shell
2~pflow-read-file a --encoding=rot13~cannot read as 'rot13': it is not a text encoding; utf-8, latin-1
65~pflow-llm -n --prompt@l1.txt~'l1.txt' for --prompt: it is not UTF-8 (byte 0xff at 1); iconv
65~pflow-set -n rows=a | pflow-save-csv o~--map-in=rows=KEY takes those at another key
END
    in_shells 'echo raw | pflow-read-file "$NOTES" -q'
    expect 64 '' 'nothing here takes its 4 bytes'
}

@test "pipe syntax takes words in each of its forms, and keeps what they say" {
    echo 'echo "$1, $(cat)"' >say.sh
    echo Oslo >city
    in_shells '
        pflow "shell \"echo \\\$1\" \"a\"" -nr; pflow run -n shell "echo \$1" b -r; pflow "pflow-shell \"echo c\"" -r
        echo c, | pflow "llm \"Why\" -m echo" -r
        pflow read-file ../city :: shell "echo d; cat" -r
        pflow "pflow-read-file ../city | pflow-shell -- \"echo e; cat\"" -r
        pflow "read-file:city ../city; city => shell:x \"cat; echo f\"; x => write-file city" -q; cat city
        pflow save say "read-file ../city => shell --command@../say.sh h" --description=Say >/dev/null
        pflow export --to=pipe say; pflow explain --graph say | grep -c say.sh; pflow say -r; echo i >../city; pflow say -r'
    expect 0 "a
b
c
c,

Why
d
Oslo
e
Oslo
Oslo
f
read-file --path=../city
  => shell --command='echo \"\$1, \$(cat)\"' --args=h
0
h, Oslo
h, i"
}

@test "what looks like a flag of the run and is a value stays the step's, whatever the form" {
    in_shells '
        say="printf %s. \"\$@\""
        for value in -h --help -r -n -q --version; do
            pflow-shell -nr "$say" --args "$value"
            pflow run -r shell "$say" --args "$value"
            pflow run "shell \"printf %s. \\\"\\\$1\\\"\" --args $value" -r
            pflow shell "$say" -- "$value" :: shell cat -r
            pflow run -r shell : :: shell "$say" -- "$value"
        done | uniq -c
        pflow export shell true --args -h --to=pipe
        pflow explain shell true --args=-h --help | head -n 1'
    expect 0 $'      5 -h.\n      5 --help.\n      5 -r.\n      5 -n.\n      5 -q.\n      5 --version.\nshell --args=-h --command=true\nUsage: pflow explain [FLAG]… FLOW…'
}

@test "a saved flow takes flags, with a file's text as it is, and names them where it gets a word" {
    pflow save note 'shell "echo \"\$1\"" $topic => write-file' --description=Note
    echo 'Oak $x' >topic
    in_shells 'pflow note --topic@../topic --path=o -q; cat o; pflow run flow:note --topic@none --path=o -q; echo $?
        for words in "note Oak" "run flow:note Oak" "note Oak :: shell cat"; do pflow $words -q; echo $?; done
        for words in note@1.0.5 "run note@1.0.5" "run flow:note@1.0.5 :: note"; do pflow $words 2>&1 | grep -c "5 of note; it is 1.0.0"; done'
    expect 0 $'Oak $x\n66\n2\n2\n2\n1\n1\n1' "cannot take the bare word 'Oak': it takes flags only; --topic='Oak'"
    [ "$(grep -c -e "--topic='Oak'" <<<"$stderr")" -eq 3 ]
}
