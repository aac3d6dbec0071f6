"""What looks like a secret: by its name, by its value, and where a text asks for one."""

import pytest

from pflow.catalog.kinds import forget_kinds
from pflow.errors import USAGE, PflowError
from pflow.flow.load import load_document
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.plan.secrets import hider, is_secret_value, masked, refuse_secrets, secret_variables
from pflow.values.masks import is_secret_name


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "token", "db_password", "AWS_SECRET_ACCESS_KEY", "apiKey", "ssh-key"]
)
def test_a_secrets_name_is_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["key", "path", "tokens_used", "keyboard", "monkey", "author", "HOME", "max_tokens"])
def test_a_plain_name_is_no_secrets(name):
    assert not is_secret_name(name)


def test_a_secrets_value_is_known():
    assert is_secret_value("Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijkl")
    assert is_secret_value("-----BEGIN RSA PRIVATE KEY-----")
    assert not is_secret_value("sk-ipping stones are a task-force")


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("POST_TOKEN", "swordfish9", True),
        ("POST", "swordfish9", False),
        ("POST_TOKEN", "swordfi9", True),
        ("POST_TOKEN", "swordf9", False),
        ("POST_TOKEN", "password", False),
        ("POST_TOKEN_FILE", "/dev/null", False),
        ("POST_TOKEN", "/not/a/file", True),
    ],
)
def test_a_secret_of_the_environment_is_known(monkeypatch, name, value, is_secret):
    monkeypatch.setenv(name, value)
    assert is_secret_value(f"log in with {value} please") == is_secret
    assert (value not in hider()(f"log in with {value}, please")) == is_secret


def test_of_two_secrets_the_one_that_holds_the_other_is_hidden_whole(monkeypatch):
    monkeypatch.setenv("A_TOKEN", "swordfish9")
    monkeypatch.setenv("B_TOKEN", "swordfish9-and-more")
    assert hider()("swordfish9-and-more swordfish9") == "*** ***"


def test_a_text_with_a_secret_is_refused_before_a_model_sees_it():
    with pytest.raises(PflowError, match="the sentence holds something like a secret") as refused:
        refuse_secrets("plan", "say ghp_" + "a" * 30, "the sentence")
    assert refused.value.exit == USAGE
    refuse_secrets("plan", "say a word", "the sentence")


@pytest.mark.parametrize(
    "text",
    [
        'curl -H "$API_TOKEN"',
        "echo ${API_TOKEN:-none}",
        "echo ${!API_TOKEN}",
        "printenv API_TOKEN",
        "os.environ.get('API_TOKEN')",
        'os.getenv("API_TOKEN")',
        "process.env.API_TOKEN",
        "awk 'BEGIN { print ENVIRON[\"API_TOKEN\"] }'",
    ],
)
def test_who_asks_the_environment_for_a_secret_is_known(text):
    assert secret_variables(text) == ["API_TOKEN"]


def test_a_word_is_no_question_for_a_secret():
    assert secret_variables("grep -n API_TOKEN a.py; echo $HOME $token") == []


KEYED = """
import pocketflow

class Keyed(pocketflow.Node):
    '''Take a key.

    Interface:
    - Reads: shared["key"]: str [secret]  # who asks
    - Reads: shared["plain"]: str = ""  # what for
    - Params: token: str = null [secret] [env KEYED]  # who asks
    '''
"""


def test_each_secret_of_a_flow_is_masked_where_it_stands(tmp_path, monkeypatch):
    (tmp_path / "keyed.py").write_text(KEYED)
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    forget_kinds()
    said = {"params": {"token": "hush-1"}, "inputs": {"key": "hush-2", "plain": "said"}}
    document = {
        "inputs": {"key": {"type": "str", "default": "hush-3"}},
        "nodes": [{"id": id, "type": "keyed", **(said if id == "b" else {})} for id in "zabc"],
        "mappings": {"c": {"input_mappings": {"key": "template:hush-4 $key"}}},
    }
    ir = masked(wire(load_document(document, "flow", FlowCatalog())))
    forget_kinds()
    assert "hush" not in str(ir)
    assert ir["nodes"][2] == {
        "id": "b",
        "type": "keyed",
        "params": {"token": "***"},
        "inputs": {"key": "***", "plain": "said"},
    }
    assert ir["mappings"]["c"]["input_mappings"] == {"key": "template:***"}
    assert ir["inputs"]["key"]["default"] == "***"
