#!/usr/bin/env bats
# The store document between two stages.
# shellcheck disable=SC2016,SC2154

load helper

odd='"odd key":{"n":[1.10, 1e2,-0.0,1E+5,123456789012345678901234567890],"t":"😀 \u0000 \ud83d\ude00 \/ é"}'

write_store() {
    printf '{"$pflow":{"v":1},\n%s,\n"text":"ä"\n}\n' "$odd"
}

@test "a key that no node knows comes out of the fifth stage byte for byte, in its place" {
    write_store >store
    in_shells '
        pflow-shell --command="cat; echo more" --map-in input=text <../store |
        pflow-write-file --path=o |
        pflow-read-file --path=o |
        pflow-list-files --pattern="*" |
        pflow-set more=1 | sed -n 2p'
    expect 0 "$odd,"
}

@test "any JSON tool between any two stages changes nothing that a stage sees" {
    need jq gojq
    local plain=
    for filter in cat 'gojq .' 'python3 -m json.tool' 'jq -S .'; do
        # jq -S sorts what stands inside a value too: there the two members of `list` are in order already.
        in_shells "
            pflow-set -n 'list:=[0.5, 9007199254740992, -9007199254740992, null, {\"a\": 1, \"z\": {}}]' \
                'text=😀 \"q\" \\ é' nul:='\"\\u0000\"' | $filter |
            pflow-shell --command='printf \"%s\\n\" \"\$@\"; printf \"\\377\"' --args='\${list[4]}' --args='\$list' \
                --args='\$text' | $filter |
            pflow-write-file --path=o | $filter |
            pflow-read-file --path=o --id=back | $filter |
            pflow-get nul list text back.content exit_code | base64"
        expect 0 "${plain:=$output}"
    done
    base64 -d <<<"$plain" | grep -q '^😀 "q" \\ é$'
}

@test "a store is known by its header, wherever that stands" {
    need jq
    in_shells 'pflow-set -n "[\"!first\"]=1" text=hi | jq -S . | pflow-shell --command=cat --map-in input=text -r'
    expect 0 hi
}

@test "a JSON file of one's own is raw, also with a \$pflow inside, and nothing is merged" {
    printf '{"path": "elsewhere", "deep": {"$pflow": {"v": 1}}}' >own.json
    in_shells 'pflow-write-file --path=o <../own.json -q && cmp o ../own.json && ls -A'
    expect 0 o
}

@test "a byte order mark in front of a store, or of JSON, changes nothing" {
    printf '\xef\xbb\xbf' >mark
    { cat mark; echo '{"a": {"b": "x"}}'; } >own.json
    { cat mark; pflow-read-file own.json; } >store
    { cat mark; echo '{"template": "x"}'; cat mark; echo '{"template": "x"}'; } >lines.jsonl
    while read -r words; do
        run bash -c "$words" </dev/null
        expect 0 x
    done <<'EOF'
pflow-get content.a.b <store
pflow-set c=x <store | pflow-get c
pflow-catch <store | pflow-get content.a.b
pflow-select a.b -r <store
pflow-template '${content.a.b}' -r <store
pflow-shell --from=json 'printf %s "$1"' --args='${a.b}' -r <own.json
pflow-parse-json <own.json | pflow-get data.a.b
pflow-set -n k:@own.json | pflow-get k.a.b
pflow-set -n k:="$(cat own.json)" | pflow-get k.a.b
pflow run 'template "${d.a.b}"' --d@own.json -r
pflow-load-jsonl lines.jsonl -r | jq -r '.[1].template'
pflow map template lines.jsonl 2>/dev/null | jq -r .text | uniq
EOF
}

@test "--map-out of two writes to one place is 2, and nothing is done" {
    in_shells 'pflow-shell -n --command="touch ran" --map-out stdout=x --map-out stderr=x.y -q; echo $?; ls'
    expect 0 2 'goes to that place'
    in_shells 'pflow-shell -n --command="echo hi" --map-out stdout=command | pflow-get command'
    expect 0 hi
}

@test "a version that is not known is 65 and names both versions and the writer" {
    in_shells 'echo "{\"\$pflow\":{\"v\":2,\"by\":\"pflow-shell 9.9\"},\"text\":1}" | pflow-write-file --path=o -q; echo $?; ls'
    expect 0 65
    [[ $stderr == *"version 2"*"pflow-shell 9.9"*"version 1"* ]]
}

@test "what JSON cannot hold is refused where it is decoded, and passes where it is not" {
    for value in 123456789012345678901 '"\ud800"'; do
        printf '{"$pflow":{"v":1},\n"bad":%s,\n"good":1\n}\n' "$value" >store
        in_shells 'pflow-shell --command=true <../store | pflow-get good'
        expect 0 1
        in_shells 'pflow-shell --command=true --args="\$bad" <../store >/dev/null'
        expect 65
    done
}

@test "pflow-set refuses what is not JSON, or is more than JSON holds" {
    in_shells 'for value in NaN "" "{\"a\"" 123456789012345678901 "\"\ud800\""; do pflow-set -n "a:=$value" >/dev/null; echo $?; done'
    expect 0 $'2\n2\n2\n2\n2'
}

@test "bytes that are not UTF-8 travel in the document and come out as they were" {
    need jq
    head -c 3000 /dev/urandom >bytes
    printf '\377\000' >>bytes
    in_shells '
        pflow-read-file --path=../bytes | jq . | pflow-write-file --path=o | pflow-shell --command=cat |
        pflow-get stdout | cmp - ../bytes && cmp o ../bytes'
    expect 0
}

@test "a document that is cut anywhere is 65, and never raw text, once its header is begun" {
    write_store | pflow-shell --command=cat --map-in input=text >whole
    for cut in 1 8 9 20 "$(($(stat -c %s whole) - 2))"; do
        code=0
        head -c "$cut" whole | timeout 20 pflow-set a=1 >out 2>err || code=$?
        if ((cut < 9)); then
            [ "$code" -eq 0 ] && grep -q '"stdin":' out
        else
            [ "$code" -eq 65 ] && grep -q '"exit":65' out && ! grep Traceback err
        fi || { echo "cut at $cut: $code" && cat out err && return 1; }
    done
}

@test "an integer is an integer, however it is written" {
    node twice 'Reads: shared["n"]: int' 'Writes: shared["twice"]: int [pipe]' <<'END'
    def post(self, shared, prepared, done):
        shared["twice"] = 2 * shared["n"]
END
    export PFLOW_NODES=$PWD
    in_shells 'for n in 3 3.0 30e-1; do pflow-set -n n:=$n | pflow twice | pflow-get; done; pflow-set -n n:=3.5 | pflow twice | pflow-get'
    expect 65 $'6\n6\n6' 'a float, not int'
}
