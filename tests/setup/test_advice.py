"""What a user still has to do is said, and only what is true of this prefix."""

import pytest

from pflow.errors import PflowError
from pflow.setup import places
from pflow.setup.places import advise, find_places


@pytest.fixture(autouse=True)
def all_shells(monkeypatch, own_home):
    (own_home / ".bashrc").write_text(". /usr/share/bash-completion/bash_completion\n")
    monkeypatch.setattr(places.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(places.os.path, "isfile", lambda path: "bash_completion" in path)


def advised(prefix, **environment):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return {program: found and found[1] for program, found in advise(find_places(prefix)).items()}


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


def test_a_bash_that_does_not_load_bash_completion_is_told_how(monkeypatch):
    monkeypatch.setattr(places, "_text", lambda file: "# . bash_completion\n" if file.endswith("/.bashrc") else "")
    assert advised(None)["bash"] == [". /usr/share/bash-completion/bash_completion"]
    assert advised("/p")["bash"] == [
        ". /usr/share/bash-completion/bash_completion",
        'export XDG_DATA_DIRS=/p/share:"${XDG_DATA_DIRS:-/usr/local/share:/usr/share}"',
    ]


def test_any_other_prefix_needs_a_line_for_each(own_home):
    assert advised("/opt/my pflow", PATH="/usr/bin") == {
        "man": ["export MANPATH='/opt/my pflow/share/man:'"],
        "bash": ["""export XDG_DATA_DIRS='/opt/my pflow/share':"${XDG_DATA_DIRS:-/usr/local/share:/usr/share}\""""],
        "zsh": ["fpath=('/opt/my pflow/share/zsh/site-functions' $fpath)", "autoload -Uz compinit && compinit"],
        "fish": ["source '/opt/my pflow/share/fish/vendor_conf.d/pflow.fish'"],
    }


def test_a_prefix_with_odd_signs_is_quoted_for_each_shell():
    found = advised("/p\n'q", PATH="/bin")
    assert found["zsh"][0] == """fpath=('/p\n'"'"'q/share/zsh/site-functions' $fpath)"""
    assert found["fish"] == ["source '/p\n\\'q/share/fish/vendor_conf.d/pflow.fish'"]


def test_what_the_environment_says_already_is_not_said_again():
    found = advised("/p", PATH="/p/bin:/bin", XDG_DATA_DIRS="/p/share/:/usr/share", FPATH="/p/share/zsh/site-functions")
    assert found == {"man": None, "bash": None, "zsh": None, "fish": None}
    assert advised("/p", PATH="/p/bin", MANPATH="/other")["man"] == ["export MANPATH=/p/share/man:/other"]
    assert advised("/p", PATH="/p/bin", MANPATH="/other:")["man"] is None
    assert advised("/p", MANPATH="/p/share/man:")["man"] is None


def test_a_place_that_a_program_does_not_look_at_is_not_said_to_be_found(own_home):
    beside = advised(None, XDG_DATA_HOME=f"{own_home}/data", PATH=f"{own_home}/bin")
    assert beside["man"] == [f"export MANPATH={own_home}/data/man:"]
    assert beside["fish"] is beside["bash"] is None
    assert advised("/p", PATH="/p/bin/:/bin")["man"] == ["export MANPATH=/p/share/man:"]
    relative = advised(None, XDG_DATA_HOME="data")
    assert relative["fish"] == [f"source '{own_home}/.local/share/fish/vendor_conf.d/pflow.fish'"]
    assert relative["bash"] == advised(None, BASH_COMPLETION_USER_DIR="/other")["bash"]
    assert f"XDG_DATA_DIRS={own_home}/.local/share:" in relative["bash"][0]


def test_a_prefix_that_cannot_be_told_to_a_program_is_refused():
    with pytest.raises(PflowError, match="cannot use '/p:q' as a prefix"):
        find_places("/p:q")


def test_the_start_up_files_are_those_that_the_shells_read():
    def files(**environment):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            found = advise(find_places("/p"))
            return [found[program][0] for program in ("zsh", "fish")]

    assert files() == ["~/.zshrc", "~/.config/fish/config.fish"]
    assert files(ZDOTDIR="/z", XDG_CONFIG_HOME="/c") == ["/z/.zshrc", "/c/fish/config.fish"]


def test_the_systems_own_prefix_needs_nothing():
    found = advised("/usr/local", PATH="/usr/local/bin:/bin")
    assert found["man"] is found["bash"] is found["zsh"] is None
