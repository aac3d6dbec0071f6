"""JSON that commands print."""

import json

from pflow.commands._output import json_line


def test_a_line_of_json_gives_a_terminal_no_orders():
    value = {"a\x9b": "\x7f\u202e\x1b[2J\udcff\U000e0001é"}
    line = json_line(value).decode()
    assert line[:-1].isprintable()
    assert "é" in line
    assert json.loads(line) == {"a\x9b": "\x7f\u202e\x1b[2J\\udcff\U000e0001é"}
