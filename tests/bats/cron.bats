#!/usr/bin/env bats
# examples/crontab and examples/cron: jobs that cron runs, in exactly what cron gives them.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

setup() {
    need flock setsid
    examples=$(realpath "$BATS_TEST_DIRNAME/../../examples")
    mkdir digests && quick_llm && cp "$examples"/cron/* bin/
    PATH_OF_JOBS=$PWD/bin:$(dirname "$PYTHON"):/usr/bin:/bin
    table
}

# The table as a user has it: with the place of pflow, a model, and the file that the digest is about.
table() {
    sed "s|^PATH=.*|PATH=$PATH_OF_JOBS|; s|^PFLOW_MODEL=.*|PFLOW_MODEL=${1-reply}|; s|/var/log/syslog|'the log'|" \
        "$examples/crontab" >table
    printf 'LLM_USER_PATH=%s\n' "$LLM_USER_PATH" >>table
}

# The job of the table whose line holds $1 as cron runs it: /bin/sh, this environment alone, HOME, no terminal, stdin a
# pipe with what follows the first %. What it prints is what cron mails.
cron() {
    local line command input= settings
    line=$(grep -F -- "$1" table | grep -v '^#') || return
    command=$(sed 's/^\([^ ]* *\)\{5\}//; s/\([^\\]\)%.*/\1/; s/\\%/%/g' <<<"$line")
    [[ $line != *[!\\]%* ]] || input=$(sed 's/^.*[^\\]%//' <<<"$line")$'\n'
    mapfile -t settings < <(grep '^[A-Z_]*=' table)
    run --separate-stderr timeout 60 sh -c 'printf %s "$1" | { shift; exec setsid -w "$@"; }' sh "$input" \
        env -i HOME="$HOME" LOGNAME=ada "${settings[@]}" "${@:2}" /bin/sh -c "$command"
}

@test "a nightly run that was killed goes on the next night, and asks for no answer twice" {
    mkdir reports && printf 'night a' >reports/a.txt && printf 'night b' >reports/b.txt
    cron --if-running PFLOW_TESTING=1 PFLOW_FAILPOINT=journal.end.written:5
    expect 137
    [ ! -e reports/all.json ]
    cron --if-running
    expect 0 '' ''
    [ "$(grep -o 'Oak, ash and elm.' reports/all.json | wc -l)" -eq 2 ]
    [ "$(grep -c 'night a' "$PEER/requests.jsonl")" -eq 1 ]
}

@test "the daemon itself runs the jobs" {
    need cron unshare
    [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || skip 'only root can give the daemon a table of its own'
    export BATS_TEST_TIMEOUT=200
    mkdir tables empty
    {
        printf 'HOME=%s\n' "$HOME"
        grep '^[A-Z_]*=' table
        echo '@reboot pflow-llm --prompt="It is \%" | pflow-write-file --path=said.txt -q%now'
        echo '@reboot bin/quietly digest pflow-shell -n --command="exit 3" -q'
    } >tables/root
    chmod 600 tables/root
    unshare -m sh -c 'mount --bind tables /var/spool/cron/crontabs && mount --bind empty /etc/cron.d &&
        mount --bind /dev/null /etc/crontab && mount -t tmpfs none /run && exec cron -f' >log 2>&1 3>&- &
    local daemon=$! end=$((SECONDS + 90))
    until [ -e said.txt ] && grep -q 'exit code 3' .local/state/cron/digest.log 2>/dev/null; do
        ((SECONDS < end)) && kill -0 "$daemon" || { cat log && break; }
        sleep 0.2
    done
    kill "$daemon"
    [ "$(cat said.txt)" = 'Oak, ash and elm.' ]
    grep -q 'exit code 3' .local/state/cron/digest.log
    grep -q 'now.*It is %' "$PEER/requests.jsonl"
}

@test "a job that goes well prints nothing, and does its work" {
    seq 300 >'the log'
    echo 'buy $HOME' >todo.txt && mkdir plans notes && cp "$examples/Makefile" notes/ && mkdir notes/notes && cp "$NOTES" notes/notes
    for job in bin/digest notes todo.txt haiku; do
        cron "$job"
        expect 0 ''
        [ -z "$stderr" ] || expect 0 "silence from $job"
    done
    [ "$(cat digests/*.md plans/*.md haiku.txt)" = 'Oak, ash and elm.Oak, ash and elm.Oak, ash and elm.' ]
    [ -e "plans/$(date +%F).md" ]
    grep -q 'the first of the month.*A haiku about' "$PEER/requests.jsonl"
    grep -q 'Oak, ash' notes/summaries/index.md
    grep -q '299.*300' "$PEER/requests.jsonl"
    [ "$(stat -c %a .local/state/cron/digest.log)" = 600 ]
}

@test "on a quiet night nobody is asked and nothing is written; else the log gets a line a night" {
    need git
    : >'the log'
    commit() { git -C src -c user.name=a -c user.email=a@b commit -q --allow-empty -m "$1" "${@:2}"; }
    git init -q src && GIT_COMMITTER_DATE='2001-02-03 04:05' commit long-ago
    for job in bin/digest 'git -C'; do
        cron "$job"
        expect 0 ''
        [ -z "$stderr" ]
    done
    [ -z "$(ls digests)" ] && [ ! -e done.log ]
    commit quiet-no-more
    cron 'git -C' && cron 'git -C'
    [ "$(cat done.log)" = $'Oak, ash and elm.\nOak, ash and elm.' ]
    grep -q 'quiet-no-more.*In a line' "$PEER/requests.jsonl"
    run -1 grep long-ago "$PEER/requests.jsonl"
}

@test "a job that fails says one line, with its code, and writes nothing" {
    need jq
    cron digest
    [[ $status -ne 0 && -z $output && $stderr == 'digest: exit code '*'the log'* && $(wc -l <<<"$stderr") -eq 1 ]] || expect 1 '' 'one line'
    seq 3 >'the log'
    table nokey
    cron digest
    expect 77 '' 'digest: exit code 77: pflow-llm: cannot'
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    cron todo
    expect 66 '' 'todo.txt'
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [ -z "$(ls digests)" ] && [ ! -e plans ]
}

@test "try again later is tried again, and then said; another failure is not" {
    seq 3 >'the log'
    table rate-limited-minute
    cron digest TRIES=2 PAUSE=0
    expect 75 '' 'digest: exit code 75: '
    [ "$(grep -c rate-limited-minute "$PEER/requests.jsonl")" -eq 2 ] # other tests ask meanwhile, other models
    [ "$(grep -c '^== ' .local/state/cron/digest.log)" -eq 2 ]
    run --separate-stderr env PAUSE=0 bin/quietly once sh -c 'echo x >>once; [ "$(wc -l <once)" -gt 1 ] || exit 69'
    expect 0 ''
    [ -z "$stderr" ] && [ "$(wc -l <once)" -eq 2 ]
    run --separate-stderr env PAUSE=0 bin/quietly never sh -c 'echo x >>never; echo no >&2; exit 77'
    expect 77 '' 'never: exit code 77: no'
    [ "$(wc -l <never)" -eq 1 ]
}

@test "a job that still runs is not begun a second time, nor beside an orphan of it" {
    mkfifo go
    quiet() { env -i HOME="$HOME" PATH=/usr/bin:/bin bin/quietly "$@"; }
    quiet slow sh -c 'echo began; : >up; read -r line <go; echo went >>done' >first 2>&1 3>&- &
    local first=$!
    until_true test -e up
    run --separate-stderr quiet slow sh -c 'echo again >>done'
    expect 0 ''
    [ -z "$stderr" ] && [ ! -e done ]
    kill -KILL "$first"
    wait "$first" || true
    run --separate-stderr quiet slow sh -c 'echo again >>done'
    expect 0 ''
    [ ! -e done ]
    echo go >go
    until_true eval 'quiet slow sh -c "grep -q went done && echo third >>done"; grep -q third done'
    [ "$(cat done)" = $'went\nthird' ]
}

@test "quietly says in one line what keeps it from working" {
    run --separate-stderr env -i PATH=/usr/bin:/bin bin/quietly job true
    [[ $status -ne 0 && -z $output && $stderr == *HOME* ]]
    run -127 --separate-stderr env -i HOME="$HOME" PATH=/usr/bin:/bin bin/quietly job no-such-program
    expect 127 '' 'job: exit code 127: '
    run --separate-stderr bin/quietly no/such true
    expect 73 '' no/such.lock
    run --separate-stderr bin/quietly job
    expect 2 '' Usage:
}
