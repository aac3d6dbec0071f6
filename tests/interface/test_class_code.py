"""What the code of a class shows of its interface, where its docstring has none."""

import ast

import pytest

from pflow.interface.class_code import read_code
from pflow.interface.interface import UNDECLARED, Interface, with_keys


def shown(source, name="N"):
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    interface = Interface()
    read_code(classes[name], classes, interface)
    return interface


def method(head, body):
    return "class N(Node):\n    def " + head + ":\n" + "".join(f"        {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ('return shared["a"]', "a"),
        ('return [each for each in shared["a"]]', "a"),
        ('with open(shared["a"]) as f: return f', "a"),
        ('return shared.get("a"), shared.get("b", 3)', "a? b?"),
        ('return shared["a"] if shared["b"] else shared["c"]', "b a? c?"),
        ('return shared["a"] or shared["b"]', "a b?"),
        ('if "a" not in shared: return\nreturn shared["a"], shared["b"]', "a? b?"),
        ('try:\n    return shared["a"]\nexcept KeyError:\n    return 0', "a?"),
        ('for each in shared["a"]: shared["b"]', "a b?"),
        ('shared["a"] = 1\nreturn shared["a"], shared["b"]', "b"),
        ('shared["a"] += shared["b"]', "a b"),
        ('return shared.setdefault("a", []), shared["a"]', "a?"),
        ('self.fill(shared)\nreturn shared["a"]', "a?"),
        ('return shared[self.params["key"]], other["b"], self.shared["c"]', ""),
        ('del shared["a"]', ""),
        ('return shared["not a word"], shared["id"], shared["a"]', "a"),
        ('return shared["jobs"], shared["each"]', "jobs each"),  # flags of steps alone
    ],
)
def test_prep_shows_the_reads_and_which_must_be_there(body, reads):
    found = shown(method("prep(self, shared)", body)).reads
    assert " ".join(name + ("" if item.default is UNDECLARED else "?") for name, item in found.items()) == reads


@pytest.mark.parametrize(
    ("body", "writes"),
    [
        ('shared["a"] = shared["b"] = r', ["a", "b"]),
        ('shared["a"], shared["b"] = r', ["a", "b"]),
        ('if r: shared["a"] = r\nelse: shared["b"] = shared["c"]', ["a", "b"]),
        ('shared["a"] += 1\nshared.setdefault("b", []).append(r)', ["a", "b"]),
        ('shared.update({"a": r, **p}, b=p)', ["a", "b"]),
        ('shared["a"].append(shared["b"])\nshared["c"]["x"][0] = r\nshared["d"]["n"] += 1', ["a", "c", "d"]),
        ('shared["a"].split()\nother["b"].append(shared["c"]["x"])', []),
        (
            'shared.setdefault("log", []).append(r)\nshared["n"] = shared.get("n", 0) + 1\nshared["a"] = r',
            ["a", "log", "n"],
        ),
        ('shared["a"]["b"] = r\nshared["stdin"] = r\nshared[self.key] = r', ["a"]),
    ],
)
def test_post_shows_the_writes(body, writes):
    assert list(shown(method("post(self, shared, p, r)", body)).writes) == writes


def test_every_method_shows_params_and_a_default_gives_the_type_of_its_flag():
    body = 'self.params.get("a", 1), self.params["b"]\np = self.params\np["no"]'
    more = (
        'return self.params.get("c", 0.5), self.params.get("d", True), self.params.get("e", "x"), self.params.get("f")'
    )
    found = shown(method("exec(self, p)", body + "\n" + more)).params
    assert {name: (str(item.type), item.default) for name, item in found.items()} == {
        "a": ("int", 1), "b": ("any", UNDECLARED), "c": ("float", 0.5), "d": ("bool", True), "e": ("str", "x"),
        "f": ("any", None),
    }  # fmt: skip


def test_the_code_has_its_defaults_itself():
    assert shown(method("exec(self, p)", 'return self.params.get("a", 1)')).defaults() == {}


def test_what_stands_for_a_read_is_no_param():
    found = shown(method("prep(self, s)", 'return s.get("a") or self.params.get("a")'))
    assert (list(found.reads), list(found.params)) == (["a"], [])


def test_async_methods_and_those_of_a_base_in_the_file_show_it_too():
    base = 'class B(Node):\n    def prep(self, s): return s["a"]\n    def post(self, s, p, r): s["b"] = r\n'
    found = shown(base + 'class N(B):\n    async def post_async(self, s, p, r): s["c"] = r\n')
    assert (list(found.reads), list(found.writes)) == (["a"], ["b"])
    found = shown(base + 'class N(B):\n    def post(self, s, p, r): s["c"] = r\n')
    assert list(found.writes) == ["c"]


@pytest.mark.parametrize(
    ("prep", "read"),
    [
        ('s.get("a"), s["b"], s["c"]', "b"),
        ('s.get("a"), s.get("b")', "a"),
        ('s.get("a", 100), s.get("b", "")', "b"),
        ('s.get("a", 100)', "a"),
        ('s.get("a", 100), self.find(s)', None),
        ("1", None),
    ],
)
def test_a_pipe_fills_the_first_required_read_else_the_first_and_carries_the_first_write_on(prep, read):
    post = '    def post(self, s, p, r):\n        s["x"] = s["y"] = r\n'
    found = shown(method("prep(self, s)", f"return {prep}") + post)
    assert found.inferred
    assert (found.pipe_read.name if found.pipe_read else None, found.pipe_write.name) == (read, "x")


def test_code_that_shows_nothing_is_as_open_as_before():
    found = shown("class N(Node):\n    def prep(self): return None\n    def post(): pass\n")
    assert (found.open, found.inferred, found.may_take_stdin) == (True, False, True)


@pytest.mark.parametrize(
    ("prep", "post", "params", "pipe"),
    [
        ("shared[self.params['input_key']]", "shared['b'] = 1", {"input_key": "a"}, ("a", "b")),
        ("shared['a']", "shared[self.params['output_key']] = 1", {"output_key": "b"}, ("a", "b")),
        ("shared[self.params['input_key']]", "pass", {"input_key": "a", "output_key": "b"}, ("a", "b")),
        ("shared['a']", "shared['b'] = 1", {"input_key": "c", "output_key": "d"}, ("a", "b")),
        ("shared['a']", "shared['b'] = 1", {"input_key": ["c"], "output_key": "d e"}, ("a", "b")),
    ],
)
def test_a_key_that_a_param_names_takes_the_side_of_the_pipe_that_the_code_leaves_free(prep, post, params, pipe):
    interface = shown(
        method("prep(self, shared)", f"return {prep}") + f"    def post(self, shared, p, e):\n        {post}\n"
    )
    found = with_keys(interface, params)
    assert (found.pipe_read.name, found.pipe_write.name, found.inferred) == (*pipe, True)
    assert with_keys(interface, {}) is interface
