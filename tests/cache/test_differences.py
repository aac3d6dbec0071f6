"""What differs between two keys is said in the words that a person would use."""

import pytest

from pflow.cache.differences import differences


def part(name, digest, kind="read", **more):
    return {"kind": kind, "name": name, "digest": digest, **more}


def sized(name, digest, size, type="str", **more):
    return part(name, digest, type=type, size=size, **more)


def listed(digest, *files):
    return part("files", digest, path="p", files=list(files))


@pytest.mark.parametrize(
    ("now", "before", "values", "said"),
    [
        (sized("text", "a", 2310), sized("text", "b", 2298), {}, "text: 2,310 characters, was 2,298"),
        (sized("text", "a", 2), sized("text", "b", 1), {}, "text: 2 characters, was 1"),
        (sized("text", "a", 2), sized("text", "b", 2), {}, "text: changed (2 characters)"),
        (sized("n", "a", 2, "list"), part("n", "b", type="int"), {}, "n: 2 items, was int"),
        (sized("prompt", "a", 9), sized("prompt", "b", 6), {"a": "Summarize", "b": "Sum up"},
            "prompt: 'Summarize' was 'Sum up'"),
        (sized("prompt", "a", 9), sized("prompt", "b", 6), {"a": "Summarize"}, "prompt: 'Summarize', was 6 characters"),
        (part("n", "a", type="int"), part("n", "b", type="float"), {"a": 1, "b": 1.0}, "n: 1 was 1.0"),
        (part("key", "a"), part("key", "b"), {}, "key: changed"),
        (part("nodes/x.py", "a", "code"), part("nodes/x.py", "b", "code"), {}, "code: nodes/x.py changed"),
        (part("requests", "2.1", "code"), part("requests", "2.0", "code"), {}, "code: requests 2.1 was 2.0"),
        (part("version", "a", "node", value="2.0.0"), part("version", "b", "node", value="1.0.0"),
            {"a": "2.0.0", "b": "1.0.0"}, "version: '2.0.0' was '1.0.0'"),
        (sized("file", "a", 5, path="p"), sized("file", "b", 5, path="p"), {"a": "a.txt"},
            "file: the file 'a.txt' changed"),
        (listed("a", "1", "2"), listed("b", "1", "3"), {"a": ["x", "y"]}, "files: the file 'y' changed"),
        (listed("a", "1", "2"), listed("b", "3", "4"), {"a": ["x", "y"]}, "files: the files 'x', 'y' changed"),
        (listed("a", "1", "2"), listed("b", "1", "3"), {}, "files: the file changed"),
        (listed("a", "1"), listed("b", "1"), {"a": "x"}, "files: the same file, from another directory"),
        (sized("entry", "a", 64, kind="more"), sized("entry", "b", 64, kind="more"), {}, "entry: changed"),
    ],
)  # fmt: skip
def test_a_part_that_changed(now, before, values, said):
    def value(part):
        return values.get(part["digest"], ...)

    assert differences([now], [before], value, value) == [said]


def test_what_follows_from_another_change_is_not_told():
    def asked(model, *more):
        return [part("model", model, "param"), *(part(each, model, "more") for each in ["model", *more])]

    assert differences(asked("x", "model's entry"), asked("y", "model's options")) == ["model: changed"]
    assert differences(asked("x", "model's entry")[1:], asked("y", "model's entry")[1:]) == ["model: changed"]
    same = part("model", "x", "more")
    assert differences([same, part("model's entry", "a", "more")], [same, part("model's entry", "b", "more")]) == [
        "model's entry: changed"
    ]


def test_parts_that_came_and_went():
    same = part("a", "x")
    assert differences([same, part("b", "x")], [same, part("c", "x", "code")]) == ["b: is new", "code: c is gone"]
    assert differences([same], [same]) == []
