"""What a user still has to do is said, and only what is true of this prefix."""

import pytest

from pflow.setup import advice
from pflow.setup.advice import advise
from pflow.setup.places import find_places


@pytest.fixture(autouse=True)
def all_shells(monkeypatch):
    monkeypatch.setattr(advice.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(advice.os.path, "isfile", lambda path: "bash_completion" in path)


def advised(prefix, **environment):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return {program: found and found[1] for program, found in advise(find_places(prefix))}


def test_where_a_users_own_things_are_only_zsh_needs_a_line(own_home):
    folder = f"{own_home}/.local/share/zsh/site-functions"
    assert advised(None, PATH=f"{own_home}/.local/bin") == {
        "man": None,
        "bash": None,
        "zsh": [f"fpath=({folder} $fpath)", "autoload -Uz compinit && compinit"],
        "fish": None,
    }
    (own_home / ".zshrc").write_text("autoload -Uz compinit; compinit\n")
    assert advised(None)["zsh"] == [f"fpath=({folder} $fpath)"]
    (own_home / ".zshrc").write_text(f"fpath=({folder} $fpath)\ncompinit\n")
    assert advised(None)["zsh"] is None


def test_any_other_prefix_needs_a_line_for_each(own_home):
    assert advised("/opt/my pflow", PATH="/usr/bin") == {
        "man": ["export MANPATH='/opt/my pflow/share/man:'"],
        "bash": ["""export XDG_DATA_DIRS='/opt/my pflow/share':"${XDG_DATA_DIRS:-/usr/local/share:/usr/share}\""""],
        "zsh": ["fpath=('/opt/my pflow/share/zsh/site-functions' $fpath)", "autoload -Uz compinit && compinit"],
        "fish": ["set -p fish_complete_path '/opt/my pflow/share/fish/vendor_completions.d'"],
    }


def test_a_prefix_with_odd_signs_is_quoted_for_each_shell():
    found = advised("/p\n'q:", PATH="/bin")
    assert found["zsh"][0] == """fpath=('/p\n'"'"'q:/share/zsh/site-functions' $fpath)"""
    assert found["fish"] == ["set -p fish_complete_path '/p\n\\'q:/share/fish/vendor_completions.d'"]
    assert found["bash"] == [
        """for each in '/p\n'"'"'q:/share/bash-completion/completions'/pflow*; do . "$each"; done"""
    ]


def test_what_the_environment_says_already_is_not_said_again():
    found = advised("/p", PATH="/p/bin:/bin", XDG_DATA_DIRS="/p/share/:/usr/share", FPATH="/p/share/zsh/site-functions")
    assert found == {"man": None, "bash": None, "zsh": None, "fish": None}
    assert advised("/p", PATH="/p/bin", MANPATH="/other")["man"] == ["export MANPATH=/p/share/man:/other"]
    assert advised("/p", PATH="/p/bin", MANPATH="/other:")["man"] is None
    assert advised("/p", MANPATH="/p/share/man:")["man"] is None


def test_the_systems_own_prefix_needs_nothing():
    found = advised("/usr/local", PATH="/usr/local/bin:/bin")
    assert found["man"] is found["bash"] is found["zsh"] is None
