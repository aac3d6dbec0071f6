"""What a stage's outcome needs of the store is looked for before its node runs."""

import pytest

from pflow.binding.stage_sources import Inputs
from pflow.errors import PflowError
from pflow.grammar import parse_interface
from pflow.interface import Interface
from pflow.stage.document import Document
from pflow.stage.flags import parse_flags
from pflow.stage.places import check_places

SINK = parse_interface('Interface:\n- Reads: shared["x"]: any = null\n- Writes: shared["size"]: int')
SOURCE = parse_interface('Interface:\n- Reads: shared["x"]: any = null\n- Writes: shared["out"]: any [pipe]')


def check(interface: Interface, words: list[str], **header) -> None:
    document = Document({"v": 1, **header})
    document.set("a", 1)
    document.set_json("huge", b"1e999")
    flags = parse_flags(words, interface)
    inputs = Inputs()
    inputs.stored = {name: given.value for name, given in flags.data.items() if flags.is_stored(name)}
    check_places(document, interface, flags, inputs)


@pytest.mark.parametrize(
    ("interface", "words", "exit", "words_of_error"),
    [
        (SOURCE, ["--id=a"], 65, "cannot write 'a.out'"),
        (SOURCE, ["--map-out=out=a.b"], 65, "cannot write 'a.b'"),
        (Interface(), ["--map-out=out=a.b"], 65, "cannot write 'a.b'"),
        (SINK, ["--id=a", "--x=1", "--map-out=size=s"], 65, "cannot write 'a.x'"),
        (SINK, ["-r"], 66, "cannot print 'gone': no 'gone' in the store"),
    ],
)
def test_what_would_fail_after_the_work_is_refused_before_it(interface, words, exit, words_of_error):
    with pytest.raises(PflowError) as caught:
        check(interface, words, last="gone")
    assert caught.value.exit == exit
    assert caught.value.message.startswith(words_of_error)


def test_a_carried_value_that_does_not_parse_is_refused_where_it_would_be_printed():
    check(SINK, [], last="huge")
    with pytest.raises(PflowError, match="cannot print 'huge'") as caught:
        check(SINK, ["-r"], last="huge")
    assert caught.value.exit == 65


@pytest.mark.parametrize(
    ("interface", "words", "header"),
    [
        (SINK, ["-r"], {}),
        (SINK, ["-r"], {"last": "a"}),
        (SINK, ["-q"], {"last": "gone"}),
        (SINK, ["-r"], {"last": "size"}),
        (SINK, ["-r", "--x=1"], {"last": "x"}),
        (SINK, ["-r"], {"last": "gone", "dry": ["gone"]}),
        (SOURCE, ["-r"], {"last": "gone"}),
        (Interface(), ["-r"], {"last": "gone"}),
        (SOURCE, ["--id=a"], {"dry": ["a"]}),
    ],
)
def test_what_this_stage_or_a_dry_one_before_it_may_bring_is_waited_for(interface, words, header):
    check(interface, words, **header)
