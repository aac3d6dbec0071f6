#!/usr/bin/env bats
# write-file: whole or not at all, whatever the disk and the directory are like.
# shellcheck disable=SC2016,SC2154

load helper

@test "a full disk is 73 and leaves the old file and nothing else" {
    mkdir disk
    mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null || skip 'no file system may be mounted here'
    echo old >disk/o
    head -c 200000 /dev/zero >big
    run --separate-stderr sh -c 'pflow-write-file --path=disk/o -q <big; echo $?; pflow-write-file --append --path=disk/o -q <big; echo $?; pflow-write-file --path=disk/new -q <big; echo $?'
    cp disk/o o && find disk -mindepth 1 >left
    umount disk
    expect 0 $'73\n73\n73' "pflow-write-file: cannot write 'disk/o': no space left on device"
    [ "$(cat o)" = old ]
    [ "$(cat left)" = disk/o ]
}

@test "a file that does not fit on another disk stays where it is" {
    mkdir disk
    mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null || skip 'no file system may be mounted here'
    head -c 200000 /dev/zero >big
    echo small >small
    run --separate-stderr sh -c 'pflow-move-file big disk -q; echo $?; pflow-copy-file big disk/o -q; echo $?; pflow-move-file small disk/ -q; echo $?; pflow-move-file disk/small . -q; cat small'
    find disk -mindepth 1 >left
    umount disk
    expect 0 $'73\n73\n0\nsmall' "pflow-move-file: cannot move 'big' to 'disk/big': no space left on device"
    [ ! -s left ]
    [ "$(wc -c <big)" -eq 200000 ]
}

@test "a limit on the size of files is 73 and leaves the old file and nothing else" {
    head -c 200000 /dev/zero >big
    in_shells 'ulimit -f 8; echo old >o; pflow-write-file --path=o -q <../big; echo $?; cat o; ls -A'
    expect 0 $'73\nold\no' 'file too large'
    in_shells 'ulimit -f 8; echo old >o; pflow-write-file --append --path=o -q <../big; echo $?; cat o'
    expect 0 $'73\nold' 'file too large'
    in_shells 'ulimit -f 8; pflow-read-file --path=../big >o; echo $?'
    expect 0 73 'cannot write to stdout'
}

@test "a full device is 73, also after another try" {
    in_shells 'echo hi | pflow-write-file --path=/dev/full --retries=1 --wait=0 -q'
    expect 73 '' 'no space left on device'
}

@test "missing directories are made, and odd names are names" {
    export NAME=$'d/ä \n-$x/--file'
    in_shells '
        echo hi | pflow-write-file --path="$NAME" --verbatim -q && cat "$NAME"
        pflow-read-file --path="$NAME" --verbatim -r; rm -r d
        echo hi | pflow-write-file --path ./-x -q; pflow-read-file --path=-x -r
        printf hi | pflow-write-file --path="$(printf "b\377d")" | pflow-get path | od -An -c'
    expect 0 $'hi\nhi\nhi\n   b 377   d'
}

@test "--append adds to the end, --no-overwrite refuses a file that is there" {
    in_shells '
        for n in 1 2 3; do echo $n | pflow-write-file --append --path=log -q; done; cat log
        echo new | pflow-write-file --no-overwrite --path=log -q; echo $?
        echo new | pflow-write-file --no-overwrite --path=first -q; echo $?; cat first
        ls -A'
    expect 0 $'1\n2\n3\n73\n0\nnew\nfirst\nlog' 'it is there already'
}

@test "many that append at once lose no line and mix none" {
    seq 16 | timeout 60 xargs -P 8 -I{} sh -c 'printf "%0500d\n" {} | pflow-write-file --append --path=log -q'
    [ "$(sort log | uniq | wc -l)" -eq 16 ]
    [ "$(wc -c <log)" -eq $((16 * 501)) ]
}

@test "many that replace at once leave one whole file" {
    seq 8 | timeout 60 xargs -P 8 -I{} sh -c 'printf "%09999d\n" {} | pflow-write-file --path=d/o -q'
    [ "$(wc -c <d/o)" -eq 10000 ]
    [ "$(ls -A d)" = o ]
}
