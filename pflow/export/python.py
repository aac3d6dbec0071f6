"""A flow as one Python file that runs with pocketflow alone: its steps on top, the sources of its nodes below."""

from __future__ import annotations

from pflow import __version__
from pflow.catalog.kinds import FLOW
from pflow.export.code import Names
from pflow.export.embed import LOADER, closure, literal, packages_of
from pflow.export.python_steps import FlowCode, in_docstring, is_bare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import WiredFlow

_HEAD = '''\
#!/usr/bin/env python3
"""{about}

Made with `pflow export --to=python` (pflow-shell {version}). It runs without pflow, once this is installed:

    pip install {packages}

{name}() makes the flow; run as a program, this file prints the store that the flow ends with, as JSON.
"""

{imports}
'''

_KEEPS_PARAMS = '''

class Flow(pocketflow.Flow):
    """pocketflow's Flow, in which each node keeps its own params: 0.0.3 gives every node the flow's."""

    def _orch(self, shared, params=None):
        node, action = self.start_node, None
        while node:
            action = copy.copy(node)._run(shared)
            node = self.get_next_node(node, action)
        return action
'''

_PLAIN_MAIN = '''

def main():
    """Run the flow on what the flags give (--key=value), and print its store."""
    given = [word.removeprefix("--").partition("=") for word in sys.argv[1:]]
    shared = {key.replace("-", "_"): value for key, _, value in given}
    with contextlib.redirect_stdout(sys.stderr):
        create_flow().run(shared)
    print(json.dumps(shared, ensure_ascii=False))
'''

_MAIN = '''

def main():
    """Run the flow on what the flags give (--help lists them), and print its store."""
    from pflow.export.runtime import run_script

    run_script(create_flow())
'''

_BELOW = """

# Below is what the steps are made of: the sources of their nodes and of what those import, as they are in pflow.

MODULES = {}
"""

_END = """

if __name__ == "__main__":
    main()
"""


def export(plan: WiredFlow) -> str:
    """The text of the file. Raises PflowError (65, 78) where a node cannot be loaded."""
    plans = list(_plans(plan))
    is_plain = len(plans) == 1 and _is_plain(plan)
    names = Names({"create_flow", "main"})
    makers = {inner: names.name(f"create_{_stem(inner)}_flow") for inner in plans[1:]}
    makers[plan] = "create_flow"
    codes = [FlowCode(each, makers, is_plain=is_plain, is_root=each is plan) for each in plans]
    own = {name: source for code in codes for name, source in code.sources.items()}
    modules = [name for code in codes for name in code.modules]
    sources = closure(modules if is_plain else ["pflow.export.runtime", *modules], own)
    parts = [_head(plan, sources, is_plain), _KEEPS_PARAMS if is_plain else ""]
    parts += [*(code.text() for code in codes), _PLAIN_MAIN if is_plain else _MAIN, _BELOW]
    parts += [f'\nMODULES["{name}"] = {literal(source)}\n' for name, source in sources.items()]
    return "".join([*parts, LOADER, _END])


def _plans(plan: WiredFlow) -> Iterator[WiredFlow]:
    """The plan, and each that a step in it runs, once."""
    seen: set[int] = set()
    todo = [plan]
    for each in todo:
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            kinds = [wired.kind for wired in each.steps.values()]
            todo += [kind.plan for kind in kinds if kind and kind.origin == FLOW]  # type: ignore[attr-defined]


def _is_plain(plan: WiredFlow) -> bool:
    """Whether a flow is no more than a user's own nodes and the ways between them."""
    has_more = plan.flow.inputs or plan.flow.outputs or plan.graph.loops()
    return not has_more and all(is_bare(plan, wired) for wired in plan.steps.values())


def _stem(plan: WiredFlow) -> str:
    return plan.flow.name or "inner"


def _head(plan: WiredFlow, sources: dict[str, str], is_plain: bool) -> str:
    about = ": ".join(filter(None, [plan.flow.name, plan.flow.description])) or "A flow"
    modules = ["importlib.util", "sys"]
    if is_plain:
        modules += ["contextlib", "copy", "json"]
    imports = "\n".join(f"import {name}" for name in sorted(modules))
    return _HEAD.format(
        about=in_docstring(about),
        version=__version__,
        packages=" ".join(["pocketflow", *_packages(sources)]),
        name="create_flow",
        imports=imports + ("\n\nimport pocketflow" if is_plain else ""),
    )


def _packages(sources: dict[str, str]) -> list[str]:
    """What the nodes need beside pocketflow. Of what pflow's own modules may import, only what pflow always needs."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        needed = requires("pflow-shell") or []
    except PackageNotFoundError:
        needed = []
    always = {text.partition(">")[0].strip() for text in needed if "extra ==" not in text}
    own = {name: source for name, source in sources.items() if name.partition(".")[0] == "pflow"}
    theirs = [source for name, source in sources.items() if name not in own]
    found = {*packages_of(theirs), *(always & set(packages_of(own.values())))}
    return sorted(found - {"pocketflow", "orjson"})  # for large documents only, and not needed for them
