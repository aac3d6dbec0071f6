#!/usr/bin/env bats
# Packs: made here, and used elsewhere.
# shellcheck disable=SC2016,SC2154

load helper

@test "a pack is made by new-node and save --to, and says what it lacks" {
    in_shells 'export HOME=$PWD; umask 022
        pflow new-node own-one >/dev/null; pflow new-node loud --lang=sh --dir=pack/nodes
        pflow save shout loud --to=pack --description=Shout
        pflow save both "loud => own-one" --to=pack --description=Both 2>said; grep -c "own_one.py.* is not in .pack" said
        pflow save shout "loud => loud" --to=pack --description=Shout; echo $?
        find pack -type f -perm -044 | sort; pflow list'
    expect 0 'pack/nodes/pflow-loud
pack/flows/shout.pflow.json
pack/flows/both.pflow.json
1
73
pack/flows/both.pflow.json
pack/flows/shout.pflow.json
pack/nodes/pflow-loud' "'pack/flows/shout.pflow.json' is another flow; --force replaces it"
}

@test "a pack needs a directory, and a flow that can travel" {
    in_shells 'pflow export --to=pack "shell ls"; echo $?; pflow export --to=pack -o p "shell ls"; ls p p/flows'
    expect 0 $'2\np:\nREADME.md\nflows\n\np/flows:\np.pflow.json' '-o DIR names a new directory'
}

@test "a flow brings its nodes along: installed by somebody else it is the same flow, with the same hash" {
    need jq
    in_shells 'export HOME=$PWD/ada; mkdir ada bob
        pflow new-node loud --lang=sh >/dev/null; pflow new-node head-of >/dev/null
        pflow save inner loud --description=Inner >/dev/null; pflow save outer "flow:inner => head-of" --description=Outer >/dev/null
        echo hi | pflow outer -r; pflow trace --json | jq -r .flow.hash >hash; pflow export --to=pack -o pack outer
        export HOME=$PWD/bob; rm -r ada
        pflow install pack --yes --allow=commands >/dev/null
        echo hi | pflow outer -r; pflow trace --json | jq -r .flow.hash | cmp - hash
        pflow uninstall pack >/dev/null; echo hi | pflow outer -q; find bob/.local/share bob/.local/bin -type f'
    expect 0 $'# Notes\n\n# Notes\n\nhi\n# Notes\n\n# Notes\n\nhi'
}

@test "the pack of the examples is installed and used as its README says" {
    in_shells 'export HOME=$PWD; ln -s "${NOTES%/notes.txt}" examples
        sed -n "/^\`\`\`sh$/,/^\`\`\`$/p" examples/pack/README.md | sed "/^\`\`\`/d" >script; sh -e script | tail -n 2'
    expect 0 $'- oven\n- stall' "removed 'pack'"
}
