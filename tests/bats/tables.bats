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
