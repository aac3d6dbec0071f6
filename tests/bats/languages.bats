# Nodes in any language: as a step of a flow, as `pflow NAME`, and as a program that the shell runs itself.

setup_file() {
    load helper
    export FOLDER=$BATS_FILE_TMPDIR/nodes
    mkdir "$FOLDER"
    cp "$BATS_TEST_DIRNAME"/../../examples/nodes/pflow-* "$FOLDER"
    command -v cc >/dev/null || return 0
    cc -O2 -o "$FOLDER/pflow-measure" "$FOLDER/pflow-measure.c"
}

setup() {
    load helper
    need jq awk perl node cc
    export PATH=$FOLDER:$PATH
    export ALL='slug front-matter redact chunk measure'
    export ERROR='{"$pflow":{"v":1,"error":{"step":"x","node":"y","exit":75,"message":"on purpose"}},
"kept":"é"
}'
}

@test "what they do is the same in a flow, as a stage, and in a plain pipe" {
    in_shells 'printf -- "---\ntitle: A 😀 b\n---\nWrite to bob@x.org. Now.\n" >note
        flow="front-matter => redact => chunk --size=11"
        pflow run "read-file --path=note => $flow" -r
        pflow-read-file --path=note | pflow front-matter | pflow redact | pflow chunk --size=11 -r
        pflow-front-matter <note | pflow-redact | pflow-chunk --size=11 -r
        cat note | pflow run "$flow" | pflow-get meta.title
        pflow-front-matter --id=a <note | pflow-redact --map-in text=a.body | pflow-measure | pflow-get words found
        cat note | pflow run "front-matter => slug --title=\"\${meta.title}\"" -r'
    expect 0 '["Write to ","[redacted]."," Now.\n"]
["Write to ","[redacted]."," Now.\n"]
["Write to ","[redacted]."," Now.\n"]
A 😀 b
4
1
a-b'
}

@test "as programs of the shell they are stages: help, version, a wrong flag, nothing on stdin" {
    in_shells 'for name in $ALL; do pflow-$name --version; : | pflow-$name -q 2>/dev/null; echo $?; done | sed "s/ (.*//" | xargs
        pflow-slug --help | grep -c -e "^Data (into the store):" -e "^Common:"
        echo x | pflow-slug --nope >out; grep -c "\"exit\":2" out'
    expect 0 $'pflow-slug 1.0.0 66 pflow-front-matter 1.0.0 66 pflow-redact 1.0.0 66 pflow-chunk 1.0.0 66 pflow-measure 1.0.0 66\n2\n1' 'no such flag'
}

@test "as programs of the shell they pass an error document on untouched, with its exit code" {
    in_shells 'for name in $ALL; do
            printf "%s\n" "$ERROR" >in
            pflow-$name <in >out; echo $?
            cmp in out
        done; printf "%s\n" "$ERROR" | pflow-slug | pflow-redact | pflow-measure | pflow-write-file --path=no -q; echo $?; ls'
    expect 0 $'75\n75\n75\n75\n75\n75\nin\nout'
}

@test "they are found and run by a path, relative or not, by a link, and in a directory with a space" {
    in_shells 'mkdir "a b"; cp "$FOLDER"/pflow-* "a b"; ln -s "a b/pflow-slug" pflow-link; PATH="${PATH#*:}"
        echo Hi you | "./a b/pflow-slug" -r
        cd "a b"; echo Hi you | ./pflow-redact -r
        for name in chunk front-matter measure; do echo Hi you | PATH=.:$PATH pflow-$name -r; done
        echo Hi you | PATH="$PWD:$PATH" pflow-measure -r
        echo Hi you | pflow ./pflow-measure -r
        cd ..; echo Hi you | ./pflow-link -r; echo $?'
    expect 0 'hi-you
Hi you
["Hi you\n"]
Hi you
2
2
2
78' 'cannot run link inside itself'
}

@test "a time limit and a signal end them and what they have started" {
    in_shells 'printf "%s\n" "#!/bin/sh" "# Wait." "#" "# Interface:" "# - Reads: shared[\"a\"]: str [pipe]" "# - Writes: shared[\"b\"]: str [pipe]" "" \
            "[ \"\${PFLOW_NODE-}\" = wait ] || exec pflow \"\$0\" \"\$@\"" "sleep 300 & echo \$! >pid; wait" >pflow-wait; chmod +x pflow-wait
        echo x | ./pflow-wait --timeout=0.3 -q 2>/dev/null; echo $?
        [ ! -s pid ] || grep -s "^State:.[^ZX]" "/proc/$(cat pid)/status"; rm -f pid
        echo x >in; ./pflow-wait <in >out 2>/dev/null & until [ -s pid ]; do sleep 0.02; done
        kill $!; wait $!; echo $?; grep -c "\"exit\":143" out
        grep -s "^State:.[^ZX]" "/proc/$(cat pid)/status" || true'
    expect 0 $'124\n143\n1'
}

@test "a reader that goes away ends them silently with 141" {
    SHELLS=bash in_shells 'for name in slug front-matter redact chunk measure; do
            head -c 300000 /dev/zero | tr "\0" x | pflow-$name -j 2>err | true
            echo ${PIPESTATUS[2]}; cat err
        done'
    expect 0 $'141\n141\n141\n141\n141'
}

@test "without jq or awk a node fails with the code and the words of the shell" {
    in_shells 'mkdir few; for tool in cat sh; do ln -s "$(command -v $tool)" few; done
        ln -s "$(command -v pflow)" few/pflow; cp "$FOLDER/pflow-slug" few
        echo x | PATH=$PWD/few pflow slug -q; echo $?'
    expect 0 127 'cannot run slug: it ended with 127: '
}

@test "where there is no pflow they say so, with 127" {
    in_shells 'mkdir few; for tool in sh env node perl; do ln -s "$(command -v $tool)" few; done
        for name in $ALL; do echo x | PATH=$PWD/few "$FOLDER/pflow-$name" 2>err; echo $?; grep -c pflow err; done'
    expect 0 $'127\n1\n127\n1\n127\n1\n127\n1\n127\n1'
}

@test "each passes what pflow test-node checks of a language" {
    for name in $ALL; do
        run pflow test-node -k interface -k runs -k error "$FOLDER/pflow-$name"
        [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    done
}

@test "what their README shows works" {
    sed -n '/^```sh$/,/^```$/p' "$BATS_TEST_DIRNAME/../../examples/nodes/README.md" | sed '/^```/d' >script
    ln -s "$BATS_TEST_DIRNAME/../../examples" examples
    run --separate-stderr sh -e script
    expect 0 $'72\n72\n6\n376\nnotes-of-the-meeting'
}
