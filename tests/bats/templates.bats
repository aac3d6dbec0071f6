#!/usr/bin/env bats
# Templates in flags, and what can never become a command or a place to write.
# shellcheck disable=SC2016,SC2154

load helper

setup() { quick_llm; }

@test "a value with a shell's signs in it runs nothing, wherever it is given" {
    export EVIL='$(touch x); `touch y`; "; touch z; '\'' ; touch w #'
    in_shells '
        printf %s "$EVIL" >../evil
        pflow-shell -n --verbatim --command="cat; printf %s \"\$1\"" --input="$EVIL" --args="$EVIL" -r | cat - >../twice
        printf %s "$EVIL" | pflow-shell --command="cat" | pflow-shell --command="cat; printf %s \"\$1\"" --args="\$stdout" |
            pflow-get --exact stdout | cmp - ../evil
        pflow-set -n "text=$EVIL" | pflow-write-file --content="\$text" --path=../o -q && cmp ../o ../evil
        printf %s "$EVIL" | pflow-llm --prompt="$EVIL" --verbatim >/dev/null
        pflow-llm -n --system="$EVIL" --prompt="$EVIL" -r --exact | cmp - ../evil
        pflow-set -n "path=$EVIL" | pflow-read-file --path="\$path" -q; echo $?
        ls'
    expect 0 66
    [ -s twice ]
}

@test "in a path a template brings in one name, after what a person wrote" {
    in_shells '
        mkdir out
        for city in ../esc /tmp/x .. . "" Oslo .hidden; do
            pflow-set -n "city=$city" content=x | pflow-write-file --path="out/\$city" -q; echo $?
        done
        pflow-set -n a=. | pflow-write-file --content=x --path="out/\$a\$a/b" -q; echo $?
        pflow-set -n city="../../o" | pflow-list-files --pattern="*" --directory="out/\$city" -q; echo $?
        pflow-set -n dir= | pflow-write-file --content=x --path="\$dir/etc" -q; echo $?
        pflow-set -n dir=a/b | pflow-write-file --content=x --path="\$dir/c" -q; echo $?
        find . -type f | sort'
    expect 0 $'77\n77\n77\n77\n77\n0\n0\n77\n77\n77\n0\n./a/b/c\n./out/.hidden\n./out/Oslo' \
        "cannot fill 'out/\$city': city is '../esc', which is not one file name"
}

@test "a path of data is held to one name in steps, in subflows, in batches and in both exports" {
    printf '%s\n' '{"inputs": {"city": {"type": "str"}}, "nodes": [{"id": "w", "type": "write-file", "inputs": {"content": "x"}}],' \
        '"mappings": {"w": {"input_mappings": {"path": "template:out/${city}.txt"}}}}' >inner.pflow.json
    printf '%s\n' '{"inputs": {"cities": {"type": "list"}}, "nodes": [{"id": "w", "type": "write-file",' \
        '"inputs": {"path": "out/$city", "content": "x"}, "batch": {"over": "cities", "as": "city"}}]}' >batch.pflow.json
    printf '%s\n' '{"nodes": [{"id": "in", "type": "./inner.pflow.json"}]}' >outer.pflow.json
    printf '%s\n' '{"inputs": {"to": {"type": "str"}}, "nodes": [{"id": "w", "type": "write-file",' \
        '"inputs": {"path": "$to", "content": "x"}}]}' >to.pflow.json
    printf '%s\n' '{"nodes": [{"id": "in", "type": "./to.pflow.json", "inputs": {"to": "out/$city"}}]}' >given.pflow.json
    in_shells '
        mkdir out && cp ../*.json .
        for flow in "write-file --content=x --path=out/\$city" inner.pflow.json outer.pflow.json given.pflow.json; do
            pflow run "$flow" -n --city=../esc -q; echo $?
            pflow export --to=python "$flow" >flow.py && python3 flow.py -n --city=../esc -q; echo $?
            pflow export --to=sh "$flow" >flow.sh 2>/dev/null && { sh flow.sh --city=../esc >/dev/null; echo $?; }
        done
        pflow run batch.pflow.json -n --cities="[\"Rome\",\"../esc\"]" -q; echo $?; find . -name "*esc*"'
    expect 0 $'77\n77\n77\n77\n77\n77\n77\n77\n77\n77'
}

@test "in a batch over paths, AS_name and AS_stem are the last component" {
    printf '%s\n' '{"nodes": [{"id": "find", "type": "list-files", "inputs": {"pattern": "src/*.txt"}},' \
        '{"id": "copy", "type": "write-file", "inputs": {"path": "out/$file_name", "content": "of $file: $file_stem"},' \
        '"batch": {"over": "find.files", "as": "file", "jobs": 2}}]}' >copy.pflow.json
    in_shells '
        mkdir src && touch src/a.txt src/b.tar.txt && cp ../copy.pflow.json . && pflow run copy.pflow.json -n -q && grep -r . out | sort
        pflow export --to=python copy.pflow.json >flow.py && rm -r out && python3 flow.py -n -q && ls out'
    expect 0 $'out/a.txt:of src/a.txt: a\nout/b.tar.txt:of src/b.tar.txt: b.tar\na.txt\nb.tar.txt'
    sed s/file_stem/file_steam/ copy.pflow.json >slip.pflow.json
    in_shells 'pflow check ../slip.pflow.json | grep -o "did you mean file_stem"'
    expect 0 'did you mean file_stem'
}

@test "a dry run and explain say where data chooses a path" {
    in_shells '
        pflow-set -n p=a/b | pflow-write-file --content=x --path="\$p.out" --dry-run -q
        pflow-set -n p=a/b | pflow-write-file --content=x --map-in path=p --dry-run -q
        pflow-set -n p=a | pflow-write-file --content=x --path="out/\$p" --dry-run -q
        pflow run "shell --command=ls => write-file --path=\$stdout.txt --content=x" --dry-run -n -q; ls'
    expect 0 ''
    [ "$(grep -c 'path: a/b.*, whose directory data chooses' <<<"$stderr")" -eq 2 ]
    [ "$(grep -c 'whose directory data chooses' <<<"$stderr")" -eq 3 ]
    node keep 'Params: logs: list[path] = []  # where' </dev/null
    export PFLOW_NODES=$PWD
    in_shells 'pflow-shell -n --command=ls --dry-run 2>/dev/null | pflow keep --logs="\$stdout" --logs="o/\$stdout" --dry-run -q
        pflow explain "shell --command=ls => keep --logs=\$stdout" | tr -s "\n " " " | grep -o "which chooses the directory" | head -n 1'
    expect 0 'which chooses the directory' 'logs: not known yet, whose directory data chooses'
    in_shells '
        pflow explain "shell --command=ls => write-file --path=\$stdout.txt --content=x" | tr -s "\n " " " | grep -o "which chooses the directory"
        pflow explain "shell --command=ls => write-file --path=o/\$stdout.txt --content=x" | tr -s "\n " " " | grep -o "which chooses the directory"'
    expect 1 $'which chooses the directory\nwhich chooses the directory'
}

@test "what a template brings in is never expanded again" {
    in_shells '
        pflow-set -n secret=hidden "text=\${secret} \$secret \$\$" |
        pflow-shell --command="printf %s \"\$1\"" --args="got: \$text" -r'
    expect 0 'got: ${secret} $secret $$'
    in_shells '
        pflow-set -n secret=hidden | pflow-write-file --content="a \$\${secret}" --path=o |
        pflow-read-file --path=o | pflow-shell --command=cat -r'
    expect 0 'a ${secret}'
}

@test "a store from elsewhere cannot choose where write-file writes or what shell runs" {
    printf '%s\n' '{"$pflow":{"v":1,"last":"text"},' '"path":"evil",' '"command":"touch evil",' '"directory":"/",' \
        '"pattern":"*",' '"text":"hi"' '}' >store
    in_shells 'for command in write-file shell read-file list-files; do pflow-$command -q <../store; echo $?; done; ls -A'
    expect 0 $'66\n66\n66\n66' 'nothing gives it'
    in_shells 'pflow-shell --command="echo \$0 \$*" <../store | pflow-write-file --path=mine | pflow-get path command; ls; cat mine'
    expect 0 $'evil\ntouch evil\nmine\nsh'
}

@test "a store from elsewhere cannot give a node its params" {
    printf '%s\n' '{"$pflow":{"v":1,"last":"text"},' '"append":true,' '"overwrite":false,' '"check":false,' '"text":"new"' '}' >store
    in_shells 'echo old >o; pflow-write-file --path=o -q <../store; cat o'
    expect 0 new
    in_shells 'pflow-shell --command="exit 4" -q <../store'
    expect 4
}

@test "a header from elsewhere chooses nothing but what is carried" {
    printf '{"$pflow":{"v":1,"last":"../etc","steps":"x"},\n"text":"hi"\n}\n' >broken
    printf '{"$pflow":{"v":1,"last":"nope.there"},\n"text":"hi"\n}\n' >missing
    printf '{"$pflow":{"v":1,"error":{"exit":0}},\n"text":"hi"\n}\n' >success
    printf '{"$pflow":{"v":1,"dry":["x",{}]},\n"text":"hi"\n}\n' >dry
    printf '{"$pflow":{"v":1,"error":{}},\n"text":"hi"\n}\n' >error
    printf '{"$pflow":{"v":1,"steps":[1,{"id":[]}],"run":"\\u001b[31m","traceparent":7},\n"text":"hi"\n}\n' >odd
    for store in broken missing success dry error odd; do
        for command in 'pflow-write-file --path=o' 'pflow trace'; do
            in_shells "$command <../$store >out; code=\$?; grep -c Traceback out; exit \$code"
            [[ $status == @(0|1|65|66) && $stderr != *Traceback* && $stderr != *"a bug in pflow"* ]] ||
                { echo "$store $command" && expect 65 none; }
        done
    done
}

@test "a missing name stops the step before it runs and says what there is" {
    in_shells 'pflow-shell -n --id=fetch --command="echo hi" | pflow-shell --command="touch ran" --args="\${fetch.stdot}" -q; echo $?; ls'
    expect 0 66 "no 'stdot' in fetch; it has "
    [[ $stderr == *'did you mean stdout?'* ]]
    in_shells 'pflow-shell -n --command="touch ran" --args="\$nope" -q; echo $?; ls'
    expect 0 66 "'nope'"
}

@test "one whole reference keeps its type, and inside text a value is JSON" {
    need jq
    in_shells '
        pflow-set -n n:=7 t:=true nil:=null l:="[1,\"two\"]" o:="{\"a\":{\"b\":[10,20]}}" j="{\"deep\": [1, {\"x\": \"y\"}]}" |
        pflow-shell --command="printf \"%s\\n\" \"\$@\"" --args="\$n \$t (\$nil) \$l" --args="\${o.a.b[-1]} \${o.a.b[0]} \${l[1]}" \
            --args="\${j.deep[1].x}" --args="[\"\$t\", \"x\$n\"]" --args="\${o.a}" -r'
    expect 0 $'7 true () [1,"two"]\n20 10 two\ny\ntrue\nx7\n{"b":[10,20]}'
    in_shells 'pflow-set -n json="[\"-rf\", \"/\"]" list:="[\"a b\", 2]" |
        pflow-shell --command="printf \"<%s>\" \"\$@\"" --args="\$json" --args="\$list" -r'
    expect 0 '<["-rf", "/"]><["a b",2]>'
    in_shells 'pflow-set -n l:="[1,2]" | pflow-write-file --content="\$l" --path=o | pflow-get content; cat o'
    expect 0 $'[1,2]\n[1,2]'
}

@test "bytes inside text are text where they are UTF-8, a file's name in a path, and else 65" {
    in_shells '
        touch "$(printf "b\377.txt")"
        pflow-list-files -n --pattern="*" | pflow-write-file --path="\${files[0]}.bak" --content=x | pflow-get path | od -An -c
        ls -b'
    expect 0 $'   b 377   .   t   x   t   .   b   a   k\nb\\377.txt\nb\\377.txt.bak'
    in_shells '
        printf "caf\303\251" >u; printf "never-sent-bytes \377" >b
        pflow-read-file -n --path=u --encoding=bytes | pflow-llm --prompt="x \$content" -r
        pflow-read-file -n --path=b --encoding=bytes | pflow-llm --prompt="x \$content" -r; echo $?
        pflow-read-file -n --path=b --encoding=bytes | pflow-write-file --content="x \$content" --path=o -q; echo $?; ls'
    expect 0 $'x café\n65\n65\nb\nu' 'its bytes are not UTF-8'
    [ "$(requests_with never-sent-bytes)" -eq 0 ]
}

@test "what a command calls \${city}, and no template fills, is warned of where there is a city" {
    warning="warning: '\${city}' in 'command' is never filled, though there is city; --args='\$city' hands it over, as \"\$1\", and --input='\$city' on stdin"
    run --separate-stderr sh -c 'pflow-set -n city=Oslo | pflow-shell --command="echo \"<\${city}>\" \${HOME} \${arr[@]:0}" --no-check -q'
    expect 0 - "pflow-shell: $warning"
    echo '{"inputs": {"city": {"type": "str"}}, "nodes": [{"type": "shell", "inputs": {"command": "echo ${city}"}}]}' >flow.json
    run --separate-stderr pflow check flow.json
    expect 0 "flow.json: nodes[0].inputs.command: PF14: $warning"
    run --separate-stderr pflow check 'shell:one --command="echo hi" => shell --command="echo ${stdout}"'
    expect 0 "pipe: nodes[1].inputs.command: PF14: warning: '\${stdout}' in 'command' is never filled, though there is stdout; --args='\$stdout' hands it over, as \"\$1\", and --input='\$stdout' on stdin"
    run --separate-stderr pflow run flow.json --city=Oslo -n -r
    expect 0 '' "pflow run: nodes[0].inputs.command: PF14: $warning"
    run --separate-stderr pflow run "shell --command='echo \${HOME} >/dev/null; echo \"\$1\"' --args='\$city'" --city=Oslo -n -r
    expect 0 Oslo
    [ -z "$stderr" ]
}

@test "\$city in a command is warned of alike, with --verbatim it is not" {
    warning="warning: '\$city' in 'command' is never filled, though there is city; --args='\$city' hands it over"
    run --separate-stderr sh -c 'pflow-set -n city=Oslo | pflow-shell "echo [\$city]" -r'
    expect 0 '[]' "pflow-shell: $warning"
    run --separate-stderr sh -c 'pflow-set -n city=Oslo | pflow-shell "echo [\$city]" -r --verbatim'
    expect 0 '[]'
    [ -z "$stderr" ]
    while IFS='~' read -r name command; do
        run --separate-stderr sh -c "$command"
        expect 0 '[]' "'\$$name' in 'command' is never filled, though there is $name"
    done <<'END'
item~echo a | pflow map 'shell "echo [$item]"' -r
n~echo '{"n":1}' | pflow map 'shell "echo [$n]"' -r
n~echo '{"n":1}' | pflow-shell --from=json 'echo [$n]' -r
city~pflow-set -n city=Oslo | pflow run 'shell "echo [$city]"' -r
item~pflow run -n 'list-files "*" => ( shell "echo [$item]" => select "" ) --each => template "[]"' -r
files~pflow run -n 'list-files "*" => ( shell "echo [$files]" => select "" ) --each => template "[]"' -r
END
    run --separate-stderr sh -c 'pflow-set -n a=1 | pflow-http http://127.0.0.1:1/ --header="A: \$a"'
    expect 69 - "pflow-http: warning: '\$a' in 'header' is never filled, though there is a; write the value itself"
    run --separate-stderr pflow check 'llm hi => shell "echo \$response" --verbatim'
    expect 0 'pipe: 2 steps, pipe syntax: no findings'
}

@test "neither shell's command nor a value of pflow-set is a template" {
    in_shells 'pflow-set -n x=store "b=\$x \${x} \$\$" | tee s | pflow-get b; x=shell pflow-shell --command="echo \$x \${x}" -r <s'
    expect 0 $'$x ${x} $$\nshell shell'
}

@test "what looks like a reference and is none stays, with a warning" {
    in_shells 'pflow-shell -n --command="printf %s \"\$1\"" --args="\${a:-b} \${}" -r'
    expect 0 '${a:-b} ${}' warning
}

@test "a wrong name in the text of a template node is the same error in a stage and in a flow" {
    echo '{"nodes": [{"id": "t", "type": "template", "inputs": {"template": "Dear ${name"}}]}' >broken.json
    for wrong in '66:$nmae' '2:${name' '2:${ name }' '2:${name[x]}' '66:${nmae}' '0:$name'; do
        run --separate-stderr sh -c 'pflow-set name=Zoë | pflow-template "Dear ${1#*:}" -q' - "$wrong"
        expect "${wrong%%:*}"
        run --separate-stderr sh -c 'pflow-set name=Zoë | pflow "read-file $NOTES => template '\''Dear ${1#*:}'\''" -q' - "$wrong"
        expect "${wrong%%:*}"
    done
    run --separate-stderr pflow run broken.json -n
    expect 65 - "'\${name' is not a reference, and would be handed on"
}

@test "a reference that goes wrong, or stands in another, is refused before anything runs" {
    for wrong in '${a.}' '${l[${i}].x}' '${l[i]}'; do
        run --separate-stderr pflow-shell -n --command='touch ran' --args="$wrong"
        expect 2 - "cannot take --args: '${wrong%%\}*}"
        run --separate-stderr pflow run "shell --command='touch ran' --args='$wrong'" -n
        expect 2 - "cannot take --args: '${wrong%%\}*}"
    done
    run --separate-stderr pflow-shell -n --command='touch ran' --map-in 'input=${a.b}'
    expect 2 - "'\${a.b}' is a template: write a.b"
    [ ! -e ran ]
}

@test "the order of sources: a flag, a mapping, the pipe, the store, the default" {
    in_shells '
        pflow-set -n input=stored other=mapped >s
        pflow-shell --command=cat -r <s
        pflow-shell --command=cat --map-in input=other -r <s
        pflow-shell --command=cat --map-in input=other --input=flag -r <s
        echo piped | pflow-set input=stored | pflow-shell --command=cat -r
        pflow-shell --command="cat; echo none" -n -r
        pflow-shell --command=cat --map-in input=nope -q <s; echo $?'
    expect 0 $'stored\nmapped\nflag\npiped\nnone\n66'
}

@test "--id keeps a step's data and writes under its name" {
    need jq
    in_shells '
        pflow-set -n stdout=mine | pflow-shell --id=one --command="echo 1" | pflow-shell --id=two --command="cat; echo 2" |
            jq -c "del(.[\"\$pflow\"])"'
    expect 0 '{"stdout":"mine","one":{"command":"echo 1","stdout":"1\n","stderr":"","exit_code":0},"two":{"command":"cat; echo 2","stdout":"1\n2\n","stderr":"","exit_code":0}}'
}

@test "--map-in and --map-out map by hand" {
    in_shells '
        pflow-set -n a.b=deep | pflow-shell --map-in input=a.b --map-out stdout=x.y --command="tr d D" | pflow-get x.y
        pflow-set -n a=1 | pflow-shell --map-in nope=a --command=true -q; echo $?'
    expect 0 $'Deep\n2'
}

@test "a data flag goes into the store once, and counts for its stage alone when the key is there" {
    in_shells 'pflow-set -n content=old | pflow-write-file --content=new --path=o | pflow-get content path; cat o'
    expect 0 $'old\no\nnew'
    in_shells 'pflow-llm -n --prompt=hi | pflow-get -e prompt'
    expect 1 ''
}

@test "the name that a program prints loses its newline where it is used as a path; a file's own name does not" {
    echo content >a.txt
    printf odd >$'b\n'
    in_shells "cd '$PWD'; echo a.txt | pflow-read-file --path='\$stdin' -r; pflow-shell 'echo a.txt' | pflow-read-file --path='./\$stdout' -r
pflow 'shell \"echo a.txt\" => read-file --path=\$stdout' -r; pflow-list-files 'b*' | pflow run 'read-file --path=\${files[0]}' -r"
    expect 0 $'content\ncontent\ncontent\nodd'
    run --separate-stderr pflow-read-file -r $'no\n'
    expect 66 - "cannot read 'no\n': no such file or directory; it names a file that ends with a newline"
}
