"""A template of a URL: a value is one part of its path or query, and nothing else."""

import pytest

from pflow.binding.sources import TemplateSource
from pflow.errors import PflowError
from pflow.values.types import Type

VALUES = {
    "up": "..", "dot": ".", "deep": "../../x?y=1#z", "all": "a b&c=%/ü~", "n": 7, "none": None, "list": ["a"],
    "bytes": b"\xff", "base": "https://h:80/a", "id": "jNQX", "evil": "evil.example", "at": "u:p@evil",
}  # fmt: skip
URL = Type("url")


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://h/a/$deep/x", "http://h/a/..%2F..%2Fx%3Fy%3D1%23z/x"),
        ("http://h/?q=$all#$n", "http://h/?q=a%20b%26c%3D%25%2F%C3%BC~#7"),
        ("http://h?$n=$bytes", "http://h?7=%FF"),
        ("http://h/$none/$list", "http://h//%5B%22a%22%5D"),
        ("http://h/..$up", "http://h/...."),
        ("http://h/?up=$up", "http://h/?up=.."),
        ("$base", "https://h:80/a"),
        ("$base/items/$deep", "https://h:80/a/items/..%2F..%2Fx%3Fy%3D1%23z"),
        ("$base$n", "https://h:80/a7"),
        ("youtu.be/$id", "youtu.be/jNQX"),
        ("/$at", "/u%3Ap%40evil"),
    ],
)
def test_a_value_is_percent_encoded_behind_literal_text(written, url):
    assert TemplateSource(written).find(VALUES, URL) == url
    assert TemplateSource([written]).find(VALUES, Type("list", URL)) == [url]


@pytest.mark.parametrize(
    "written",
    ["http://$evil", "http://$evil/", "http://$at@h/", "http://u:$n@h/", "http://h:$n/", "http://h.$evil/",
     "$none$evil", "ht$n://h/", "http:$base", "//$evil/x", "youtu.$id", "$id.$evil/x", "$id://$evil/", "http:$none//h"],
)  # fmt: skip
def test_a_value_in_scheme_user_host_or_port_is_77(written):
    with pytest.raises(PflowError, match="part of the scheme, user, host or port") as caught:
        TemplateSource(written).find(VALUES, URL)
    assert caught.value.exit == 77


@pytest.mark.parametrize(
    "written", ["http://h/$up", "http://h/a/$up/x", "http://h/.$dot/x", "http://h/%2E$dot", "$base/$dot"]
)
def test_a_value_that_leads_to_another_directory_is_77(written):
    with pytest.raises(PflowError, match=r"'\.' or '\.\.'") as caught:
        TemplateSource(written).find(VALUES, URL)
    assert caught.value.exit == 77


def test_an_address_where_a_path_may_be_given_is_joined_as_one():
    assert TemplateSource(["http://h/$deep"]).find(VALUES, Type("list", Type("path"))) == [
        "http://h/..%2F..%2Fx%3Fy%3D1%23z"
    ]
    with pytest.raises(PflowError) as caught:
        TemplateSource("HTTP://$evil/x").find(VALUES, Type("path"))
    assert caught.value.exit == 77
