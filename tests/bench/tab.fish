#!/usr/bin/env fish
# Prints the CPU time of one TAB in fish, a line NAME<TAB>MS each, with the completions in the directory $argv[1], or
# without one those of this checkout.

set -l directory (status dirname)/../../completions/fish
set -q argv[1]; and set directory $argv[1]
set -p fish_complete_path (realpath $directory)

set -l home (mktemp -d)
set -gx HOME $home
set -gx XDG_CACHE_HOME $home/cache
set -gx XDG_DATA_HOME $home/data
set -gx XDG_STATE_HOME $home/state

mkdir -p $home/cache/pflow/completion $home/bin $home/state/pflow/runs
for n in (seq 1000 1199)
    echo some-provider/model-$n\ta model of this provider with the number $n
    mkdir $home/state/pflow/runs/01JD5XQ8ZK3V7M2N4P6R8T$n
end >$home/cache/pflow/completion/models
for n in (seq 1000 1199)
    echo 01JD5XQ8ZK3V7M2N4P6R8T$n\ta-flow, 2026-01-01 12:00
    echo 01JD5XQ8ZK3V7M2N4P6R8T$n\ta-flow, 2026-01-01 12:00, done
end >$home/cache/pflow/completion/runs
for n in (seq 1000 1499)
    echo "#!/bin/sh" >$home/bin/pflow-x$n
    echo x$n\tWhat the node with the number $n is for
end >$home/cache/pflow/completion/nodes
for name in catch get list-files llm read-file set shell write-file
    printf '#!/bin/sh\n' >$home/bin/pflow-$name
    contains $name catch get set; or echo $name\tDo it >>$home/cache/pflow/completion/nodes
end
printf '#!/bin/sh\n' >$home/bin/pflow
chmod +x $home/bin/*
set -gx PATH $home/bin $PATH

function cpu_ticks
    string replace -r '.*\) ' '' </proc/self/stat | string split ' ' -f 12,13
end

# The best of three: what else a machine does slows processors down.
function tab --argument-names line
    set -l times 40
    set -l costs
    complete -C "$line" >/dev/null
    for attempt in 1 2 3
        set -l before (cpu_ticks)
        for n in (seq $times)
            complete -C "$line" >/dev/null
        end
        set -l after (cpu_ticks)
        set -a costs (math "$after[1] + $after[2] - $before[1] - $before[2]")
    end
    printf '%s\t%.1f\n' "$line" (math "min($(string join , $costs)) * 1000 / $(getconf CLK_TCK) / $times")
end

for line in 'pflow-llm --' 'pflow-llm --model=' 'pflow ' 'pflow trace ' "pflow 'read-file => llm --"
    tab $line
end
rm -r $home
