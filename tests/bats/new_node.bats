# pflow new-node: a node to start from.

setup() { load helper; }

@test "what it writes passes pflow test-node, in each language" {
    need jq node
    for language in python sh bash js; do
        file=$(pflow new-node "try-$language" --lang=$language)
        run pflow test-node -k interface -k runs -k same -k error "$file"
        [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    done
}

@test "what it writes is a node at once: a stage, a step, and a program for the shell" {
    need jq node
    in_shells 'export XDG_DATA_HOME=$PWD/data
        for language in python sh js; do pflow new-node n-$language --lang=$language; done | sed "s,.*/data/,,"
        for language in python sh js; do
            echo hi | pflow n-$language -r
            echo hi | pflow run "n-$language --heading=x" -r
            pflow n-$language --help | grep -c heading
        done
        echo hi | data/pflow/nodes/pflow-n-sh -r; echo hi | data/pflow/nodes/pflow-n-js -r
        pflow nodes | grep -c " n-"'
    expect 0 'pflow/nodes/n_python.py
pflow/nodes/pflow-n-sh
pflow/nodes/pflow-n-js
# Notes

hi
# x

hi
4
# Notes

hi
# x

hi
4
# Notes

hi
# x

hi
4
# Notes

hi
# Notes

hi
3'
}

@test "on a terminal it says how to try it" {
    in_terminal bash --norc
    type_line 'pflow new-node quite-new --lang=sh'
    shows 'pflow quite-new'
    shows 'pflow test-node'
}

@test "nothing that is there is lost, whoever comes second" {
    in_shells 'export XDG_DATA_HOME=$PWD/data
        for n in 1 2 3 4; do pflow new-node mine --lang=sh >/dev/null 2>&1 & done; wait
        echo precious >>data/pflow/nodes/pflow-mine
        pflow new-node mine; echo $?; pflow new-node mine --lang=sh; echo $?; tail -n 1 data/pflow/nodes/pflow-mine; ls -A data/pflow/nodes'
    expect 0 $'73\n73\nprecious\npflow-mine' 'exists already; choose another name'
}

# bats test_tags=rights
@test "a directory that may not be written, a name with a slash and no HOME leave nothing behind" {
    mkdir here && cd here && mkdir locked && chmod 500 locked
    run --separate-stderr as_mortal 'pflow new-node mine --dir=locked'
    expect 77 '' "cannot write 'locked/mine.py': permission denied"
    run --separate-stderr pflow new-node '../$(touch x)'
    expect 2 '' 'cannot call a node'
    run --separate-stderr env -u HOME pflow new-node mine
    expect 78 '' '--dir=DIR'
    [ "$(ls)" = locked ]
    [ -z "$(ls -A locked)" ]
}
