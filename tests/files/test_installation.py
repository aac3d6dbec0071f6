"""The commands that extend an installation, of each tool that makes one."""

import os
import site
import sys

import pytest

import pflow.files.installation as module
from pflow.files.installation import read_installation

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
