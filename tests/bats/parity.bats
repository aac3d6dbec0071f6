#!/usr/bin/env bats
# Templated flags in a flow and in the hand-written pipe: with the same ids, the same store.
# shellcheck disable=SC2016,SC2154

load helper

setup_file() {
    mkdir "$BATS_FILE_TMPDIR/nodes" && cd "$BATS_FILE_TMPDIR/nodes" || exit
    cat >give.py <<'END'
from pflow import Node


class Give(Node):
    """Give a value of each type.

    Interface:
    - Writes: shared["text"]: str [pipe]  # a text
    - Writes: shared["whole"]: int  # a number
    - Writes: shared["digits"]: str  # a number in a text
    - Writes: shared["yes"]: bool  # a switch
    - Writes: shared["nothing"]: any  # null
    - Writes: shared["table"]: dict{names: list[str], deep: dict{rate: float}}  # an object
    """

    def post(self, shared, prepared, result):
        shared["text"], shared["whole"], shared["digits"] = "fast", 7, "007"
        shared["yes"], shared["nothing"] = True, None
        shared["table"] = {"names": ["é", "b"], "deep": {"rate": 0.5}}
END
    cat >take.py <<'END'
from pflow import Node


class Take(Node):
    """Say what it was given.

    Interface:
    - Reads: shared["said"]: str = "" [pipe]  # a text
    - Reads: shared["count"]: int = 1  # a number
    - Reads: shared["rate"]: float = 1.5  # another
    - Reads: shared["loud"]: bool = false  # a switch
    - Reads: shared["mode"]: fast|slow = "slow"  # a choice
    - Reads: shared["where"]: path = "." [explicit]  # a path
    - Reads: shared["free"]: any = null  # anything
    - Reads: shared["words"]: list[str] = []  # texts
    - Reads: shared["facts"]: dict = {}  # an object
    - Reads: shared["hidden"]: str = "" [own]  # what is not stored
    - Reads: shared["code"]: str = "" [verbatim]  # what is no template
    - Writes: shared["seen"]: dict [pipe]  # all of it
    """

    def post(self, shared, prepared, result):
        names = "said count rate loud mode where free words facts hidden code".split()
        shared["seen"] = {name: shared.get(name) for name in names}
END
}

setup() { export PFLOW_NODES=$BATS_FILE_TMPDIR/nodes; }

# What is carried on, then what a store holds, one member a line.
members() { jq -cS 'select(.["$pflow"].error == null) | .["$pflow"].last, (del(.["$pflow"]) | to_entries | sort_by(.key)[])'; }

@test "what a templated flag becomes is stored as in the hand-written pipe, member by member" {
    need jq
    printf name >data
    while IFS= read -r flow; do
        pflow run -n "$flow" -j 2>err | members >flow.out || { cat err && return 1; }
        bash -c "$(as_pipe "$flow") -j" | members >pipe.out
        diff flow.out pipe.out || { echo "$flow" && return 1; }
        [ "$(wc -l <flow.out)" -gt 2 ]
    done <<'END'
read-file --path=data => write-file --path='$content.md' --map-in=content=content
read-file --id=r --path=data => write-file --path='${r.content}.md' --content='see ${r.content}'
give => take --said='$text' --count='$whole' --rate='$whole' --loud='$yes' --mode='$text' --where='$text/x'
give => take --count='$digits' --rate='1$whole.5' --free='$digits'
give => take --free='${table.deep}' --words='${table.names}' --facts='$table'
give => take --free='$table' --words=a --words='${table.names[0]}' --facts='{"x": "$whole", "y": ["$text"]}'
give => take --free='a $nothing $table $$whole' --rate='${table.deep.rate}' --hidden='$text' --code='$text'
give => take --free='<$nothing>' --count='$whole'
give => take --verbatim --free='$whole' --hidden='$text'
give --id=a => take --id=b --count='${a.whole}' --free='${a.table.names[-1]}' => take --id=c --count='${b.count}' --free='${b.seen.free}'
give => take --count='1$whole' => write-file --path='n$count' --content='${seen.count} of $whole'
END
}

@test "what a template cannot become ends both alike" {
    while IFS= read -r flow; do
        pflow run -n "$flow" -q 2>flow.err && code=0 || code=$?
        bash -c "$(as_pipe "$flow") -q" 2>pipe.err && pipe=0 || pipe=$?
        [ "$code $pipe" = "65 65" ] || { echo "$flow: $code and $pipe" && cat flow.err pipe.err && return 1; }
    done <<'END'
give => take --count='$text'
give => take --mode='$digits'
give => take --facts='$whole'
give => take --loud='x$yes'
END
}
