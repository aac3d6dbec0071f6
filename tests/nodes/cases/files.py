"""The cases of copy-file, move-file and delete-file."""

from tests.nodes.cases.case import Case

PATHS = ["--path={here}/a.txt", "--destination={here}/b.txt"]
FILES = {"a.txt": "new", "b.txt": "old"}
MOVED = {"a.txt": None, "b.txt": "new"}

CASES = [
    Case("copy-file", PATHS, files=FILES, left={"a.txt": "new", "b.txt": "new"}, words=["--destination=b.txt"]),
    Case("copy-file", [*PATHS, "--no-overwrite"], files=FILES, left=FILES, exit=73),
    Case("move-file", PATHS, files=FILES, left=MOVED, once=True, words=["--destination=b.txt"]),
    Case("move-file", [*PATHS, "--missing-ok"], files={"b.txt": "old"}, left={"b.txt": "old"}),
    Case("delete-file", PATHS[:1], files=FILES, left={"a.txt": None, "b.txt": "old"}, once=True, words=[]),
    Case("delete-file", PATHS[:1], exit=66),
]
