"""The shapes that github's nodes declare: the members of GitHub's own description that the nodes keep."""

import json

import pytest

from pflow.kit.github.reader import _KEPT
from pflow.node import interface_of, load_bundled
from tests.peers.github import DESCRIPTION

SCHEMAS = json.loads(DESCRIPTION.read_text())["components"]["schemas"]


def kept(schema):
    return {"url" if name == "html_url" else name for name in _KEPT if name in SCHEMAS[schema]["properties"]}


@pytest.mark.parametrize(
    ("node", "key", "schema", "more"),
    [
        ("get-issue", "issue_data", "issue", set()),
        ("get-pr", "pr_data", "pull-request", {"files", "diff"}),
        ("list-issues", "issues", "issue", set()),
        ("list-prs", "prs", "pull-request-simple", set()),
    ],
)
def test_a_declared_shape_has_what_github_gives(node, key, schema, more):
    declared = interface_of(load_bundled(f"github-{node}")).writes[key].type
    fields = (declared.items or declared).fields
    assert fields.keys() == kept(schema) | more
    assert fields["user"].fields.keys() == kept("simple-user")
    if "files" in more:
        assert fields["files"].items.fields.keys() == kept("diff-entry")
    if key == "issue_data":
        assert fields["comments"].items.fields.keys() == kept("issue-comment")
