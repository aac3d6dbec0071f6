"""The commands that extend an installation, of each tool that makes one."""

import os
import site
import sys

import pytest

import pflow.files.installation as module
from pflow.errors import PflowError
from pflow.files.installation import needs, read_installation

PIP = f"{sys.executable} -m pip"


@pytest.mark.parametrize(("is_managed", "flags"), [(False, "--user"), (True, "--user --break-system-packages")])
def test_what_pip_installed_for_a_user_is_extended_for_that_user(tmp_path, monkeypatch, is_managed, flags):
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(site, "getuserbase", lambda: str(tmp_path))
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path / "lib"))
    monkeypatch.setattr(module, "__file__", str(tmp_path / "lib" / "pflow" / "files" / "installation.py"))
    monkeypatch.setattr(os.path, "exists", lambda path: is_managed and path.endswith("EXTERNALLY-MANAGED"))
    found = read_installation()
    assert found.add("llm-x") == f"{PIP} install {flags} llm-x"
    assert found.remove("llm-x") == f"{PIP} uninstall{flags.removeprefix('--user')} llm-x"
    assert found.to_path() == f'export PATH={tmp_path}/bin:"$PATH" in your profile'


def test_what_uvx_runs_for_one_command_becomes_a_tool():
    found = read_installation("/home/me/.cache/uv/archive-v0/JL4jNqgWjSTOsjTp")
    assert found.name.startswith("pflow-shell @ file:///")  # this checkout
    assert found.add("llm-x") == f"{found.to_path()} --with llm-x" == f"uv tool install '{found.name}' --with llm-x"


def test_an_extra_is_added_to_what_is_there(tmp_path):
    (tmp_path / "pipx_metadata.json").write_text('{"main_package": {"package": "pflow-shell"}}')
    added = read_installation(str(tmp_path)).add("pflow-shell[web]")
    assert added == "pipx inject --force pflow-shell 'pflow-shell[web]'"


RECEIPT = """[tool]
requirements = [{}]
"""
OTHER = '{ name = "llm-x", specifier = ">=1" }'


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ('{ name = "pflow-shell" }', "pflow-shell"),
        ('{ name = "pflow-shell", extras = ["web", "map"], specifier = "==2" }', "'pflow-shell[web,map]==2'"),
        ('{ name = "pflow-shell", editable = "/src" }', "'pflow-shell @ /src'"),
        ('{ name = "pflow-shell", directory = "/src" }', "'pflow-shell @ /src'"),
        ('{ name = "pflow-shell", git = "https://h/p" }', "'pflow-shell @ git+https://h/p'"),
    ],
)
def test_a_tool_of_uv_keeps_what_was_installed_beside_it(tmp_path, first, name):
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT.format(f"{first}, {OTHER}"))
    found = read_installation(str(tmp_path))
    assert found.add("llm-y") == f"uv tool install {name} --with 'llm-x>=1' --with llm-y"
    assert found.remove("llm-x") == f"uv tool install {name}"
    assert found.remove("llm") == f"uv tool install {name} --with 'llm-x>=1'"
    assert found.mend() == f"uv tool install --reinstall {name} --with 'llm-x>=1'"
    assert (found.to_path(), found.prefix) == ("uv tool update-shell", sys.prefix)


def test_what_pipx_installed_is_extended_by_it(tmp_path):
    (tmp_path / "pipx_metadata.json").write_text('{"main_package": {"package": "mine"}}')
    found = read_installation(str(tmp_path))
    assert (found.add("llm-x"), found.remove("llm-x")) == ("pipx inject mine llm-x", "pipx uninject mine llm-x")
    assert (found.mend(), found.to_path()) == ("pipx reinstall mine", "pipx ensurepath")


@pytest.mark.parametrize("record", ["", "tool = 1", "[tool]\nrequirements = []", "[tool]\nrequirements = [{}]"])
def test_a_record_that_is_malformed_is_none(tmp_path, monkeypatch, record):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    (tmp_path / "uv-receipt.toml").write_text(record)
    (tmp_path / "pipx_metadata.json").write_text("{}")
    found = read_installation(str(tmp_path))
    assert found.add("llm-x") == f"{PIP} install llm-x"
    assert found.mend() == f"{PIP} install --force-reinstall pflow-shell"
    assert found.to_path() == f'export PATH={tmp_path}/venv/bin:"$PATH" in your profile'


def test_without_pip_uv_extends_the_environment_of_this_python(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    found = read_installation(str(tmp_path))
    assert found.add("llm-x") == f"uv pip install --python {sys.executable} llm-x"


def test_a_library_that_is_missing_is_named_with_its_extra():
    with pytest.raises(PflowError) as caught, needs("cannot read 'a.xlsx'", "openpyxl", "tables"):
        raise ImportError
    assert (caught.value.exit, caught.value.message) == (78, "cannot read 'a.xlsx': openpyxl is not installed")
    assert "pflow-shell[tables]" in caught.value.hint
