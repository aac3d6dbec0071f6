#!/usr/bin/env bats
# Rows through pipes and flows: answers of a model, and tables without rows.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

@test "answers that fit a schema become the columns of a table" {
    run --separate-stderr sh -c '
        pflow-llm -n -m json-native Trees --schema="name, height int" | pflow-save-csv 1.csv -q; paste -sd" " 1.csv
        many="llm Trees -m json-list --schema-multi=\"name, height int\""
        pflow "$many => save-results 2.csv" -nq; paste -sd" " 2.csv
        printf "a\nb\n" | pflow "$many --each --with-item => write-file 3.csv" -q; paste -sd" " 3.csv
        printf "a\nb\n" | pflow "$many --each => save-csv 4.csv --no-header" -q; paste -sd" " 4.csv'
    expect 0 'name,height oak,40
name,height oak,40 ash,30
item,response.name,response.height a,oak,40 a,ash,30 b,oak,40 b,ash,30
oak,40 ash,30 oak,40 ash,30'
}

@test "a table with nothing but a header keeps its columns" {
    printf '\357\273\277a ;"b\nb"\n' >a.csv
    run --separate-stderr sh -c '
        pflow-load-csv a.csv | pflow-save-csv 1.csv -q; paste -sd" " 1.csv
        pflow "load-csv a.csv => clean-data --rename=\"a =c\" => save-results 2.csv" -q; paste -sd" " 2.csv
        printf "a,b\n1,2\n" | pflow "load-csv => clean-data --types=a=bool --misfits=drop => save-csv 3.csv" -q; cat 3.csv
        pflow-load-csv a.csv | pflow-analyze -r | head -1
        pflow-load-csv a.csv | pflow-set response:="{\"items\": []}" | pflow-save-csv 4.csv --map-in rows=response -q; cat 4.csv
        for last in save-csv save-results "clean-data => save-csv"; do
            pflow "load-csv a.csv => llm Sum -m echo --each => $last 5.csv" -q; cat 5.csv
        done
        pflow-load-csv a.csv | pflow-select | pflow-save-csv 5.csv -q; cat 5.csv
        pflow "load-csv a.csv => load-csv --file=a.csv => save-csv 6.csv" -q; paste -sd" " 6.csv'
    expect 0 'a ,"b b"
c,"b b"
a,b
0 rows, 2 columns
a ,"b b"'
}

@test "bytes that are not UTF-8 are told with their place, and --encoding reads them, at every door" {
    printf 'gr\374n\nb\n' >old.txt
    while IFS='~' read -r said command; do
        run --separate-stderr sh -c "$command" </dev/null
        [[ $output$stderr == *"$said"* ]] || { echo "$command: $output $stderr" && return 1; }
    done <<'END'
cannot read 'text' from stdin: it is not UTF-8 (byte 0xfc at 2); --encoding=cp1252~pflow-split-text <old.txt
its bytes are not UTF-8 (byte 0xfc); --encoding=latin-1~pflow-template '<$stdin>' <old.txt
<grün~pflow-template '<$stdin>' --encoding=latin-1 -r <old.txt
gr�n~pflow-template '<$stdin>' --encoding=utf-8:replace -r <old.txt
grün~pflow-load-csv --encoding=latin-1 -r <old.txt
grün~iconv -f latin1 -t utf-16 old.txt | pflow-load-csv --encoding=utf-16 -r
gr�n~pflow-read-file old.txt --encoding=utf-8:replace -r
did you mean latin1?~pflow-template x --encoding=latn1 <old.txt
no such error handler~pflow-template x --encoding=utf-8:replce <old.txt
no such encoding~pflow run 'template x' -n --encoding=nonsense
<grün~pflow run 'template "<$stdin>"' --encoding=latin-1 -r <old.txt
"grün":"b"~pflow run 'read-file old.txt => load-csv' --encoding=latin-1 -r
"Ã¤":"b"~printf 'ä\nb\n' | pflow-load-csv --encoding=latin-1 -r
"Ã¤":"b"~printf 'ä\nb\n' | pflow run 'load-csv --encoding=latin-1' -r
"Ã¤":"b"~printf 'ä\nb\n' | pflow run load-csv --encoding=latin-1 -r
"grün":"b"~iconv -f latin1 -t utf-16le old.txt | pflow run 'load-csv --encoding=utf-16le' -r
pflow run --encoding~pflow run 'template x --encoding=latin-1' -n
from item: it is not UTF-8 (byte 0xfc at 2)~pflow map 'template "$item"' old.txt
cannot read 'old.txt': line 1, byte 3: it is not UTF-8 (--encoding=cp1252~pflow map 'template x' old.txt --from=csv
<grün>~pflow map 'template "<$item>"' old.txt --encoding=latin-1 -r
<grün~pflow map 'read-file => template "<$content>"' old.txt --from=files --encoding=latin-1 -r
<ü>~printf '{"a":"\374"}\n' | iconv -f latin1 -t utf-16 | pflow map 'template "<$a>"' --encoding=utf-16 -r
it is UTF-16LE, not UTF-8; --encoding=utf-16le~printf 'b\n1\n' | iconv -t utf-16le | pflow-load-csv
it is UTF-32, not UTF-8 (byte 0xff at 0); --encoding=utf-32 where~iconv -f latin1 -t utf-32 old.txt | pflow-split-text
cannot attach what the pipe brings: it is UTF-16BE, not UTF-8~printf 'b\n' | iconv -t utf-16be | pflow-llm x
cannot fill a template: it is UTF-16, not UTF-8 (byte 0xff at 0); --encoding=utf-16 where~printf 'b\n' | iconv -t utf-16 | pflow-template '<$stdin>'
cannot fill a template: it is UTF-16LE, not UTF-8~printf 'b\n' | iconv -t utf-16le | pflow-template '<$stdin>'
cannot read 'text' from stdin: it is UTF-16LE, not UTF-8; --encoding=utf-16le~printf 'b\n' | iconv -t utf-16le | pflow-summarise-text
cannot read 'text' from stdin: it is UTF-16BE, not UTF-8; --encoding=utf-16be~printf 'b\n' | iconv -t utf-16be | pflow run split-text
["b\u0000c\n"]~printf 'b\0c\n' | pflow-split-text -r
<b~printf '\376\377\0b' | pflow-template '<$stdin' --encoding=utf-16be -r
is UTF-16, not UTF-8 (byte 0xff at 0); iconv -f UTF-16 -t UTF-8~printf '{}' | iconv -t utf-16 >f.json; pflow check f.json
(byte 0xff at 0); --encoding=utf-16 where~printf '{}' | iconv -t utf-16 | pflow-split-text --from=json
iconv -f CP1252 -t UTF-8~pflow-llm -n --prompt@old.txt
cannot read 'old.txt': it is not ascii~pflow map 'template x' old.txt --encoding=ascii
END
}

@test "rows of items that failed are left out and counted, and with --with-item they say why" {
    printf '{"a":1}' >1.json && printf x >2.json && printf '{"a":3}' >3.json
    local flow='list-files "?.json" => load-json --each --as=path --keep-going' node
    for node in 'save-csv o' clean-data analyze custom-analysis 'export-dashboard o.html' 'save-results o.csv' 'save-results o.md'; do
        run --separate-stderr pflow run -n "$flow => $node" -q
        expect 1 '' "the first, item 2 (\"2.json\"): cannot read '2.json': line 1, column 1: no JSON value"
        [[ $stderr == *'warning: left out 1 of 3 rows: null, as for an item that failed'* ]]
    done
    [ "$(cat o o.csv)" = $'a\n1\n3\na\n1\n3' ]
    run --separate-stderr pflow check 'list-files => clean-data'
    expect 65 "pipe: mappings.clean-data.input_mappings.rows: PF15: 'rows' wants a list[dict], but 'files' is a list[path]; map it from a list[dict]"
    run --separate-stderr pflow run -n "$flow => select --field=a" -r
    expect 1 '[{"a":1},null,{"a":3}]'
    run --separate-stderr pflow run -n "$flow --with-item => save-csv o" -q
    expect 1
    [ "$(cat o)" = $'item,data.a,error\n1.json,1,\n2.json,,"cannot read \'2.json\': line 1, column 1: no JSON value"\n3.json,3,' ]
}
