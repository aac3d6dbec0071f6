"""A flow from JSON and its pipe syntax; `make doors` compares the stores that they leave."""

import json

from hypothesis import given

from pflow.flow.pipe.read import parse_pipe
from tests.export.hostile import every_place, exported, few, hostile


@every_place
@few
@given(hostile)
def test_pipe_syntax_is_compiled_to_the_same_steps(make, text):
    code, wired = exported("pipe", make, text)
    if code:
        assert meaning(parse_pipe([code])) == meaning(wired.flow)


def meaning(flow):
    """What each step is and is given; two dollars are one."""
    steps = [(each.id, each.type, each.params, each.inputs) for each in flow.steps]
    return json.dumps(steps).replace("$$", "$")
