"""Makes openapi.json: what GitHub's own OpenAPI description says of the operations that the github nodes use.

    npm pack @octokit/openapi@23.0.2 && tar -xzf octokit-openapi-23.0.2.tgz package/generated/api.github.com.json
    python tests/kit/github/excerpt.py package/generated/api.github.com.json > tests/kit/github/openapi.json

The description is GitHub's and Octokit's, under the MIT licence. Prose and examples are left out, and so are answers
other than success: what remains is the shape of each request and of its answer.
"""

from __future__ import annotations

import json
import sys
from typing import Any

REPO = "/repos/{owner}/{repo}"
OPERATIONS = (
    ("get", REPO),
    ("get", f"{REPO}/issues"),
    ("post", f"{REPO}/issues"),
    ("get", f"{REPO}/issues/{{issue_number}}"),
    ("get", f"{REPO}/issues/{{issue_number}}/comments"),
    ("post", f"{REPO}/issues/{{issue_number}}/comments"),
    ("get", f"{REPO}/pulls"),
    ("post", f"{REPO}/pulls"),
    ("get", f"{REPO}/pulls/{{pull_number}}"),
    ("get", f"{REPO}/pulls/{{pull_number}}/files"),
    ("get", "/search/code"),
    ("get", "/search/commits"),
    ("get", "/search/issues"),
    ("get", "/search/repositories"),
)
PROSE = {"description", "summary", "tags", "externalDocs", "example", "examples", "title"}


def excerpt(whole: dict[str, Any]) -> dict[str, Any]:
    """The description with these operations alone, and with what they refer to."""
    paths: dict[str, Any] = {}
    for method, path in OPERATIONS:
        paths.setdefault(path, {})[method] = _bare(_without_failures(whole["paths"][path][method]))
    info = {name: whole["info"][name] for name in ("title", "version", "license")}
    components: dict[str, Any] = {}
    _bring(paths, whole, components)
    return {"openapi": whole["openapi"], "info": info, "paths": paths, "components": components}


def _without_failures(operation: dict[str, Any]) -> dict[str, Any]:
    answers = {code: answer for code, answer in operation["responses"].items() if code.startswith("2")}
    return {**operation, "responses": answers}


def _bare(value: Any, *, names: bool = False) -> Any:
    """A value without prose; where `names` is true, its members are called as somebody else named them."""
    if isinstance(value, list):
        return [_bare(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: each for name, each in value.items() if names or not (name in PROSE or name.startswith("x-"))}
    bare = {name: _bare(each, names=not names and name in ("properties", "headers")) for name, each in kept.items()}
    if "type" not in bare and not names:
        bare.pop("nullable", None)  # beside oneOf it has prism's validator give up on the whole body
    return {"description": "", **bare} if "content" in bare and "schema" not in bare else bare


def _bring(value: Any, whole: dict[str, Any], components: dict[str, Any]) -> None:
    """Put into `components` what a value refers to, and what that does."""
    if isinstance(value, list):
        for each in value:
            _bring(each, whole, components)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == "$ref" and isinstance(each, str):
                _bring_one(each, whole, components)
            else:
                _bring(each, whole, components)


def _bring_one(reference: str, whole: dict[str, Any], components: dict[str, Any]) -> None:
    kind, name = reference.removeprefix("#/components/").split("/")
    there = components.setdefault(kind, {})
    if name not in there:
        there[name] = _bare(whole["components"][kind][name])
        _bring(there[name], whole, components)


def written(value: Any, depth: int) -> str:
    """JSON with a line for each member, so deep: for each operation and each schema."""
    if not depth or not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"), sort_keys=True)
    members = [f"{json.dumps(name)}:{written(value[name], depth - 1)}" for name in sorted(value)]
    return "{\n" + ",\n".join(members) + "\n}"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        made = excerpt(json.load(file))
    print(written(made, depth=3))
