"""Installing packs: shown and agreed to first, then whole or not at all, whatever happens meanwhile."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from pflow.errors import PflowError
from pflow.packs.address import parse_address
from pflow.packs.install import commit, stage, stage_new, staging, uninstall
from pflow.packs.source import fetch
from pflow.values.digest import bytes_digest
from tests.peers.repository import add_remote, git, make_repository
from tests.peers.warm import Warm
from tests.tools import node_source


def node(name, act="pass", effects="none"):
    return node_source(name, f"{act}\nreturn text.upper()", effects=effects, head="from pathlib import Path")


class Home:
    """A user's home below a directory, and the pflow of that user, who sits at no terminal."""

    def __init__(self, folder: Path, warm: Warm) -> None:
        self.folder, self.home, self.warm = folder, folder / "home", warm
        self.home.mkdir(exist_ok=True)
        bin = f"{self.home}/.local/bin"
        usual = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PFLOW_"))}
        self.environment = usual | {"HOME": str(self.home), "PATH": f"{bin}:{os.environ['PATH']}"}

    def run(self, *words, before=(), program="pflow", **options):
        argv = [*before, program, *map(str, words)]
        if argv[0] == "pflow":
            return self.warm.run(argv, cwd=self.folder, env=self.environment, **options)
        given = {"env": self.environment, "cwd": self.folder, "capture_output": True, "text": True, "input": ""}
        return subprocess.run(argv, timeout=60, check=False, **given | options)

    def ok(self, *words, code=0, **options):
        ran = self.run(*words, **options)
        assert ran.returncode == code, ran.stderr
        return ran.stdout

    def answer(self, text, *words):
        return self.run(*words, typed=text).stdout

    @property
    def data(self):
        return self.home / ".local/share/pflow"

    @property
    def packs(self):
        lock = self.data / "packs.lock.json"
        return json.loads(lock.read_text())["packs"] if lock.exists() else {}

    def left(self):
        """The paths in this home, without pflow's cache and the directories that other programs share."""
        usual = {self.home / each for each in (".cache", ".local", ".local/bin", ".local/share")}
        return {each for each in self.home.rglob("*") if each not in usual and ".cache" not in each.parts}


@pytest.fixture
def home(tmp_path, warm):
    return Home(tmp_path, warm)


def write(folder, **nodes):
    """Make a directory a pack of these nodes."""
    shutil.rmtree(folder / "nodes", ignore_errors=True)
    (folder / "nodes").mkdir(parents=True)
    for name, text in nodes.items():
        (folder / "nodes" / f"{name}.py").write_text(text)


NETS = node("Up", effects="network")
VERSIONS = {"v1": {"up": node("Up"), "gone": node("Gone")}, "v2": {"up": NETS, "new": node("New")}}


@pytest.fixture
def source(tmp_path):
    """A bare repository with a pack in two versions: v2 has the network, and `new` in the place of `gone`."""
    folder = tmp_path / "words"
    write(folder, **VERSIONS["v1"])
    git(make_repository(folder), "tag", "v1")
    bare = add_remote(folder)
    write(folder, **VERSIONS["v2"])
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "2")
    git(folder, "tag", "v2")
    git(folder, "push", "--quiet", "origin", "main", "v1", "v2")
    return bare.rename(tmp_path / "words.git")


def state_of(home):
    """The version that is installed, with all its files; None for none."""
    if not home.packs:
        return None
    pack = home.packs["words"]
    for path, about in pack["files"].items():
        data = (home.data / "packs/words" / pack["tree"][:12] / path).read_bytes()
        assert bytes_digest(data) == about["digest"]
    return next(
        version for version, nodes in VERSIONS.items() if {*nodes} == {Path(each).stem for each in pack["files"]}
    )


def test_a_pack_is_installed_used_updated_and_removed_without_a_trace(home, source):
    shown = home.ok("install", f"{source}@v1", "--yes")
    assert shown.endswith("pflow gone\npflow up\n")
    assert state_of(home) == "v1"
    assert home.ok("-r", program=f"{home.home}/.local/bin/pflow-up", input="a") == "A\n"
    assert [each["name"] for each in json.loads(home.ok("nodes", "--json"))].count("up") == 1
    assert home.run("install", f"{source}@v1").returncode == 0
    assert "it follows 'v1'; pflow update words@TAG takes another" in home.run("update", "words").stderr
    for words in ((), ("--yes",)):
        ran = home.run("update", "words@v2", *words)
        assert (ran.returncode, "+ network; a person has to agree, at a terminal" in ran.stderr) == (77, True)
    shown = home.answer("y\n", "update", "words@v2")
    assert ("words: v1 (" in shown, ") to v2 (" in shown) == (True, True)
    assert {each.name for each in (home.home / ".local/bin").iterdir()} == {"pflow-up", "pflow-new"}
    assert state_of(home) == "v2"
    home.ok("update", "words@v1", "--yes")
    assert state_of(home) == "v1"
    home.ok("save", "mine", "up", "--description=Mine")
    assert home.run("uninstall", "words", "other").returncode == 127
    assert "the saved flow 'mine' uses up" in home.run("uninstall", "words").stderr
    home.ok("remove", "mine")
    assert not [each for each in home.left() if "flows" not in each.parts and each != home.data]


REFUSED = {
    "without an answer": (("{source}@v1",), 2, "--yes"),
    "effects beyond --allow": (("{source}@v2", "--yes", "--allow=files"), 77, "up: network; --yes --allow=network"),
    "an unknown effect": (("{source}", "--yes", "--allow=net"), 2, "network, files, commands, anything"),
    "effects without an answer": (("{source}@v2",), 77, "--yes --allow=network allows it"),
    "a lock file without packs": (("--lock",), 66, "no pack is installed"),
    "no tag": (("{source}@v3", "--yes"), 66, "v3"),
    "a bad name": (("{source}", "--name=a/b"), 65, "--name=NAME"),
    "no pack": (("{home}",), 65, "neither nodes/ nor flows/"),
    "no such pack": (("nowhere",), 66, "nowhere"),
    "nothing": ((), 2, "without an address"),
    "two things": (("{source}", "--frozen"), 2, "--frozen"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_nothing_is_there_after_a_refusal(home, source, what):
    words, code, said = REFUSED[what]
    ran = home.run("install", *(word.format(source=source, home=home.home) for word in words))
    assert (ran.returncode, said in ran.stderr) == (code, True), ran.stderr
    assert home.left() == set()


def test_a_pack_is_shown_without_being_there(home, source):
    document = json.loads(home.ok("install", f"{source}@v2", "--dry-run", "--json"))
    assert [(each["name"], each["effects"]) for each in document["nodes"]] == [("new", []), ("up", ["network"])]
    assert (document["installed"], document["version"]) == (False, "v2")
    home.answer("n\n", "install", f"{source}@v2")
    assert home.left() == set()
    assert "network" in home.answer("y\n", "install", f"{source}@v2")
    assert state_of(home) == "v2"


def test_a_node_without_an_interface_is_held_to_nothing_and_anything_is_allowed_by_name(home):
    bare, free = home.folder / "pflow-bare", home.folder / "pflow-free"
    bare.write_text("#!/bin/sh\ncat\n")
    free.write_text("#!/bin/sh\n# Free.\n#\n# Interface:\n# - Effects: anything\ncat\n")
    for each in (bare, free):
        each.chmod(0o755)
    assert "none (it declares no interface)" in home.ok("install", bare, "--yes")
    home.ok("install", free, "--yes", "--allow=network,files,commands", code=77)
    home.ok("install", free, "--yes", "--allow=anything")
    assert {*home.packs} == {"bare", "free"}
    assert home.ok("--json", program=f"{home.home}/.local/bin/pflow-free", input='{"$pflow": {"v": 1}, "a": 5}')
    (home.data / "packs.lock.json").unlink()
    assert "pflow install" in home.run(program=f"{home.home}/.local/bin/pflow-free").stderr


def test_another_pack_or_version_of_the_name_is_in_the_way(home, source):
    home.ok("install", f"{source}@v1", "--yes")
    write(home.folder / "other/words", up=node("Up"))
    assert "pflow update words@v2" in home.run("install", f"{source}@v2", "--yes").stderr
    git(source, "branch", "old", "v1")
    assert "pflow update words follows 'old' now" in home.run("install", f"{source}@old", "--yes").stderr
    assert home.packs["words"]["asked"] == "old"
    ran = home.run("install", "other/words", "--yes")
    assert (ran.returncode, "--name=NAME" in ran.stderr) == (73, True)
    assert state_of(home) == "v1"


def test_a_name_belongs_to_the_pack_that_had_it_first(home, source):
    home.ok("install", f"{source}@v1", "--yes")
    write(home.folder / "an", up_node=node("Up"), an=node("An"))
    free = "pflow uninstall words, then install again"
    for words in ((), ("--force", "--lock")):
        ran = home.run("install", "an", "--yes", *words)
        assert (ran.returncode, list(home.packs["an"]["files"])) == (1, ["nodes/an.py"])
        assert f"up-node is left out: the pack 'words' has a node of this name; {free}" in ran.stderr
    (home.data / "packs.lock.json").write_text('{"pflow_packs": 2}')
    for words in (("list", "--packs"), ("install", "an", "--yes"), ("update",)):
        ran = home.run(*words)
        assert (ran.returncode, "version 2, but this pflow reads version 1" in ran.stderr) == (78, True)
    (home.data / "packs.lock.json").unlink()
    write(home.folder / "an", up=node("Up"), an=node("An"))
    assert home.run("install", "an", "--yes").stderr.count("warning") == 0  # the command of words' up is stale
    assert "'an'" in (home.home / ".local/bin/pflow-up").read_text()
    home.ok("install", "an", "--yes", "--lock")
    home.ok("uninstall", "an")
    home.ok("install", f"{source}@v1", "--yes")
    before = home.left()
    ran = home.run("install", "--frozen", "--yes", "--force")
    assert (ran.returncode, free in ran.stderr, home.left()) == (73, True, before)
    assert "no longer: an" in home.run("install", "--lock").stderr


def test_a_node_that_breaks_its_word_stays_out_unless_forced(home):
    broken = {
        "no_class": "x = 1\n",
        "bad_type": node("Bad").replace('text"]: str', 'text"]: strg'),
        "syntax": "class X(",
    }
    write(home.folder / "lies", up=node("Up"), lie=node("Lie", "Path('evil').write_text('x')"), **broken)
    (home.folder / "lies/nodes/pflow-lacks").write_text("#!/no/such\n# Lack.\n#\n# Interface:\n# - Repeats: yes\n")
    (home.folder / "lies/nodes/pflow-lacks").chmod(0o755)
    (home.folder / "lies/flows").mkdir()
    (home.folder / "lies/flows/bad.pflow.json").write_text('{"nodes": [{"type": "no-such"}]}')
    (home.folder / "lies/flows/both.pflow.json").write_text('{"nodes": [{"type": "up"}, {"type": "Lie"}]}')
    ran = home.run("install", "lies", "--yes", "--allow=anything")
    assert (ran.returncode, ran.stdout.splitlines()[-2:]) == (1, ["pflow run flow:bad", "pflow run flow:both"])
    assert "lie does not do as it says: effects: it changed evil; it is left out" in ran.stderr
    for name, why in (("no-class", "it has no class"), ("bad-type", "strg"), ("syntax", "SyntaxError")):
        assert [line for line in ran.stderr.splitlines() if name in line and why in line and "left out" in line]
    assert "lacks cannot be used: its interpreter '/no/such' is missing\n" in ran.stderr
    assert "flow:both needs lie, which is left out" in ran.stderr
    assert "flow:bad cannot run: nodes[0].type: PF11: there is no node 'no-such'" in ran.stderr
    whole = ["flows/bad.pflow.json", "flows/both.pflow.json", "nodes/pflow-lacks", "nodes/up.py"]
    assert list(home.packs["lies"]["files"]) == whole
    home.ok("update", "lies")
    assert "pflow save both flow:both makes your own" in home.run("lock", "flow:both").stderr
    home.ok("install", "lies", "--yes", "--allow=anything", "--force")
    forced = {*whole, "nodes/lie.py", *(f"nodes/{name}.py" for name in broken)}
    assert {*home.packs["lies"]["files"]} == forced


def test_a_changed_file_is_brought_back_without_the_network_or_kept(home, source):
    home.ok("install", f"{source}@v1", "--yes")
    shutil.rmtree(source)
    shutil.rmtree(home.data / "packs/words")
    home.ok("update", "words")
    for accepts in (False, True):
        file = next(home.data.rglob("up.py"))
        file.write_text(file.read_text().replace("upper", "lower"))
        assert "has changed since it was installed" in home.ok("nodes")
        if accepts:
            assert "Keep the changed files of words?" in home.answer("n\n", "update", "words", "--accept-changes")
            assert "+        return text.lower()" in home.ok("update", "words", "--accept-changes", "--yes")
        else:
            home.ok("update", "words")
        assert home.ok("up", "--text=aB", "-r") == ("ab\n" if accepts else "AB\n")
        assert "has changed" not in home.ok("nodes")


def test_a_project_pins_its_packs_to_the_byte(home, source):
    write(home.folder / "own", down=node("Down"))
    home.ok("install", f"{source}@v1", "--yes", "--lock")
    home.ok("install", "own", "--yes", "--lock")
    lock = home.folder / "pflow-packs.lock"
    before = lock.read_text()
    assert list(json.loads(before)["packs"]) == ["own", "words"]
    assert json.loads(before)["packs"]["own"]["address"] == "./own"
    home.ok("install", "--lock")
    assert lock.read_text() == before
    home.ok("uninstall", "own", "words")
    lock.write_text("{")
    assert "pflow install --lock" in home.run("install", "own", "--yes", "--lock").stderr
    assert home.left() == set()
    git(source, "tag", "--force", "v1", "v2")
    for member, value in (("digest", "0"), ("tree", "0"), ("commit", "../../../../")):
        wrong = before.replace(f'"{member}": "', f'"{member}": "{value}', 1)
        lock.write_text(wrong)
        home.ok("install", "--frozen", "--yes", code=78)
        assert home.left() == set()
    lock.write_text(before)
    home.ok("install", "--frozen", "--yes")
    home.ok("install", "--frozen")
    assert home.packs["words"]["tree"] == json.loads(before)["packs"]["words"]["tree"]
    home.ok("uninstall", "own")
    write(home.folder / "own", down=node("Up"))
    home.ok("install", "--frozen", "--yes", code=78)
    home.ok("uninstall", "words")
    shutil.rmtree(home.home / ".cache")
    git(source, "tag", "--delete", "v1")
    git(source, "update-ref", "refs/heads/main", git(source, "commit-tree", "-m", "x", "main^{tree}"))
    git(source, "tag", "--delete", "v2")
    git(source, "reflog", "expire", "--expire=now", "--all")
    git(source, "gc", "--quiet", "--prune=now")
    own = json.loads(before)
    del own["packs"]["own"]
    lock.write_text(json.dumps(own))
    ran = home.run("install", "--frozen", "--yes")
    assert (ran.returncode, "is no longer at" in ran.stderr) == (78, True), ran.stderr


WRITES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.chmod", "os.truncate")


def forked(act, *, killed_at=0):
    """Do it in a process of its own, which is killed just before so many of its writes; return its exit code."""
    if (pid := os.fork()) == 0:
        left = killed_at

        def hook(event, about):
            nonlocal left
            if event in WRITES or (event == "open" and about[2] & (os.O_WRONLY | os.O_RDWR)):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        with suppress(BaseException):
            act()
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def installs():
    with staging("install") as folder:
        commit([stage_new("words", "", folder)], "install")


def updates():
    with staging("update") as folder:
        commit([stage("words", fetch(parse_address("words")), folder)], "update")


def uninstalls():
    with suppress(PflowError):  # it is uninstalled already
        uninstall(["words"])


CHANGES = {"install": (None, "v1", installs), "update": ("v2", "v1", updates), "uninstall": ("v1", None, uninstalls)}


@pytest.mark.parametrize("what", CHANGES)
def test_kill_9_at_a_write_leaves_the_old_or_the_new_and_a_second_try_is_whole(home, what, monkeypatch):
    monkeypatch.chdir(home.folder)
    for name in [each for each in os.environ if each.startswith(("XDG_", "PFLOW_"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "PATH"):
        monkeypatch.setenv(name, home.environment[name])
    (before, after, act), source, kept = CHANGES[what], home.folder / "words", home.folder / "kept"
    if before:
        write(source, **VERSIONS[before])
        assert forked(installs) == 0
    if after:
        write(source, **VERSIONS[after])
    shutil.copytree(home.home, kept)
    assert forked(act) == 0
    whole, code, at, chance = home.left(), -9, 0, Random(what)
    while code == -9:
        at += chance.randint(1, 4)
        shutil.rmtree(home.home)
        shutil.copytree(kept, home.home)
        code = forked(act, killed_at=at)
        assert state_of(home) in (before, after)
        assert forked(act) == 0
        assert (state_of(home), home.left()) == (after, whole)
    assert (code, at > 8) == (0, True)


def test_two_installs_at_once_both_end_well(home, source):
    for name in ("other", "third"):
        write(home.folder / name, **{name: node(name.title())})
    addresses = [f"{source}@v1", f"{source}@v1", "other", "third"]
    argv = [["pflow", "install", each, "--yes"] for each in addresses]
    begun = [subprocess.Popen(each, env=home.environment, cwd=home.folder, stdout=-1, stderr=-1) for each in argv]
    assert [(each.communicate(), each.returncode)[1] for each in begun] == [0, 0, 0, 0]
    assert ({*home.packs}, state_of(home)) == ({"other", "third", "words"}, "v1")
    assert not [each for each in (home.data / "packs").iterdir() if each.name[0] == "."]


def test_a_full_disk_leaves_what_was_there(home):
    source = home.folder / "words"
    write(source, **VERSIONS["v1"])
    home.ok("install", source, "--yes")
    before = home.left()
    write(source, up=node("Up") + "# it is long\n" * 9_999)
    ran = home.run("update", "--yes", before=["sh", "-c", 'ulimit -f 50; exec "$@"', "sh"])
    assert (ran.returncode, "file too large" in ran.stderr) == (73, True), ran.stderr
    assert (state_of(home), home.left()) == ("v1", before)
