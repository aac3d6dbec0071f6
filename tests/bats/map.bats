#!/usr/bin/env bats
# pflow map: a flow once for each item of a stream, its rows, its ledger, its resumes.
# shellcheck disable=SC2016,SC2154

load helper

@test "a row an item comes out, in the order of the items: its members, or the item, and what the flow carries" {
    SHELLS='sh bash' in_shells <<'END'
printf '{"name":"Bo","age":4}\n{"name":"Al"}\n' | pflow map 'template "Hi $name"'
seq 2 | pflow map 'shell "sleep 0.0$(cat); echo done"' --jobs=2 -r
printf 'a\nb\n' | pflow map 'template "<$item>"' -r -0 | tr '\0' '+'
echo '[1, 2]' | pflow map 'template "$item"' --format=csv
END
    expect 0 '{"name":"Bo","age":4,"text":"Hi Bo"}
{"name":"Al","text":"Hi Al"}
done
done
<a>+<b>+item,text,error
1,1,
2,2,'
}

@test "an empty pipe is refused unless --allow-empty is given; an empty file is a list without items" {
    in_shells <<'END'
: >empty.txt
cat nofile 2>/dev/null | pflow map 'template x'; echo $?
pflow map 'template x' --estimate <empty.txt; echo $?
cat nofile 2>/dev/null | pflow map 'template x' --allow-empty; echo $?
printf '\n' | pflow map 'template x'; echo $?
pflow map 'template x' empty.txt; echo $?
END
    expect 0 $'66\n66\n0\n0\n0' 'stdin was empty: did the command before it fail? --allow-empty takes it as no items'
}

@test "a tree of files becomes a tree of files, and two items never write one file" {
    mkdir -p src/deep && echo one >src/a.md && echo two >src/deep/b.md
    run --separate-stderr pflow map 'read-file => shell "tr a-z A-Z" => write-file "out/$item_dir/$item_name"' 'src/**/*.md' -q
    expect 0 ''
    [ "$(cat out/src/a.md out/src/deep/b.md)" = $'ONE\nTWO' ]
    run --separate-stderr pflow map 'read-file => write-file same' 'src/**/*.md' --format=record
    [ "$status" -eq 1 ]
    [ "$(jq -r .exit <<<"$output" | sort -n | tr '\n' ' ')" = '0 73 ' ]
    [[ $stderr == *'1 of 2 items failed: pflow trace '*' --failed'* ]]
}

@test "a failed item fails alone, stands in the rows, or aside as an item again" {
    printf 'a\nmissing\n' >names && echo A >a
    run --separate-stderr pflow map 'read-file' names --from=lines
    expect 1 - '1 of 2 items failed'
    [ "$(jq -r '.content // .error' <<<"${lines[0]}")" = A ]
    [[ ${lines[1]} == *'"item":"missing"'*'no such file'* ]]
    run --separate-stderr pflow map 'read-file' names --from=lines --errors=failed.jsonl -r
    expect 1 A
    echo B >missing
    run --separate-stderr pflow map read-file failed.jsonl -r
    expect 0 B
    printf '1\n\n{"id":\n' >bad.jsonl && printf 'a\n1\n1,2\n' >bad.csv
    for items in bad.jsonl bad.csv; do
        run --separate-stderr pflow map 'shell cat' "$items" --errors=failed.jsonl -q
        expect 1 '' "1 failed like this: cannot read '$items': line 3"
        for _ in 1 2 3; do # it has been tried in vain
            run --separate-stderr pflow map 'shell cat' failed.jsonl --errors=again.jsonl --ledger=again.db
            expect 1 '' '1 of 1 items failed'
            diff failed.jsonl again.jsonl
        done
        rm again.db
    done
    run --separate-stderr pflow map 'read-file' x y z . --from=files --jobs=1
    expect 1 - "pflow map: 3 failed like this: read-file: cannot read 'x': no such file or directory
pflow map: 4 of 4 items failed"
}

@test "a ledger goes on where it was: only what is missing runs, and it belongs to one flow" {
    flow='shell "cat >>log; test -e ready"'
    run --separate-stderr pflow map "$flow" --ledger=l.db -q <<<$'a\nb'
    [ "$status" -eq 1 ]
    touch ready
    run --separate-stderr pflow map "$flow" --ledger=l.db -q <<<$'b\nc\na'
    expect 1 '' '2 of them have begun a step that does not repeat'
    run --separate-stderr pflow map "$flow" --ledger=l.db -q --redo <<<$'b\nc\na'
    expect 0
    run --separate-stderr pflow map "$flow" --ledger=l.db -r <<<$'a\nb\nc'
    expect 0 '' '3 done before'
    [ "$(fold -w1 log | sort | uniq -c | tr -d ' \n')" = 2a2b1c ]
    run --separate-stderr pflow map 'shell cat' --ledger=l.db <<<a
    expect 78 '' '--accept-changes goes on'
    [ "$(pflow map 'shell cat' --ledger=l.db --accept-changes -r <<<d 2>&1 | tail -n 1)" = d ]
    [ "$("$PYTHON" -c 'import sqlite3; print(*sqlite3.connect("l.db").execute("SELECT status, count(*) FROM items"))')" = "('done', 4)" ]
    [ "$(stat -c %a l.db)" = 600 ]
    [ -z "$(find .cache -name 'entries' 2>/dev/null)" ] # the ledger has the results; the cache is used when it is asked for
}

@test "a map typed again after ^C says what is done before it asks, and goes on with it or begins anew" {
    local flow='shell "cat >>log; test -e ready || ! grep -q 3 log || { touch here; sleep 60; }" --repeats' id
    seq 4 >items
    interrupted() { # id is what the map names before it ends
        rm -f here ready log
        env --default-signal=INT pflow map "$flow" "$@" -j 1 -q 2>err 3>&- <items &
        until_true test -e here
        kill -INT $! && wait $! || [ $? -eq 130 ]
        id=$(sed -n 's/.*pflow resume \(.*\) goes on$/\1/p' err)
        touch ready
    }
    again() { run --separate-stderr pflow map "$flow" items --from=lines -q "$@" </dev/null; }
    interrupted items --from=lines
    run --separate-stderr pflow run --resume "$flow" -nq
    [[ $stderr != *resum* ]] # a run is no map
    again --resume
    expect 0 ''
    [ "$(fold -w1 log | sort | tr -d '\n')" = 12334 ]
    again
    [[ $stderr != *'in the run'* ]]
    interrupted items --from=lines
    again --limit=1
    [[ $stderr != *'in the run'* ]]
    again
    expect 0 '' "2 of 4 are done in the run $id: pflow resume $id; this map begins anew, --resume goes on"
    again
    [[ $stderr != *'in the run'* ]] # it is done since
    interrupted
    [[ $(cat err) == *"; … | pflow resume $id goes on" ]]
    run --separate-stderr pflow map "$flow" -q <items
    expect 0 '' "2 are done in the run $id: … | pflow resume $id; this map"
    interrupted items --from=lines
    mv ".local/state/pflow/runs/$id/journal.jsonl" kept
    run --separate-stderr pflow resume "$id"
    expect 1 '' 'it kept no journal; pflow run, or pflow map, begins another one'
    mv kept ".local/state/pflow/runs/$id/journal.jsonl"
    in_terminal bash --norc -i
    type_line "clear; pflow map '$flow' items --from=lines -q; echo \"<\$?>\""
    shows "2 of 4 are done in the run $id [g: go on with it, a: begin anew, n: no]"
    type_line n
    shows '<1>'
    type_line "clear; pflow map '$flow' items --from=lines -q; echo \"<\$?>\""
    shows 'begin anew, n: no]'
    type_line g
    shows '<0>'
    [ "$(fold -w1 log | sort | tr -d '\n')" = 12334 ]
}

@test "equal items are asked once, also by --refresh, which asks each anew" {
    for flags in --cache '--cache --refresh' '--cache --refresh'; do
        # shellcheck disable=SC2086
        run --separate-stderr pflow map 'shell "tee -a log"' $flags -r < <(printf 'a\nb\na\na\n')
        expect 0 $'a\nb\na\na'
    done
    [ "$(fold -w1 log | sort | uniq -c | tr -d ' \n')" = 3a3b ]
}

@test "a map that is killed goes on, and what has begun and may not repeat is left until it is redone" {
    seq 40 >items
    pflow map 'shell "cat; sleep 0.05"' items --from=lines --jobs=2 -q >out 2>err &
    until [ "$(cat .local/state/pflow/maps/*.db-wal 2>/dev/null | wc -c)" -gt 60000 ]; do sleep 0.05; done
    kill -9 $!
    wait $! 2>/dev/null || true
    run --separate-stderr pflow resume last -r --redo
    expect 0 "$(seq 40)"
    pflow map 'shell "[ $1 = 1 ]" $item' items --from=lines --limit=2 -q || next=$(pflow runs -n 1 --json | jq -c '.[].next')
    [[ $next == *' --failed --redo"]' && $next != *,* ]]
    seq 2 | pflow map 'shell "[ -e ok ]"' -q || run --separate-stderr pflow resume last --redo < <(:)
    expect 64 '' 'its items came through stdin, and now none came'
    touch ok && seq 2 | pflow resume last --redo -q
}

@test "a reader that goes ends the map with 141, and failures end it when they are to" {
    run bash -c 'seq 100000 2>/dev/null | pflow map "template \$item" -r 2>err | head -n 1; echo "${PIPESTATUS[1]}"'
    [ "$output" = $'1\n141' ]
    run --separate-stderr pflow map 'shell false' --halt=soon,fail=2 --jobs=1 < <(seq 100)
    expect 1 - 'which --halt takes as the end'
    [ "${#lines[@]}" -le 3 ]
    run --separate-stderr pflow map 'shell false' --halt=never <<<a
    expect 2 '' '--halt=soon,fail=3'
}

@test "nothing runs for --dry-run, an unknown flag, a missing file, or a wrong shard" {
    run --separate-stderr pflow map 'template "$item"' --dry-run <<<a
    expect 0 '' 'would run template'
    run --separate-stderr pflow map 'template "$item"' --nope=1 <<<a
    expect 2 '' '--nope'
    run --separate-stderr pflow map 'template "$item"' --no-journal <<<a
    expect 2 '' 'for a map'
    run --separate-stderr pflow map 'template "$item"' missing.jsonl
    expect 66 '' "'missing.jsonl'"
    run --separate-stderr pflow map 'template "$item"' --shard=0/4 <<<a
    expect 2 '' 'count from 1'
    [ -z "$(find "$HOME" -name '*.db')" ]
}

@test "shards share the items, and their ledgers merge into one that is the same as of one map" {
    seq 50 >items
    for i in 1 2 3; do pflow map 'template "n $item"' items --from=lines -q --shard=$i/3 --ledger=$i.db; done
    run --separate-stderr pflow merge 1.db 2.db 3.db -o all.db
    expect 0 '' '50 done'
    run --separate-stderr pflow map 'template "n $item"' items --from=lines --ledger=all.db -r
    expect 0 "$(seq -f 'n %g' 50)" '50 done, 0 to do'
}

@test "items that were not done and have not come again are counted, and the map can go on with them" {
    run pflow map 'shell "test -e ready" --repeats' -q < <(seq 6)
    [ "$status" -eq 1 ]
    touch ready
    run --separate-stderr pflow resume last < <(seq 2)
    [[ $stderr == *'4 items that were not done have not come again'* ]]
    [ "$status" -eq 1 ]
    run --separate-stderr pflow resume last </dev/null
    expect 64 '' 'pipe them again'
    run --separate-stderr pflow resume last < <(seq 6)
    expect 0 -
    run --separate-stderr pflow replay last
    expect 2 - 'it is a map'
}

abc() { printf 'a\nb\nc\n' | pflow map 'shell "grep -v b"' -j1 "$@"; }

@test "a stage of pflow behind a map ends with the map's code, and works on the rows if all items were run" {
    export -f abc
    SHELLS=bash in_shells <<'END'
exec 2>/dev/null
abc | pflow-write-file o -q; echo "$? $(jq -c keys o)"
abc --format=csv | timeout 60 pflow-write-file o --from=text -q; echo "$? $(tail -n 1 o)"
abc | pflow-set x=1 | pflow-get x; echo $?
(abc; abc --errors=e) | pflow-write-file o -q; echo "$? $(jq -c keys o | uniq -c)"
abc | PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 LC_ALL=C pflow-write-file o -q; echo $?  # which starts itself again
abc | pflow run 'shell "wc -l"' -r; echo $?
abc -0 | pflow map 'template "<$item>"' --from=nul | (pflow map 'shell "wc -l"' -r); echo $?
abc --format=csv | pflow map 'template "<$item>"' --from=csv | pflow-write-file o -q; echo "$? $(jq -r .text o | tr -d '\n')"
abc -q; printf 'a\nb\nc\n' | pflow resume last --failed --redo | pflow-write-file o -q; echo "$? $(wc -l <o)"
END
    expect 0 '1 ["item","stdout"]
["error","item"]
["item","stdout"]
1 ",
1
1
1       1 ["item","stdout"]
      1 ["error","item"]
      3 ["item","stdout"]
1
3
1
1
1
1
1
1 <a><b><c>
1 3'
}

@test "nothing after a map that was stopped has an effect, and pflow-catch has its rows so far" {
    export -f abc
    SHELLS=bash in_shells <<'END'
exec 2>/dev/null
for last in 'pflow-write-file o' 'pflow run "write-file o"' 'pflow-write-file o --from=text' 'pflow-write-file --from=json o' \
    'pflow-get stdin' 'pflow-set o=1' 'pflow trace' 'pflow map "shell cat" | pflow-write-file o'; do
    abc --halt=now | eval "$last" >doc; echo -n "$? "
    echo b | pflow map 'shell "exit 5"' --halt=now --errors=e | eval "$last" >doc; echo -n "$? "
done
for wrong in --nope -x nofile.jsonl --shard=0/1 --halt=x; do
    abc $wrong | pflow-write-file o -q; echo -n "$? "
done
abc --halt=now | pflow-catch | pflow-get stdin | jq -r .item
mkfifo p && printf 'a\nb\n' >items
pflow-write-file o <p >doc & reader=$!
pflow map 'shell "read x; [ \$x = a ] || { touch here; sleep 60; }"' items --from=lines -j1 >p &
until [ -e here ]; do sleep 0.1; done
kill $!; wait $!; echo $?; wait $reader; echo "$? $(ls | tr '\n' ' ')"
END
    expect 0 '1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2 2 66 2 2 a
b
143
143 doc e here items p '
}

@test "only a program of pflow that reads the pipe gets to know of a failure: others get rows alone" {
    export -f abc
    SHELLS=bash in_shells <<'END'
exec 2>/dev/null
for last in 'jq -r .item' 'cat >o; jq -r .item o' 'tee pflow-o' 'while read -r row; do pflow-template -n x -q; echo "$row"; done' \
    'pflow-template -n x -q | jq -r .item' '"$PYTHON" -c "import sys; print(*sys.stdin)"'; do
    abc --halt=now | eval "$last" | grep -c '\$pflow'
done
abc --halt=now >o; grep -c '\$pflow' o
abc --halt=now -r | pflow-write-file o -q; echo "$? $(cat o)"
pflow-read-file -n -r <(abc --halt=now) | jq -r .item
END
    expect 0 $'0\n0\n0\n0\n0\n0\n0\n0 a\na\nb'
}

@test "an error document into a map goes on with its code, whatever the map is to do, and is not said again" {
    pflow-set -n kept=1 | pflow-shell --command='exit 9' >failed 2>/dev/null || [ $? -eq 9 ]
    sed 1d failed >rest
    in_shells <<'END'
echo b | pflow map 'shell "grep a"' 2>log | pflow map 'shell "touch o"' >log 2>&1; rm o log # it is unfinished
for flags in '' --from=lines --from=csv --limit=1 --estimate --dry-run '--id=x --sample=2'; do
    cat ../failed | pflow map 'shell "touch o"' $flags | pflow-write-file o >out; echo "$? $(sed 1d out | cmp - ../rest)"
    cat ../failed | pflow map 'shell "touch o"' $flags | jq .
    cat ../failed | pflow map 'shell "touch o"' $flags -r; echo $?
done
pflow-llm --skip-empty x </dev/null | pflow map 'shell "touch o"' | pflow-write-file o | grep -c '"skipped":true'
ls
END
    expect 0 "$(for _ in {1..7}; do printf '9 \n9\n'; done)"$'\n1\nout'
    [ -z "$stderr" ]
}
