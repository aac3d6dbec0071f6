#!/usr/bin/env bats
# `pflow replay`: a run is done again, with what it was given.
# shellcheck disable=SC2016,SC2154

load helper

@test "a replay is a run of its own, in the directory of the first, with other step keys" {
    in_shells 'mkdir a; cd a; echo 1 >in
        pflow run "shell '"'"'cat in; echo \$PFLOW_STEP_KEY'"'"' => write-file out --append" -q
        cd /; pflow replay last -q; cd - >/dev/null; pflow runs | wc -l; grep -c "^1$" out; sort -u out | wc -l
        pflow replay last --dry-run -q; wc -l <out'
    expect 0 $'2\n2\n3\n4' 'pflow run: would run write-file (write-file)'
}

@test "a terminal is shown what a replay will touch, unless it is quiet" {
    need script
    in_shells 'pflow run "shell '"'echo hi'"' => write-file out" -q
        script -qec "pflow replay last" /dev/null | tr -d "\r" | head -n 3; script -qec "pflow replay last -q" /dev/null'
    expect 0 $'\e[1mIt will touch\e[0m
  \e[33mruns commands\e[0m  shell       command echo hi
  \e[33mwrites files\e[0m   write-file  path out'
}

@test "the models that were chosen are known of a run that was killed, and asked again" {
    node poll 'Writes: shared["usage"]: dict [pipe]  # which' 'Params: model: str = null [env POLL_MODEL]  # which' <<'E'
    def post(self, shared, prepared, result):
        shared["usage"] = {"model": self.params["model"] or open("default").read(), "cost": 0.1}
E
    export PFLOW_NODES=$PWD
    in_shells 'printf one >default; echo "{\"nodes\": [{\"type\": \"poll\"}]}" >in.pflow.json
        echo "{\"nodes\": [{\"id\": \"a\", \"type\": \"poll\"}, {\"id\": \"b\", \"type\": \"./in.pflow.json\"},
            {\"id\": \"s\", \"type\": \"shell\", \"inputs\": {\"command\": \"[ -e again ] || kill -9 \$PPID; sleep 0.1\"}},
            {\"id\": \"c\", \"type\": \"poll\"}],
            \"outputs\": {\"all\": \"template:\${a.usage.model} \${b.usage.model} \${c.usage.model}\"}}" >f.pflow.json
        pflow run f.pflow.json -q; echo $?; : >again; printf two >default; pflow replay last -r
        printf three >default; pflow replay last -r; pflow resume @3 --redo=s -r; pflow replay @3 -r; pflow run f.pflow.json -r'
    expect 0 $'137\none one two\none one two\none one three\none one three\nthree three three'
}

@test "a run that is resumed keeps the values that it began with, and its replay takes them" {
    node word 'Writes: shared["word"]: str [pipe]  # which' 'Params: which: str = null [env WORD]  # which' <<'E'
    def post(self, shared, prepared, result):
        shared["word"] = self.params["which"]
E
    export PFLOW_NODES=$PWD
    in_shells 'kept() { pflow trace last --json | jq -S .snapshot; }
        echo piped | WORD=one pflow run "word => template:a \"\${word} \${stdin}\" => shell \"[ -e ok ] && cat\" -r" -q 2>/dev/null
        kept >before; WORD=two pflow resume last -q 2>/dev/null; kept | cmp - before; : >ok; pflow resume last -r; kept | cmp - before
        WORD=two pflow replay last -r'
    expect 0 $'one piped\none piped'
}

@test "a replay without a RUN, with a wrong one, or with flags about stdin is refused" {
    in_shells 'pflow replay; echo $?; pflow replay last; echo $?; pflow run "shell true" -n -q
        for flag in 00 --from=text extra --nope --resume; do pflow replay last $flag >doc; echo $?; done; pflow replay last -q >&-; echo $?'
    expect 0 - 'cannot take --from: the piped input is that of the run'
    [ "$(grep -c '^2$' <<<"$output") $(tail -n 1 <<<"$output")" = '6 0' ]
}
