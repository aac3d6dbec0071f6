"""`make check` refuses names at the top of the checkout that the layout does not know, and a long CHANGELOG."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]


@pytest.fixture
def checkout(tmp_path):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    shutil.copy(TOP / "pyproject.toml", tmp_path)
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n" * 150)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def check(checkout: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, TOP / ".ci/layout.py"], cwd=checkout, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def test_names_in_the_layout_and_ignored_ones_are_taken(checkout):
    for name in ("pflow", "build"):
        (checkout / name).mkdir()
        (checkout / name / "a").touch()
    assert check(checkout) == (0, "")


@pytest.mark.parametrize("is_added", [False, True])
def test_any_other_name_is_refused_be_it_committed_or_not(checkout, is_added):
    (checkout / "01ARZ3NDEKTSV4RRFFQ69G5FAV").mkdir()
    (checkout / "01ARZ3NDEKTSV4RRFFQ69G5FAV/log").touch()
    (checkout / "a new note").touch()
    if is_added:
        subprocess.run(["git", "add", "."], cwd=checkout, check=True)
    code, said = check(checkout)
    assert (code, [line.partition("' is not in the layout")[0] for line in said.splitlines()]) == (
        1,
        ["'01ARZ3NDEKTSV4RRFFQ69G5FAV", "'a new note"],
    )


def test_a_changelog_that_nobody_reads_is_refused(checkout):
    with (checkout / "CHANGELOG.md").open("a") as file:
        file.write("- more\n")
    assert check(checkout) == (1, "'CHANGELOG.md' has 151 lines; it may have 150\n")
