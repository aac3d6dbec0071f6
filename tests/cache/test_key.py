"""A key changes exactly with what an answer depends on."""

import os

import pytest
from hypothesis import given

from pflow.binding.store import NodeStore
from pflow.cache.code import Code
from pflow.cache.key import differences, make_key
from pflow.errors import PflowError
from pflow.node import Node, interface_of, pocketflow
from tests.values.test_jsontext import VALUES

PLAIN = """
- Reads: shared["a"]: any = null  # one
- Reads: shared["b"]: any = null  # another
- Writes: shared["c"]: any  # both
- Params: n: any = 1  # how
"""


def make_class(interface, base=Node, **members):
    doc = f"Try.\n\nInterface:{interface}" if interface else "Try."
    return type("Try", (base,), {"__doc__": doc, **members})


def key_of(store, params=None, *, interface=PLAIN, code="C", version="1.0.0", name="try", made=None, **members):
    node = made or make_class(interface, **members)()
    node.set_params(params or {})
    known = interface_of(type(node))
    defaults = {item.name: item.default for item in known.reads.values() if not item.required}
    view = NodeStore(store, stand_ins=defaults)
    return make_key(name, version, Code({"f.py": code}), known, node, view, is_from_python=made is not None)


def digest(store, params=None, **more):
    return key_of(store, params, **more).digest


def refusal(store, params=None, **more):
    with pytest.raises(PflowError) as caught:
        key_of(store, params, **more)
    assert caught.value.exit == 78
    return caught.value.message.removeprefix("cannot cache the answers of 'try': ")


def test_each_part_changes_it_and_nothing_else_does():
    store = {"a": "x", "b": "y"}
    others = [
        digest({"a": "y", "b": "x"}),
        digest({"a": "xy", "b": ""}),
        digest({"a": "x"}),
        digest(store, {"n": 2}),
        digest(store, {"n": 1.0}),
        digest(store, {"n": "1"}),
        digest(store, {"n": True}),
        digest(store, {"n": 1, "m": 1}),
        digest(store, code="D"),
        digest(store, version="1.0.1"),
        digest(store, name="other"),
    ]
    assert len({digest(store), *others}) == len(others) + 1
    assert digest(store) == digest({"b": "y", "z": "not read", "a": "x"}, {"n": 1})


def test_a_changed_default_of_a_read_or_a_param_changes_it():
    keys = {digest({}, interface=PLAIN.replace(*change)) for change in [("", ""), ("= 1", "= 2"), ("null", '"z"')]}
    assert len(keys) == 3


@given(VALUES)
def test_reads_and_params_never_pass_for_one_another(value):
    keys = [digest({"a": value}), digest({"b": value}), digest({}, {"n": value}), digest({"a": [value]})]
    assert len(set(keys[:2] + keys[3:])) == 3 or value is None
    assert keys[2] not in (keys[0], keys[1])


def test_what_is_looked_at_for_a_key_does_not_count_as_read():
    view = NodeStore({"a": [1]})
    node = make_class(PLAIN)()
    key = make_key("try", "1", Code({}), interface_of(type(node)), node, view)
    assert [(part.kind, part.name, part.value) for part in key.parts if part.kind == "read"] == [("read", "a", [1])]
    assert view.reads == {}
    view["a"].append(2)
    assert key.parts[-1].value == [1]


SECRET = (
    PLAIN + '- Params: token: str = null [secret] [env TOKEN]  # t\n- Reads: shared["pin"]: int = null [secret]  # p\n'
)


def test_secrets_count_by_a_digest_that_needs_a_key(tmp_path, monkeypatch):
    keys = []
    for user in ("one", "other"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / user))
        keys.append(key_of({"pin": 1234}, {"token": "hunter2"}, interface=SECRET))
        assert keys[-1].digest == digest({"pin": 1234}, {"token": "hunter2"}, interface=SECRET)
        assert keys[-1].digest != digest({"pin": 1234}, {"token": "hunter3"}, interface=SECRET)
        assert keys[-1].digest != digest({"pin": 1235}, {"token": "hunter2"}, interface=SECRET)
    assert keys[0].digest != keys[1].digest
    assert {part.name for part in keys[0].parts if part.value is ... and part.kind != "code"} == {"token", "pin"}
    for name in ("XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name)
    with pytest.raises(PflowError, match="its directory is unknown"):
        key_of({"pin": 1234}, interface=SECRET)


FILES = (
    PLAIN + '- Reads: shared["path"]: path = null  # a\n- Params: more: list[path] = []  # b\n- Effects: reads files\n'
)


def test_a_path_counts_by_its_file(tmp_path, monkeypatch):
    first, second = tmp_path / "one" / "in.txt", tmp_path / "two" / "in.txt"
    for file in (first, second):
        file.parent.mkdir()
        file.write_text("x")
    monkeypatch.chdir(first.parent)
    relative = digest({"path": "in.txt"}, {"more": ["in.txt"]}, interface=FILES)
    assert digest({"path": b"in.txt"}, {"more": [b"in.txt"]}, interface=FILES) == relative
    absolute = key_of({"path": str(first)}, interface=FILES)
    assert absolute.digest != digest({"path": "in.txt"}, interface=FILES)
    monkeypatch.chdir(second.parent)
    assert digest({"path": "in.txt"}, {"more": ["in.txt"]}, interface=FILES) == relative
    assert digest({"path": str(second)}, interface=FILES) == absolute.digest
    assert digest({"path": "../one/in.txt"}, interface=FILES) != absolute.digest
    assert absolute.is_current()
    first.write_text("y")
    assert not absolute.is_current()
    assert digest({"path": str(first)}, interface=FILES) != absolute.digest
    assert digest({"path": "in.txt"}, {"more": [str(first)]}, interface=FILES) != relative
    first.unlink()
    assert digest({"path": str(first)}, interface=FILES) != digest({"path": "gone.txt"}, interface=FILES)


def test_an_absolute_path_counts_as_it_is_reached(tmp_path, monkeypatch):
    for name in ("one", "two", "moved/one", "cwd", "moved/cwd"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "in.txt").write_text("x")
    monkeypatch.chdir(tmp_path / "cwd")
    one, two = (digest({"path": str(tmp_path / name / "in.txt")}, interface=FILES) for name in ("one", "two"))
    assert one != two
    monkeypatch.chdir(tmp_path / "moved" / "cwd")
    assert digest({"path": str(tmp_path / "moved" / "one" / "in.txt")}, interface=FILES) == one


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("dict{file: path, n: int}", {"file": "in.txt", "n": 1}),
        ("list[dict{file: path}]", [{"file": "in.txt"}, {"other": 1}]),
        ("dict{files: list[path]}", {"files": ["in.txt", "gone.txt"], "more": "x"}),
    ],
)
def test_a_path_inside_a_value_counts_by_its_file(tmp_path, monkeypatch, type, value):
    monkeypatch.chdir(tmp_path)
    interface = PLAIN + f'- Reads: shared["box"]: {type} = null  # it\n'
    (tmp_path / "in.txt").write_text("x")
    before = key_of({"box": value}, interface=interface)
    assert "in.txt" in before.files
    (tmp_path / "in.txt").write_text("y")
    assert digest({"box": value}, interface=interface) != before.digest


def test_what_is_read_from_a_folder_or_a_pipe_cannot_be_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    for path in (".", "fifo", "/dev/zero", "a\0b"):
        assert "cannot digest what it reads from 'path'" in refusal({"path": path}, interface=FILES)


NO = {
    "open": ("", "it declares no interface, so any key may count"),
    "writes": (PLAIN + "- Effects: writes files\n", "it writes files, which a cached answer would not write again"),
    "network": (PLAIN + "- Effects: network\n", "what it gets from the network is not known beforehand"),
    "commands": (PLAIN + "- Effects: runs commands\n", "what it gets from commands is not known beforehand"),
    "anything": (PLAIN + "- Effects: anything\n", "what it gets from outside is not known beforehand"),
    "files": (PLAIN + "- Effects: reads files\n", "what it reads is not known beforehand"),
    "secret": (PLAIN + '- Writes: shared["t"]: str [secret]  # it\n', "'t' is secret, and secrets are not kept"),
}


@pytest.mark.parametrize(("interface", "why"), NO.values(), ids=NO)
def test_what_no_key_can_hold_is_refused(interface, why):
    assert refusal({}, interface=interface) == why


def test_code_that_cannot_be_told_is_refused():
    node = make_class(PLAIN)()
    why = "it imports a module that its code does not name"
    with pytest.raises(PflowError, match=why):
        make_key("try", "1", Code({}, why), interface_of(type(node)), node, {})


def test_a_node_says_what_else_counts():
    network = PLAIN + "- Effects: network\n"

    def cache_parts(self, shared):
        if shared["a"] == "PUT":
            raise PflowError("cannot cache a PUT", exit=78)
        return {"model": self.params["n"], "first": shared["b"]}

    key = key_of({"a": "GET", "b": "u"}, {"n": "gpt"}, interface=network, cache_parts=cache_parts)
    found = [(part.name, part.value) for part in key.parts if part.kind == "more"]
    assert found == [("first", "u"), ("model", "gpt")]
    with pytest.raises(PflowError, match="cannot cache a PUT"):
        key_of({"a": "PUT"}, interface=network, cache_parts=cache_parts)
    wrong = refusal({}, interface=network, cache_parts=lambda self, shared: shared["nothing"])
    assert wrong == "its cache_parts fails: KeyError: 'nothing'"


def test_what_was_set_on_a_node_by_hand_counts():
    made = [make_class(PLAIN, pocketflow.Node)(max_retries=tries) for tries in (1, 2, 3, 4)]
    made[2].prefix, made[3].prefix = "x", object()
    assert digest({}, made=made[0]) == digest({}, made=made[1]) != digest({}, made=made[2])
    assert refusal({}, made=made[3]) == "'prefix' is not JSON"


LOOKS = {
    "a declared read": (lambda shared: shared["a"], []),
    "a key": (lambda shared: shared["z"], ["z"]),
    "a key that is not there": (lambda shared: shared.get("y", "plain"), ["y"]),
    "whether a key is there": (lambda shared: "z" in shared, ["z"]),
    "which keys there are": (lambda shared: list(shared), ["*"]),
    "how many keys there are": (lambda shared: len(shared), ["*"]),
    "whether there is any": (lambda shared: bool(shared), ["*"]),
    "all of it": (lambda shared: dict(shared), ["*", "z"]),
    "all of it as items": (lambda shared: sorted(shared.items()), ["*", "z"]),
    "a count that goes on": (lambda shared: shared.update(n=shared.get("n", 0) + 1), ["n"]),
    "what it wrote itself": (lambda shared: (shared.update(n=1), shared["n"], "n" in shared), []),
    "what it removed": (lambda shared: (shared.pop("a"), "a" in shared, shared.get("a")), []),
    "a default for what is not there": (lambda shared: shared.setdefault("y", 1), ["y"]),
}


@pytest.mark.parametrize(("look", "beside"), LOOKS.values(), ids=LOOKS)
def test_what_a_node_looks_at_beside_its_interface_is_known(look, beside):
    view = NodeStore({"a": 1, "z": 2})
    look(view)
    assert view.asked_beside(["a"]) == beside


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
