"""The man pages: what each has, that they say what the code has, and that mandoc finds nothing wrong with any."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.commands.help import specs
from pflow.errors import EXIT_CODES, PflowError
from pflow.flow.rules import RULES
from pflow.flow.schema import SCHEMA
from pflow.help.man import ENVIRONMENT, files
from pflow.help.spec import spec_of_node
from pflow.interface.grammar import EFFECTS, MARKS, parse_interface
from pflow.values.types import parse_type
from tests.help.rendering import TERMINAL, lint, manned, rendered, sections, tagged
from tests.help.source import plain

ROOT = Path(__file__).parent.parent.parent
WRITTEN = {path.name: path.read_text() for path in sorted(ROOT.glob("man/man[57]/*"))}
SPECS = specs()
PAGES = {**files(SPECS), **WRITTEN}
EXECUTABLES = sorted(path.name for path in (ROOT / "bin").iterdir())
ALWAYS = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]


def test_every_executable_and_every_command_has_a_page():
    commands = [each.name.replace(" ", "-") for each in SPECS if each.name.startswith("pflow ")]
    assert sorted(files(SPECS)) == sorted(f"{name}.1" for name in [*EXECUTABLES, *commands])


@pytest.fixture(scope="module", params=PAGES)
def page(request):
    """A page's name, its source, and what a terminal shows of it."""
    return request.param, PAGES[request.param], rendered(PAGES[request.param])


def test_mandoc_has_nothing_to_say_and_the_page_fits_a_terminal_of_80_columns(page):
    _, source, shown = page
    assert lint(source) == ""
    assert [line for line in shown.split("\n") if len(line) > TERMINAL] == []


def test_an_example_needs_no_tab_because_a_page_shows_spaces(page):
    assert [line for line in page[1].split("\n") if line.startswith("\t") or "\\(aq\t" in line] == []


def test_a_page_has_what_every_page_has_under_headings_as_they_are_written(page):
    name, source, shown = page
    wanted = ALWAYS if name.endswith(".1") else ["NAME", "DESCRIPTION", "EXAMPLES", "SEE ALSO"]
    assert [title for title in wanted if title not in sections(shown)] == []
    titles = [plain(title) for title in re.findall(r"^\.S[hs] (.*)$", source, re.MULTILINE)]
    assert [title for title in titles if title not in map(str.strip, shown.split("\n"))] == []


def test_a_page_names_only_pages_that_there_are(page):
    named = re.findall(r"(pflow[a-z-]*)\(([157])\)", page[2].replace("‐\n", "").lower())
    assert [f"{page}.{section}" for page, section in named if f"{page}.{section}" not in PAGES] == []


@pytest.mark.parametrize("each", [each for each in SPECS if each.is_node], ids=lambda each: each.name)
def test_a_node_s_page_has_its_groups(each):
    there = sections(rendered(PAGES[f"{each.name}.1"]))
    has_params = "- Params:" in (ROOT / "nodes" / f"{each.name[6:].replace('-', '_')}.py").read_text()
    assert {"DATA", "COMMON", "ACTIONS", "EFFECTS", "ENVIRONMENT"} <= set(there)
    assert ("PARAMS" in there) == has_params


def test_a_variable_of_a_param_stands_in_environment():
    assert "PFLOW_MODEL" in sections(rendered(PAGES["pflow-llm.1"]))["ENVIRONMENT"]
    interface = parse_interface("Do it.\n\nInterface:\n- Params: key: str [env MY_KEY] [secret]  # what opens it\n")
    (page,) = files([spec_of_node("mine", interface)]).values()
    shown = sections(rendered(page, width=200))
    assert "MY_KEY" in shown["ENVIRONMENT"]
    assert "--key" not in shown["PARAMS"]


def test_a_list_that_is_written_is_nothing_that_may_be_repeated():
    interface = parse_interface(
        'Do it.\n\nInterface:\n- Reads: shared["given"]: list = []  # what comes\n'
        '- Writes: shared["made"]: list [pipe]  # what goes\n'
    )
    (page,) = files([spec_of_node("mine", interface)]).values()
    shown = sections(rendered(page, width=200))
    assert "what comes [may be repeated, or a JSON list]" in shown["DATA"]
    assert "what goes [to the pipe]" in shown["WRITES"]


@pytest.mark.parametrize("each", SPECS, ids=lambda each: each.name)
def test_no_page_names_itself_as_another(each):
    name = each.name.replace(" ", "-")
    assert f"{name}(1)" not in re.split(r",\s+", sections(rendered(PAGES[f"{name}.1"]))["SEE ALSO"].strip())


def test_a_new_node_changes_no_page_but_its_own():
    before = files(SPECS)
    new = spec_of_node("mine", parse_interface("Do it."))
    after = files([*SPECS, new])
    assert after.keys() - before.keys() == {"pflow-mine.1"}
    assert {name: after[name] for name in before} == before


ELSEWHERE = {
    "HOME", "LC_CTYPE", "GOMP_SPINCOUNT", "PFLOW_LINE", "PFLOW_NODE", "PFLOW_FAILPOINT", "PFLOW_TESTING",
    "GIT_ALLOW_PROTOCOL",
}  # fmt: skip
"""Variables that stand in no table: of the home, Python's own doing, OpenMP, the completions, pflow-node(7), tests,
pflow-pack(5)."""


def written(name: str) -> str:
    return (ROOT / "man" / f"man{name[-1]}" / name).read_text()


def bold(source: str) -> set[str]:
    return {plain(word) for word in re.findall(r"\\fB(.*?)\\fP", source)} | {
        plain(word) for word in re.findall(r"^\.It Sy (.*)$", source, re.MULTILINE)
    }


def test_the_table_of_rules_has_every_rule_with_its_words():
    (rows,) = re.findall(r"\.It Sy .?.?PF00.*?\.El", written("pflow-flow.5"), re.DOTALL)
    shown = dict(re.findall(r"\.It Sy (PF\d\d)\n(.*?)\n(?=\.)", plain(rows), re.DOTALL))
    told = {rule.id: f"{rule.title} ({rule.otherwise})" for rule in RULES.values()}
    assert {id: " ".join(text.split()) for id, text in shown.items() if id != "PF00"} == told


def test_every_limit_of_a_plan_is_told():
    code = "".join(path.read_text() for path in (ROOT / "pflow" / "plan").rglob("*.py"))
    shown = tagged(sections(rendered(files(SPECS)["pflow-plan.1"], width=200))["LIMITS"])
    assert set(re.findall(r'"(PL\d\d)"', code)) == set(shown)


def test_every_member_of_a_flow_is_told():
    found = [SCHEMA]
    for schema in found:
        found += [each for each in schema.values() if isinstance(each, dict)]
    members = {member for schema in found if schema.get("type") == "object" for member in schema.get("properties", ())}
    assert members - bold(written("pflow-flow.5")) == set()


def test_every_exit_code_is_told():
    shown = tagged(sections(rendered(written("pflow-exit.7"), width=200))["DESCRIPTION"])
    assert {str(code) for code in EXIT_CODES} | {"128+n"} <= set(shown)


def test_every_mark_type_effect_and_line_of_an_interface_is_told():
    text = rendered(written("pflow-node.7"), width=500)
    marks = {mark.partition(" ")[0] for some in MARKS.values() for mark in some}
    assert [mark for mark in marks if f"[{mark}" not in text] == []
    with pytest.raises(ValueError, match="types are ") as types:
        parse_type("nothing")
    told = re.findall(r"[a-z]{3,}", str(types.value).partition("types are ")[2])
    assert [each for each in [*told, *EFFECTS] if each not in text] == []
    with pytest.raises(PflowError, match="begins with one of ") as lines:
        parse_interface("Interface:\n- Nothing: x")
    heads = re.findall(r"[A-Z][a-z-]+", lines.value.message.partition("begins with one of ")[2])
    assert [head for head in heads if f"- {head}:" not in text] == []
    assert (len(told) > 8, len(heads) > 4) == (True, True)


def test_every_variable_that_the_code_looks_at_stands_on_a_page():
    named = {name for names, *_ in ENVIRONMENT for name in names.split(", ")}
    code = "".join(path.read_text() for path in (ROOT / "pflow").rglob("*.py"))
    looked_at = set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', code))
    assert looked_at - named - ELSEWHERE == set()


def test_no_line_of_a_page_ends_in_a_backslash_which_joins_two_words():
    pages = [page for page in (ROOT / "man").rglob("*.*") if re.search(r"(?m)(^|[^\\])\\$", page.read_text())]
    assert pages == []


# One column wide each, from ASCII to beyond the first plane: combining characters cannot be compared by place.
CHARACTERS = st.sampled_from([*map(chr, range(0x20, 0x7F)), *"äÖßéçñø€…—–„“”«»←→·×Ωжあ木𝔸😀"])
TEXTS = st.text(CHARACTERS, max_size=120)

HOSTILE = [
    ".Sh NAME",
    "'br",
    "a line. .Pp",
    r"\fBbold\fP \e \\ \(aq \*(xx \n(.s",
    "--flag -- - -n",
    'it\'s "quoted" `so` ~ ^ $HOME $(touch x)',
    "Ends. Begins! Does it? (It does.) And… so on. e.g. This",
    "x" * 150,
    "Ns No Fl Ar , . ; : ( ) [ ] | ! ?",
    '" \\" .\\" comment',
    "%T &amp; <b> #",
    "zero … ellipsis — dash “quotes” äöü 木 😀",
]


def _squeezed(text: str) -> str:
    return "".join(text.replace("…", "...").split())


def _page(name: str, *, summary: str = "", description: str = "", doc: str = "", example: str = "") -> str:
    interface = parse_interface(
        f'Do it.\n\nInterface:\n- Reads: shared["text"]: str [pipe]  # {doc}\n- Params: how: str = null  # {doc}\n'
        f'- Writes: shared["words"]: int  # {doc}\n'
    )
    interface.summary, interface.description, interface.examples = summary, description, (example,) * bool(example)
    spec = spec_of_node(name, interface)
    (page,) = files([spec]).values()
    return page


def _shown(page: str) -> dict[str, str]:
    assert lint(page) == ""
    return sections(rendered(page, width=500))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_description_is_shown_as_it_is(text):
    page = _page("odd", summary=f"Do {text}", description=f"{text}\n\nThen {text}", doc=text, example=text)
    for shown in (_shown(page), sections(manned(page, width=500))):
        assert _squeezed(f"Do {text}{text}Then {text}") == _squeezed(shown["DESCRIPTION"])
        assert _squeezed(tagged(shown["DATA"])["--text TEXT"]) == _squeezed(f"{text}[required; from the pipe]")
        assert _squeezed(tagged(shown["WRITES"])["words"]) == _squeezed(text)
        assert _squeezed(shown["EXAMPLES"]).replace("\\", "") == _squeezed(text).replace("\\", "")


@given(TEXTS, TEXTS)
@example("\\", ".")
def test_any_text_of_a_description_is_shown_as_it_is(summary, doc):
    shown = _shown(_page("odd", summary=f"Do {summary}", doc=doc))
    assert _squeezed(shown["DESCRIPTION"]) == _squeezed(f"Do {summary}")
    assert _squeezed(shown["WRITES"]) == "words" + _squeezed(doc)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn", "Co"]), max_size=60))
def test_mandoc_has_nothing_to_say_of_any_text(text):
    assert lint(_page("odd", summary=text, description=text, doc=" ".join(text.split()), example=text)) == ""


@given(st.text(CHARACTERS, min_size=1, max_size=200))
def test_an_example_is_the_same_to_a_shell(command):
    from pflow.help.man import folded

    joined = " ".join(folded(command)).replace(" \\     ", " ")
    assert joined.replace("|     ", "| ") == command or "\\     " in command or "|     " in command


@pytest.mark.parametrize("name", ["$(touch x)", "a b", "-n", "x.y", "zoë", "'", '"', ".Sh", "Ar"])
def test_the_name_of_a_node_is_shown_as_it_is(name):
    shown = _shown(_page(name, summary="Do it."))
    assert shown["NAME"].strip() == f"pflow-{name} – do it"
    assert shown["SYNOPSIS"].strip() == f"pflow-{name} [FLAG]..."


def test_a_node_without_an_interface_has_a_page_that_says_so():
    (page,) = files([spec_of_node("mine", parse_interface("Only prose."))]).values()
    shown = _shown(page)
    assert "declares no interface" in shown["DESCRIPTION"]
    assert "EFFECTS" not in shown


def test_a_node_that_says_nothing_of_itself_has_a_name():
    shown = _shown(_page("mine"))
    assert shown["NAME"].strip() == "pflow-mine – a node of pflow"
