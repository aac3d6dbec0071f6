#!/usr/bin/env bats
# The command lines of the seeds, as a shell takes them: as they are printed, and as they are meant.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

setup() { export PFLOW_NODES=$BATS_TEST_DIRNAME/../seeds/nodes/stand_ins SHELLS='dash bash'; }

# A code block of a paper: the lines between its fences, without those that are comments.
block() {
    awk -v wanted="$2" '/^```/ { if (!inside) n++; inside = !inside; next } inside && n == wanted && !/^#/' \
        "$BATS_TEST_DIRNAME/../seeds/papers/$1.md"
}

@test "as they are printed, a shell takes => and >> for redirections, and pflow says so" {
    while read -r paper number file; do
        script=$(block "$paper" "$number" | grep -v '^pflow "')
        in_shells "$script
            echo \$?; ls" </dev/null
        [[ $output == 2$'\n'*"$file"* ]] || expect 0 "2 and $file"
        [[ $stderr == *"the shell took '"[\>=]">"*"for a redirection into the file '$file'"* ]] || expect 0 "said of $file"
        [ "$(wc -l <<<"$stderr")" -eq 1 ] || expect 0 "one line for $file"
    done <<'LINES'
002 11 summarise-text
003 8 llm
003 26 export-dashboard
LINES
}

@test "the scenarios of one stage" {
    printf 'some notes\n' >notes.txt
    in_shells 'pflow yt-transcript --url=https://youtu.be/abc | pflow-get url'
    expect 0 https://youtu.be/abc
    in_shells 'pflow summarise-text --temperature=0.9 -q </dev/null'
    expect 66 '' --text
    in_shells 'cat ../notes.txt | pflow summarise-text | pflow-get stdin summary'
    expect 0 $'some notes\n\nSummary: The video discusses...'
    in_shells 'cat ../notes.txt | pflow llm --prompt="Summarize this" | pflow-get response'
    expect 0 $'Summarize this\n\nsome notes'
    in_shells 'pflow llm --temperature=0.9 -q'
    expect 66 '' --prompt
}
