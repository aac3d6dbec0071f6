#!/usr/bin/env bats
# Runs that go on after a file has changed that a finished step read.
# shellcheck disable=SC2016,SC2154

load helper

setup() {
    node looks 'Params: photo: list[path] = null  # pictures' 'Writes: shared["looked"]: str [pipe]  # done' <<'E'
    def post(self, shared, prepared, done): shared["looked"] = "yes"
E
    node races 'Reads: shared["path"]: path [explicit]  # a file' 'Writes: shared["raced"]: str [pipe]  # done' 'Effects: reads files' <<'E'
    def post(self, shared, prepared, done):
        with open(shared["path"], "a") as file:
            file.write("somebody else")
        shared["raced"] = "yes"
E
    cat >renew.pflow.json <<'E'
{"inputs": {"file": {"type": "path", "required": true}}, "nodes": [{"id": "in", "type": "read-file", "inputs": {"path": "$file"}},
  {"id": "out", "type": "write-file", "inputs": {"path": "$file", "content": "new ${in.content}"}}]}
E
    export PFLOW_NODES=$PWD
    here='XDG_STATE_HOME=$PWD/state; export XDG_STATE_HOME; mkdir in; echo a >in/a; echo b >in/b; echo n >n; '
}

# For each line of stdin, FLOW | CHANGE | ANSWER: run the flow, which fails at its end, make the change, and resume.
table() {
    local flow change answer wrong=0
    while IFS='~' read -r flow change answer; do
        cd "$(mktemp -d -p "$BATS_TEST_TMPDIR")" || return
        eval "$here"
        pflow run -n -q "$flow => read-file:end need" 2>error 9<n && echo "did not fail: $flow" && wrong=1
        eval "$change" && : >need
        run --separate-stderr pflow resume last -q
        if [ "$answer" = ' goes on' ]; then [ "$status $stderr" = '0 ' ]; else [[ $status == 78 && $stderr == *"${answer# }"* ]]; fi ||
            { wrong=1 && echo "$flow ~$change~$answer: $status $stderr $(cat error)"; }
    done
    return "$wrong"
}

@test "a file counts that a finished step read, and a run's own work on it does not" {
    table <<'E'
read-file n => template "$content" ~ : ~ goes on
read-file n => shell cat ~ touch n ~ goes on
read-file n => shell cat ~ echo m >n ~ 'n', which 'read-file' read, has changed
read-file n => shell cat ~ rm n ~ 'n', which 'read-file' read, is gone
read-file n => shell "tr n N" => write-file n ~ : ~ goes on
read-file n => shell "tr n N" => write-file n ~ echo m >n ~ 'n', which 'read-file' read, has changed
read-file n => shell "sleep 0.2; echo >>n" ~ : ~ goes on
read-file n => move-file n k/n ~ : ~ goes on
read-file n => move-file n k/n ~ echo m >n ~ 'n', which 'read-file' read, is new
read-file n => delete-file n ~ : ~ goes on
copy-file n m ~ echo m >m ~ goes on
copy-file n m ~ echo m >n ~ 'n', which 'copy-file' read, has changed
read-file /dev/fd/9 ~ : ~ goes on
load-csv n ~ echo m >n ~ 'n', which 'load-csv' read, has changed
races --path=n ~ : ~ 'n', which 'races' read, has changed
looks --photo=n --photo=in/a ~ echo m >in/a ~ 'in/a', which 'looks' read, has changed
E
}

@test "so do the items of a batch, what a pattern finds, and the files that subflows and forks read" {
    table <<'E'
list-files "in/*" => shell cat --each ~ : ~ goes on
list-files "in/*" => shell cat --each ~ echo c >in/c ~ 'in/c', which 'list-files' read, is new
list-files "in/*" => shell cat --each ~ rm in/a ~ 'in/a', which 'list-files' read, is gone
list-files "in/*" => shell cat --each ~ echo c >in/a ~ goes on
list-files "in/*" => move-file --each=files --destination=out/ ~ : ~ goes on
list-files "in/*" => shell "touch in/c" ~ : ~ goes on
list-files "in/*" => read-file --each ~ echo c >in/a ~ 'in/a', which 'read-file' read, has changed
list-files "in/*" => read-file --each --jobs=2 => write-file --each=files --as=f --path='$f' --content=new --jobs=2 ~ : ~ goes on
list-files "in/*" => ../renew.pflow.json:each --each --as=file ~ : ~ goes on
list-files "in/*" => ../renew.pflow.json:each --each --as=file ~ echo c >in/a ~ 'in/a', which 'each/in' read, has changed
shell:a true => read-file:b n => template:d x; a => template:c y => d ~ : ~ goes on
shell:a true => read-file:b n => template:d x; a => template:c y => d ~ echo m >n ~ 'n', which 'b' read, has changed
read-file:a later =error=> shell true ~ echo m >later ~ 'later', which 'a' read, is new
E
}

@test "--accept-changes goes on with what was read, for later parts too; --from reads it again" {
    in_shells "$here"'pflow run "read-file n => template \"[\$content]\" => read-file:end need => write-file out --content=\"\$text\"" -n -q --keep-store 2>/dev/null; echo m >n
        for flag in --accept-changes --; do pflow resume last -q $flag 2>/dev/null; echo $?; done; : >need; pflow resume last -q; echo $? $(cat out)
        echo k >n; pflow resume last -q --from=end 2>/dev/null; echo $?; pflow resume last -q --from=read-file; echo $? $(cat out)'
    expect 0 $'66\n66\n0 [n ]\n78\n0 [k ]'
}

@test "pflow run --resume begins anew where a file has changed, unless a step has begun that may not repeat" {
    in_shells "$here"'go() { pflow run --resume "read-file n => template \"[\$content]\" => read-file need" -n --show-store "$@" 2>&1 | sed "s/ 01[0-9A-Z]*/ RUN/; s/begun [-0-9 :]*/begun THEN/" | tr -d "\n"; echo; }
        go -r; go -r; echo m >n; go -r; go -q; : >need; go -r; echo n >n; go -q'
    expect 0 "pflow run: read-file-2 (read-file): cannot read 'need': no such file or directory
pflow run: resuming the run RUN, begun THENpflow run: read-file-2 (read-file): cannot read 'need': no such file or directory
pflow run: beginning anew, not resuming the run RUN: 'n', which 'read-file' read, has changedpflow run: read-file-2 (read-file): cannot read 'need': no such file or directory
pflow run: read-file-2 (read-file): cannot read 'need': no such file or directory
pflow run: resuming the run RUN, begun THENread-file = {\"path\":\"n\",\"content\":\"m\\n\"}text = [m]read-file-2 = {\"path\":\"need\",\"content\":\"\"}
read-file = {\"path\":\"n\",\"content\":\"n\\n\"}text = [n]read-file-2 = {\"path\":\"need\",\"content\":\"\"}"
    in_shells "$here"'go() { pflow run --resume "read-file n => shell \"echo ran >>ran; cat\" => read-file need" -n -q; echo $?; }; go; echo m >n; go; wc -l <ran'
    expect 0 $'66\n78\n1' "'n', which 'read-file' read, has changed; a new run cannot begin, since 'shell' may not repeat; pflow resume 01"
}

@test "a run that is killed anywhere knows its own work on a file from that of others" {
    local point flow='read-file n => template "x$content" => write-file n => delete-file need'
    for point in {1..16}; do
        cd "$(mktemp -d -p "$BATS_TEST_TMPDIR")" && eval "$here" && printf n >n && : >need
        run -137 env PFLOW_TESTING=1 PFLOW_FAILPOINT="journal.*:$point" pflow run --resume "$flow" -n -q
        run pflow run --resume "$flow" -n -q
        [ "$status" -ne 65 ] || run pflow resume last -q --skip=delete-file
        [ "$status $(cat n)" = '0 xn' ]
    done
}
