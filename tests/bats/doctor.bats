#!/usr/bin/env bats
# pflow doctor: in sound installations, and in damaged ones.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() { start_server; }
teardown_file() { stop_server; }

# Another environment with what pflow's has in it, in ./v; each word names something that it lacks.
environment() {
    local entry folder
    mkdir -p v/bin && cp "$(dirname "$PYTHON")/../pyvenv.cfg" v && ln -s "$(readlink -f "$PYTHON")" v/bin/python
    "$PYTHON" -c 'import sys; print(*(path for path in sys.path if path.endswith("-packages")), sep="\n")' >places
    folder=v/lib/$(basename "$(dirname "$(head -n 1 places)")")/site-packages
    mkdir -p "$folder" && ln -s "$folder" site
    while read -r place; do
        ln -s "$place"/* site 2>/dev/null || true
    done <places
    find site/ -name '*.pth' ! -name '_editable*' -delete
    for entry; do rm -f site/$entry; done
}

in_environment() { run --separate-stderr v/bin/python "$(command -v pflow)" doctor "$@"; }

# A plugin of llm: its name, and on stdin its module.
plugin() {
    mkdir "site/$1-1.5.dist-info"
    printf 'Metadata-Version: 2.1\nName: %s\nVersion: 1.5\n' "$1" >"site/$1-1.5.dist-info/METADATA"
    printf '[llm]\n%s = %s\n' "$1" "$1" >"site/$1-1.5.dist-info/entry_points.txt"
    cat >"site/$1.py"
}

says() { [[ $'\n'$output == *$'\n'$1* ]] || expect 0 "$1"; }

@test "a line for each thing is ok, after use too, and exit code and JSON say so" {
    need jq
    own_llm
    pflow save words 'shell --command="wc -w"' --description=Words
    pflow words -n -q && pflow find words && pflow-llm -n hello -q && pflow __complete bash 9 6 "" 'pflow '
    chmod 644 "$LLM_USER_PATH/keys.json"
    run --separate-stderr pflow doctor
    expect 1 - ''
    says "llm     broken  others can read the keys in '$LLM_USER_PATH/keys.json'; chmod 600 "
    chmod 600 "$LLM_USER_PATH/keys.json"
    run --separate-stderr pflow doctor
    expect 0 - ''
    [ -z "$stderr" ]
    for about in python pflow llm model nodes state; do says "$about "; done
    says 'model   ok      '"'echo' is the default, and needs no key"
    [[ $output != *broken* ]]
    in_shells 'pflow doctor --json | jq -c "[.ok, (.findings | map(.about) | unique | length > 5)], .findings[0].state"'
    expect 0 $'[true,true]\n"ok"'
    in_shells 'pflow doctor words'
    expect 2 '' "cannot take the bare word 'words'"
}

@test "a model without a key is broken, and no key is shown" {
    export PFLOW_MODEL=gpt-4o-mini
    run --separate-stderr pflow doctor
    says "model   broken  cannot ask 'gpt-4o-mini': it needs a key; llm keys set openai"
    [ "$status" -eq 1 ]
    OPENAI_API_KEY=sk-hidden run --separate-stderr pflow doctor
    says "model   ok      'gpt-4o-mini' is the default, and has the key it needs"
    [[ $output$stderr != *sk-hidden* ]]
    PFLOW_MODEL=none run --separate-stderr pflow doctor
    says "model   broken  cannot find the model 'none'"
}

@test "the command that adds a plugin is that of the tool that made the environment" {
    environment
    in_environment
    says "pflow   ok      $(pflow version | sed 's/.*shell \(.*\))/\1/'), installed with pip"
    cat >v/uv-receipt.toml <<'END'
[tool]
requirements = [{ name = "pflow-shell", extras = ["local"] }, { name = "llm-x", specifier = ">=1" }]
END
    in_environment
    says 'pflow   ok      '
    [[ $output == *"installed with uv tool"*"another provider: uv tool install 'pflow-shell[local]' --with 'llm-x>=1' --with llm-NAME"* ]]
    echo 'not toml' >v/uv-receipt.toml
    echo '{"main_package": {"package": "pflow-shell"}, "injected_packages": {}}' >v/pipx_metadata.json
    in_environment
    [[ $output == *'another provider: pipx inject pflow-shell llm-NAME'* ]]
}

@test "without llm, and with a plugin that raises, it says what to type" {
    environment 'llm' 'llm-*' 'click-*'
    echo '{"main_package": {"package": "pflow-shell"}, "injected_packages": {}}' >v/pipx_metadata.json
    in_environment
    expect 1 - ''
    says 'pflow   broken  it needs llm>='
    [[ $output == *', which is not installed; pipx reinstall pflow-shell'* ]]
    says 'pflow   broken  it needs click>='
    says "llm     broken  not checked: ModuleNotFoundError: No module named 'llm'"
    says 'nodes   ok      '
    rm -rf v site && environment 'llm_*'
    plugin good <<<'import llm; print("noise")'
    plugin bad <<<'raise TypeError("no such thing")'
    in_environment
    expect 1 - noise
    [[ $output != *noise* ]]
    says 'llm     ok      '
    [[ $output == *'with good 1.5'*"the plugin 'bad' fails: TypeError: no such thing; "*bad* ]]
    says "model   broken  cannot load llm's models: "
    plugin late <<<$'import llm\n@llm.hookimpl\ndef register_models(register): raise ValueError("too late")'
    rm -r site/bad*
    in_environment
    [[ $output == *'good 1.5'* ]]
    says "model   broken  cannot load llm's models: ValueError: too late; "
}

# bats test_tags=rights
@test "broken nodes, settings and modes are told, each with a remedy" {
    mkdir -p .local/share/pflow/nodes .local/state/pflow/runs
    echo 'def' >.local/share/pflow/nodes/odd.py
    echo secret >.local/state/pflow/runs/open
    mkdir -p .config/pflow && echo 'toy = 3' >.config/pflow/prices.toml
    run --separate-stderr env LLM_USER_PATH="$PWD/llm" sh -c 'mkdir llm; echo "- model_name: x" >llm/extra-openai-models.yaml; pflow doctor'
    expect 1 - ''
    says "nodes   broken  cannot read the node '$PWD/.local/share/pflow/nodes/odd.py': SyntaxError"
    says "llm     broken  $PWD/llm/extra-openai-models.yaml: entry 1 is passed over: it has no model_id; correct that file"
    says "prices  broken  cannot read '$PWD/.config/pflow/prices.toml': a model needs two prices, input and output: 'toy' is an int, not a dict"
    echo '"toy" = { input = 1, output = 2 }' >.config/pflow/prices.toml
    says "state   broken  "
    [[ $output == *"; chmod go= $PWD/.local/state/pflow"* && $stderr != *passed* ]]
    chmod go= .local/state/pflow
    run --separate-stderr pflow doctor
    says 'state   ok      '
    says 'prices  ok      your own for toy'
    chmod 500 .local/state/pflow
    run --separate-stderr as_mortal 'pflow doctor'
    says 'state   broken  '
    [[ $output == *"'$PWD/.local/state/pflow' cannot be written"* ]]
    chmod 700 .local/state/pflow && mv .local/state/pflow moved
    for way in 'touch .local/state/pflow' 'ln -s nowhere/at/all .local/state/pflow' 'export XDG_STATE_HOME=/dev/null'; do
        run --separate-stderr sh -c "$way && pflow doctor"
        says 'state   broken  0.0 MB in '
        [[ $output == *' cannot be written; make it a directory that you can write'* ]]
        rm -f .local/state/pflow
    done
}

@test "without a home it has a line for each thing too" {
    run --separate-stderr env -i PATH="$PATH" LLM_USER_PATH="$LLM_USER_PATH" PFLOW_MODEL=echo pflow doctor
    [[ $output != *Traceback* && $output != *'not checked'* ]]
    [[ $output != *' --prefix'* && $output != *'shells  '* ]]
    says 'state   advice  runs are not kept: the state directory is unknown; set HOME'
    says 'model   ok      '
}

@test "where the shell finds no pflow-llm, or another's, it says so" {
    environment
    run --separate-stderr env PATH=/usr/bin:/bin v/bin/python "$(command -v pflow)" doctor
    says 'pflow   advice  pflow-llm is not on PATH; export PATH='
    echo '#!/bin/sh' >v/bin/pflow-llm && chmod +x v/bin/pflow-llm
    in_environment
    says "pflow   advice  '$(command -v pflow-llm)' of another installation"
}

@test "without a model, doctor and llm say the same, and name the engine only where it is missing" {
    unset PFLOW_MODEL
    environment
    mkdir site/xllamacpp 2>/dev/null || true
    for hint in '; `pflow models get smollm2` brings' '-m pip install xllamacpp && pflow models get smollm2` brings'; do
        in_environment
        [[ $output == *'model   broken  cannot choose a model'*"$hint"* ]] || expect 1 "$hint"
        run --separate-stderr v/bin/python "$(command -v pflow-llm)" -n hello
        [[ $status -eq 78 && $stderr == *"$hint"*'llm keys set'*PFLOW_MODEL* ]] || expect 78 - "$hint"
        rm -rf site/xllamacpp
    done
}

@test "start-up files that ask, print, start tmux or never end neither hang doctor nor show" {
    need zsh
    printf '%s\n' 'echo noise; echo noise >&2' 'read -p "sure? " x </dev/tty' 'read y; [ -n "$TMUX" ] || exec tmux' \
        ". $(realpath "$BATS_TEST_DIRNAME/../../completions/bash/pflow")" >.bashrc
    echo 'sleep 7654 & echo $! >pid; seq 99999; echo noise; while wait; do sleep 1; done' >.zshrc
    run --separate-stderr pflow doctor
    [[ -z $stderr && $output != *noise* ]]
    says 'bash    ok      completes pflow-llm'
    says 'zsh     advice  cannot tell: its start-up files wait, or end the shell; pflow setup'
    until_true ended "$(cat pid)"
    mkdir few && ln -s "$(command -v pflow)" few && PATH=$PWD/few run pflow doctor
    [[ $output != *$'\nzsh '* ]]
}
