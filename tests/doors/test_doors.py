"""Sixty cases of `make doors`: each door, and each shape of flow."""

import pytest

from tests.doors.doors import DOORS
from tests.doors.run import REFERENCE, draw_case, draw_doors, prepare, run_case
from tests.peers.openai_server import OpenAIServer

SEED, CASES, DRAWN = 46, 60, 3
NAMES = [name for name in DOORS if name not in (REFERENCE, "dask")]  # a cluster takes five seconds of CPU to begin


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    place = tmp_path_factory.mktemp("doors")
    with pytest.MonkeyPatch.context() as patch, OpenAIServer(place) as server:
        prepare(patch.setenv)
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        patch.setenv("LLM_USER_PATH", str(server.llm_user_path))
        yield


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("number", range(CASES))
def test_a_flow_means_the_same_by_each_door(number, tmp_path):
    result = run_case(draw_case(number, SEED), draw_doors(number, SEED, NAMES), DRAWN, tmp_path)
    assert [str(each) for each in result.differences] == []
