"""A batch as a loop of a shell script: a stage for each item, its writes gathered in lists."""

from pflow.binding.sources import AlternativeSource, Constant
from pflow.export._sh_stage import ShellStage, State, refused, word_of
from pflow.flow.flow import Batch
from pflow.flow.pipe.scan import quote
from pflow.flow.reaching import data_of
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.values.jsontext import encode
from pflow.values.paths import write_path

HELPERS = """\
begin() { # read the store, and set members of it
    dir=$(mktemp -d) || exit 73
    trap 'rm -r "$dir"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    pflow-set -- "$@" >"$dir/result" || hand_on
    mv "$dir/result" "$dir/store"
}
items() { # write the items at a place, or those that the pipe carries, as lines of JSON
    pflow-get --each -- ${1:+"$1"} <"$dir/store" >"$dir/items" || {
        code=$?
        printf '{"$pflow":{"v":1,"error":{"step":"items","node":"get","exit":%s,"message":"no list"}}}\\n' "$code"
        exit "$code"
    }
}
hand_on() { # pass on the error document of a failed stage
    code=$?
    cat "$dir/result"
    exit "$code"
}
keep() { # keep the result of an item at each place
    number=0
    for path; do
        number=$((number + 1))
        { pflow-get -e -j -- "$path" <"$dir/result" || echo null; } >>"$dir/$number"
    done
}
end() { # pass on the store, with a list at each place, and what the pipe carries
    flag=${1:+--carry=$1} number=0
    shift
    for path; do
        shift
        number=$((number + 1))
        { echo '[' && sed '$!s/$/,/' "$dir/$number" && echo ']'; } >"$dir/$number.json"
        set -- "$@" "$path:@$dir/$number.json"
    done
    pflow-set ${flag:+"$flag"} -- "$@" <"$dir/store"
}
"""

_LOOP = """\
(
        begin{begin}
        items {over}
        touch {files}
        while IFS= read -r item; do
            printf '%s\\n' "$item" >"$dir/item"
            pflow-set --carry={name} -- {item}"$dir/item" <"$dir/store" |
                {stage} >"$dir/result" || hand_on
            keep {writes}
        done <"$dir/items"
        end {carried} {writes}
    )"""


def loop(wired: WiredStep, batch: Batch, flow: WiredFlow, state: State) -> str:
    """Return the code of a batch, and update `state`. Raises PflowError (65) if no loop does the same."""
    _refuse_others(wired, batch, flow)
    assert wired.over is not None
    is_piped = flow.runs_over_pipe and flow.graph.first == wired.id
    item = (batch.item,)
    kept = list(_kept(wired, state))
    state.places.update({write.target: True for write in data_of(wired)})
    inner = State()
    inner.places = {place: is_sure for place, is_sure in state.places.items() if place[0] != item[0]} | {item: True}
    inner.carried, inner.is_open = item, state.is_open
    stage = ShellStage(wired, inner, takes_pipe=False)
    writes = {key: wired.place_of(key) for key in wired.interface.writes}
    for key, place in writes.items():
        if state.may_have(place):
            raise refused(f"'{wired.id}' writes '{key}' where something may already be")
    pipe = wired.interface.pipe_write
    code = _LOOP.format(
        begin="".join(f" {word}" for word in kept),
        over=quote("" if is_piped else write_path(wired.over.paths[0])),
        files=" ".join(f'"$dir/{number}"' for number in range(1, len(writes) + 1)),
        name=quote(write_path(item)),
        item=quote(word_of(item) + ":@"),
        stage=stage.command,
        writes=" ".join(quote(word_of(place)) for place in writes.values()),
        carried=quote(write_path(writes[pipe.name]) if pipe else ""),
    )
    state.places.update(dict.fromkeys(writes.values(), True))
    state.carried = writes[pipe.name] if pipe else state.carried
    return code


def _refuse_others(wired: WiredStep, batch: Batch, flow: WiredFlow) -> None:
    """Raise PflowError (65) for a batch that is not a plain loop."""
    reasons = {
        "runs several items at the same time": batch.jobs not in (None, 1),
        "goes on after failed items": batch.on_error == "keep",
        "keeps the items in its results": batch.keep_item,
        "runs over the members of an object": wired.over_type.name == "dict",
        "runs over one of several places": isinstance(wired.over, AlternativeSource),
        "writes what its interface does not name": wired.interface.open,
        "writes nothing": not wired.interface.writes,
        f"uses a part of the path {batch.item}": any(
            each.step == wired.id and each.item_part for each in flow.references
        ),
    }
    for why, is_so in reasons.items():
        if is_so:
            raise refused(f"'{wired.id}' {why}, which a loop of stages cannot do")


def _kept(wired: WiredStep, state: State) -> list[str]:
    """Return words for pflow-set: the data flags that the step keeps in the store whatever its items are."""
    words = []
    for write in data_of(wired):
        source = wired.sources[write.key]
        is_there = state.surely_has(write.target)
        if not is_there and (state.may_have(write.target) or not isinstance(source, Constant)):
            raise refused(f"'{wired.id}' keeps its '{write.key}', which is unknown before its items")
        if not is_there and isinstance(source, Constant):
            words.append(quote(f"{word_of(write.target)}:={str(encode(source.value), 'utf-8')}"))
    return words
