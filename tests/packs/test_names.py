"""The names in a file's text: what a reader should know of, found in any text, and in time."""

import pytest

from pflow.packs.names import names_of
from tests.tools import limited

SHELL = [
    ("curl -s https://api.x.org:8443/a | tr a b", "curl tr", "", "api.x.org:8443"),
    ('out=$(git -C "$1" log); FOO=1 /usr/bin/make "$out" &', "git /usr/bin/make", "", ""),
    ("if ! jq . <in >out 2>/dev/null; then exec perl -e 1; fi", "jq perl", "", ""),
    ("case $1 in a|b) rm x ;; *) : ;; esac; for f in x y; do cat $f; done", "rm cat", "", ""),
    ("# don't run $SECRET\ncat <<END | sort\nnot a command\nEND\nuname", "cat sort uname", "", ""),
    ("greet() { date; }\ngreet 'a; b'\necho \"`hostname` $(id -u)\"", "date hostname id", "", ""),
    ("TOKEN=x; echo $TOKEN ${API_KEY-} $HOME $PFLOW_NODE $PWD; for A in 1; do echo $A; done", "", "API_KEY", ""),
    ('at="$(dirname "$(readlink -f "$0")")"; awk \'{ print }; next\'', "dirname readlink awk", "", ""),
    ('[ "${PFLOW_NODE-}" = x ] || exec pflow "$0" "$@"\nunset PFLOW_NODE\n$((1 + n))', "", "", ""),
]
PYTHON = [
    ('os.environ["A"]; os.environ.get("B"); getenv("C"); os.environ["HOME"]', "", "A B C", ""),
    ('subprocess.run(["git", x]); os.system("ls | wc"); shutil.which("gh"); run(x); os.execvp("sh", [])',
     "git ls wc gh sh", "", ""),
    ('"""See http://docs.org/x."""\nf"https://API.y.org/{x}"; "ftp://u:p@h.z:21/"; "a://"', "", "",
     "docs.org api.y.org h.z:21"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "commands", "env", "hosts", "is_python"),
    [*((*row, False) for row in SHELL), *((*row, True) for row in PYTHON)],
)
def test_a_text_names_its_commands_variables_and_hosts(text, commands, env, hosts, is_python):
    names = names_of(text, is_python=is_python)
    assert [names[each] for each in ("commands", "env", "hosts")] == [
        {*each.split()} for each in (commands, env, hosts)
    ]


def test_other_languages_name_variables_and_hosts_but_no_commands():
    text = 'fetch("https://x.org"); process.env.A; process.env["B"]; ENV["C"]; $ENV{D}; git'
    assert names_of(text, is_shell=False) == {"env": {*"ABCD"}, "hosts": {"x.org"}, "commands": set()}


@pytest.mark.parametrize(
    "part",
    [
        "<<a\n",
        '"\\',
        '"',
        "'",
        "${",
        "$((",
        "a=(",
        "\n",
        " ",
        "A ",
        "x://a@",
        "env",
        "case x in ",
        '"$(',
        "for A in ",
        "=(",
        "a |",
        "A=if ",
        "if A=",
        "case x in a|",
    ],
)
def test_no_text_takes_long(part):
    with limited():
        names_of(part * (100_000 // len(part)))
