"""The values that a sentence names."""

import pytest

from pflow.library.named import values_in


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("read data.txt, summarize it in 3 sentences, write summary.md.", "path:data.txt number:3 path:summary.md"),
        ("fix github issue 1234 (#77) at https://x.y/a?b=1.", "number:1234 number:77 url:https://x.y/a?b=1"),
        ("get \"my file.txt\" and 'notes/a.txt', don't ask", "quoted:my file.txt path:notes/a.txt"),
        ("list src/**/*.py in ./lib, and /etc/passwd", "path:src/**/*.py path:./lib path:/etc/passwd"),
        ("from ~/b into out/ and ../up", "path:~/b path:out/ path:../up"),
        ("e.g. and/or v1.2 or 3.5 and -2", "number:3.5 number:-2"),
        ("every *.md of data/2024/file_1.csv", "path:*.md path:data/2024/file_1.csv"),
        ("the 10 largest files. Then stop", "number:10"),
        ("say `wc -l` about README", "quoted:wc -l"),
        ("1,234 lines, or 12,5 of them", ""),
        ("1, 2, and 3", "number:1 number:2 number:3"),
        ("mail bob@example.com what src/a@2x.png shows", "path:src/a@2x.png"),
        ("nothing here", ""),
    ],
)
def test_a_sentence_names_paths_urls_numbers_and_what_is_quoted(sentence, values):
    assert " ".join(f"{each.kind}:{each.text}" for each in values_in(sentence)) == values


def test_a_value_knows_where_it_stands():
    sentence = "copy 'a b.txt' to c.txt"
    assert [sentence[each.start : each.end] for each in values_in(sentence)] == ["'a b.txt'", "c.txt"]
