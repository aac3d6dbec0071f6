"""The names in a file's text: what a reader should know of, found in any text, and in time."""

import pytest

from pflow.packs.names import names_of
from tests.tools import limited

SHELL, PYTHON, OTHER = {"is_shell": True}, {"is_python": True}, {"is_shell": False}

TEXTS = [
    (SHELL, "curl -s https://api.x.org:8443/a | tr a b", "curl tr", "", "api.x.org:8443"),
    (SHELL, 'out=$(git -C "$1" log); FOO=1 /usr/bin/make "$out" &', "git /usr/bin/make", "", ""),
    (SHELL, "if ! jq . <in >out 2>/dev/null; then exec perl -e 1; fi", "jq perl", "", ""),
    (SHELL, "case $1 in a|b) rm x ;; *) : ;; esac; for f in x y; do cat $f; done", "rm cat", "", ""),
    (SHELL, "# don't run $SECRET\ncat <<END | sort\nnot a command\nEND\nuname", "cat sort uname", "", ""),
    (SHELL, "greet() { date; }\ngreet 'a; b'\necho \"`hostname` $(id -u)\"", "date hostname id", "", ""),
    (SHELL, "TOKEN=x; echo $TOKEN ${API_KEY-} $HOME $PFLOW_NODE $PWD; for A in 1; do echo $A; done", "", "API_KEY", ""),
    (SHELL, 'at="$(dirname "$(readlink -f "$0")")"; awk \'{ print }; next\'', "dirname readlink awk", "", ""),
    (SHELL, '[ "${PFLOW_NODE-}" = x ] || exec pflow "$0" "$@"\nunset PFLOW_NODE\n$((1 + n))', "", "", ""),
    (PYTHON, 'os.environ["A"]; os.environ.get("B"); getenv("C"); os.environ["HOME"]', "", "A B C", ""),
    (PYTHON, 'subprocess.run(["git", x]); os.system("ls | wc"); which("gh"); run(x); os.execvp("sh", [])',
     "git ls wc gh sh", "", ""),
    (PYTHON, 'f"https://API.y.org/{x}"; "ftp://u:p@h.z:21/"; "a://"', "", "", "api.y.org h.z:21"),
    (PYTHON, 'class X(: os.environ["A"]', "", "A", ""),
    (OTHER, 'fetch("https://x.org"); process.env.A; process.env["B"]; ENV["C"]; $ENV{D}; git', "", "A B C D", "x.org"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "commands", "env", "hosts"), TEXTS)
def test_a_text_names_its_commands_variables_and_hosts(language, text, commands, env, hosts):
    names = names_of(text, **language)
    found = [" ".join(sorted(names[each])) for each in ("commands", "env", "hosts")]
    assert found == [" ".join(sorted(each.split())) for each in (commands, env, hosts)]


def test_no_text_takes_long():
    parts = ("<<a\n", '"\\', '"', "'", "${", "$((", "a=(", "\n", " ", "A ", "x://a@", "env", "case x in ", '"$(',
             "for A in ", "=(", "a |", "A=if ", "if A=", "case x in a|")  # fmt: skip
    for part in parts:
        with limited():
            names_of(part * (100_000 // len(part)))
