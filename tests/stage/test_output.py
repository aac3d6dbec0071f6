"""What a stage writes: here the error document."""

import json

import pytest

from pflow.errors import PflowError
from pflow.stage.document import Document, read_document
from pflow.stage.output import Output


def test_an_error_document_is_the_store_as_it_was_with_the_error_in_its_header(capfdbinary):
    document = read_document(b'{"$pflow":{"v":1,"run":"R"},\n"a":1.10,\n"b":"x"\n}\n')
    Output([]).write_error(document, "draft", "llm", PflowError("cannot ask 'é'", hint="not in it", exit=75))
    data = capfdbinary.readouterr().out
    header = json.loads(data)["$pflow"]
    assert header["error"] == {"step": "draft", "node": "llm", "exit": 75, "message": "cannot ask 'é'"}
    assert header["run"] == "R"
    assert data.endswith(b'},\n"a":1.10,\n"b":"x"\n}\n')


@pytest.mark.parametrize("exit", [1, 2, 66, 124, 143, 255])
def test_an_error_document_can_be_read_by_the_next_stage(exit, capfdbinary):
    document = Document()
    Output([]).write_error(document, "s", "n", PflowError("cannot read 'caf\udce9'", exit=exit))
    again = read_document(capfdbinary.readouterr().out)
    assert again.header["error"]["exit"] == exit
    assert again.header["run"] == document.header["run"]
