"""Settings and variables of git that change what it prints or does for people: no git node heeds them."""

from __future__ import annotations

import shutil

import pytest

from pflow.errors import PflowError
from pflow.nodes.git_checkout import GitCheckout
from pflow.nodes.git_commit import GitCommit
from pflow.nodes.git_diff import GitDiff
from pflow.nodes.git_log import GitLog
from pflow.nodes.git_push import GitPush
from pflow.nodes.git_status import GitStatus
from pflow.nodes.git_tag import GitTag
from tests.nodes.git import act, commit
from tests.peers.repository import IDENTITY, WHEN, add_remote, git, make_repository, write

TEXT = "a\n\nb\nc\nd\n\ne\nf\n\ng\nh\ni\nj\n\nk\nl\nm\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A repository with a submodule, a replaced commit, a remote, and every kind of change."""
    repo = make_repository(tmp_path_factory.mktemp("git") / "repo", a=TEXT, b=TEXT, ü=TEXT, old=TEXT + "old\n", s="")
    (repo / "sub").mkdir()
    write(repo / "sub", c=TEXT, ignored="")
    (repo / ".gitattributes").write_text("*.txt diff=x\n")
    (repo / ".gitignore").write_text("ignored.txt")
    commit(repo)
    git(repo, "replace", "--graft", "HEAD")
    git(repo, "mv", "old.txt", "moved.txt")
    make_repository(repo / "inner", a="a\n")
    git(repo, "config", "submodule.inner.url", "./inner")
    (repo / ".gitmodules").write_text('[submodule "inner"]\npath = inner\nurl = ./inner\n')
    git(repo, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--quiet", "--message=Größe")
    commit(repo)
    add_remote(repo)
    git(repo, "push", "--quiet", "origin", "main:far", "main:ahead")
    git(repo, "branch", "ahead", "main~1")
    git(repo, "branch", "topic", "origin/main")
    git(repo, "tag", "--annotate", "--message=x", "v0")
    git(repo, "mv", "b.txt", "sub/b.txt")
    write(repo, a=TEXT.replace("a", "A").replace("l", "L"), ü=TEXT.replace("e", "E"), s="staged\n", new="", ita="ita\n")
    git(repo, "add", "s.txt")
    git(repo, "add", "--intent-to-add", "ita.txt")
    write(repo / "inner", a="b\n")
    commit(repo / "inner")
    write(repo / "inner", a="c\n", new="")
    return repo


SCISSORS = f"one\n\n# one\nother\n# {'-' * 24} >8 {'-' * 24}\nthird\n"
ONCE = {"message": SCISSORS, "paths": ["../s.txt"], "key": "a" * 64}
ACTS = [
    (GitStatus, {}),
    (GitDiff, {}, {"params": {"staged": True}}, {"paths": ["b.txt", "../a.txt"]},
     {"revision": "HEAD~1", "params": {"stat": True}}),
    (GitLog, {}, {"paths": ["../moved.txt"], "params": {"since": "2001-01-01", "max": 3}}),
    (GitTag, {"name": "v1"}, {"name": "v2", "message": SCISSORS}, {"name": "v0", "at": "HEAD~1"}),
    (GitCommit, ONCE, ONCE, {"message": "2"}, {"message": "3"}, {"message": "4", "paths": ["ignored.txt"]},
     {"message": "5"}, {"message": "6", "all": True}),
    (GitPush, {}, {"branch": "ahead", "remote": "origin"}, {"branch": "v2"}, {"branch": "topic"},
     {"branch": "topic", "to": "refs/for/main"}, {"branch": "topic", "set_upstream": True}),
    (GitCheckout, {"branch": "far"}, {"branch": "mine", "create": True}, {"branch": "none"}),
    (GitStatus, {}),
]  # fmt: skip
GROUPS = [
    """diff.relative=true diff.noprefix=true diff.context=0 diff.renames=false diff.ignoreSubmodules=all
    diff.external=false diff.algorithm=patience diff.colorMoved=zebra core.abbrev=40 core.pager=false
    color.ui=always log.follow=true log.date=raw format.pretty=raw i18n.logOutputEncoding=ISO-8859-1
    status.showUntrackedFiles=no commit.cleanup=strip push.default=nothing push.followTags=true checkout.guess=false
    branch.autoSetupMerge=false remote.origin.push=HEAD:main submodule.recurse=true""",
    """diff.mnemonicPrefix=true diff.interHunkContext=20 diff.orderFile=~/order.txt diff.submodule=log
    diff.suppressBlankEmpty=true diff.autoRefreshIndex=false diff.wsErrorHighlight=all diff.x.textconv=false
    diff.x.command=false submodule.inner.ignore=all core.useReplaceRefs=false core.commentChar=o log.showRoot=false
    log.decorate=full log.showSignature=true column.ui=always status.renames=false status.short=true
    status.relativePaths=true push.recurseSubmodules=only branch.autoSetupMerge=always
    push.default=upstream remote.origin.push=refs/heads/*:refs/for/*""",
    """diff.renames=copies diff.renameLimit=1 diff.indentHeuristic=false status.renames=copies commit.status=false
    core.editor=false core.logAllRefUpdates=false core.quotePath=false core.bigFileThreshold=1 push.default=matching
    i18n.commitEncoding=ISO-8859-1 branch.autoSetupMerge=inherit commit.verbose=true remote.origin.mirror=true""",
    "push.default=current push.autoSetupRemote=true remote.pushDefault=origin color.advice=always",
    """GIT_DIFF_OPTS=--unified=0 GIT_EXTERNAL_DIFF=false GIT_LITERAL_PATHSPECS=1 GIT_NO_REPLACE_OBJECTS=1 GIT_TRACE=1
    COLUMNS=9 GIT_PAGER=false GIT_PAGER_IN_USE=1 GIT_CONFIG=/dev/null GIT_EDITOR=false LANGUAGE=de TZ=IST-5:30
    GIT_OPTIONAL_LOCKS=0 GIT_CONFIG_KEY_0=diff.context GIT_CONFIG_VALUE_0=0 GIT_CONFIG_COUNT=1
    GIT_REFLOG_ACTION=x LC_ALL=C.UTF-8""",
    """GIT_ICASE_PATHSPECS=1 GIT_REPLACE_REF_BASE=refs/x/ GIT_TRACE2=2 GIT_ADVICE=0 LANGUAGE=fr:de
    GIT_ATTR_SOURCE=HEAD~1 GIT_GRAFT_FILE=/dev/null LC_ALL=C""",
    """GIT_GLOB_PATHSPECS=1 GIT_TRACE2_EVENT=1 GIT_CURL_VERBOSE=1 EDITOR=false PAGER=false""",
]
"""Settings and variables, each of which could change something; those of a group do not hide each other."""


@pytest.fixture
def say(template, tmp_path, monkeypatch, capfd):
    """Return what every node says and leaves in a copy of the repository, with these settings and variables."""
    repo, remote = tmp_path / "git" / "repo", tmp_path / "git" / "repo-origin.git"
    write(tmp_path, order="ü.txt\nsub/*\n")
    own = {**IDENTITY, "HOME": str(tmp_path), "GIT_AUTHOR_DATE": WHEN, "GIT_COMMITTER_DATE": WHEN}

    def told(node, given):
        try:
            return node, given, act(node, repo / "sub", **given)
        except PflowError as error:
            return node, given, error.exit, error.message

    def say_all(words):
        shutil.rmtree(repo.parent, ignore_errors=True)
        shutil.copytree(template.parent, repo.parent, symlinks=True)
        git(repo, "remote", "set-url", "origin", str(remote))
        settings = " ".join(f"'{word}'" for word in words if word[0].islower())
        variables = dict(word.split("=", 1) for word in words if word[0].isupper())
        with monkeypatch.context() as patch:
            for name, value in {**own, "GIT_CONFIG_PARAMETERS": settings, **variables}.items():
                patch.setenv(name, value)
            said = [told(node, given) for node, *runs in ACTS for given in runs]
        refs = [git(each, "for-each-ref", "--format=%(refname) %(objectname) %(upstream)") for each in (repo, remote)]
        return [*said, *refs, git(repo, "ls-files", "--stage"), "untracked" in capfd.readouterr().err]

    return say_all


def test_no_setting_or_variable_changes_what_a_node_says_or_does(say):
    wanted = say([])
    wrong = [group.split() for group in GROUPS if say(group.split()) != wanted]
    assert not wrong, [word for group in wrong for word in group if say([word]) != wanted]
