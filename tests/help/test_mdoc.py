"""Any text that a description may hold is shown by a man page as it is."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.help.man import files
from pflow.help.usage import usage_of_node
from pflow.interface.grammar import parse_interface
from tests.help.rendering import lint, manned, rendered, sections, tagged

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
    usage = usage_of_node(name, interface)
    (page,) = files([usage]).values()
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
    from pflow.help.mdoc import folded

    joined = " ".join(folded(command)).replace(" \\     ", " ")
    assert joined.replace("|     ", "| ") == command or "\\     " in command or "|     " in command


@pytest.mark.parametrize("name", ["$(touch x)", "a b", "-n", "x.y", "zoë", "'", '"', ".Sh", "Ar"])
def test_the_name_of_a_node_is_shown_as_it_is(name):
    shown = _shown(_page(name, summary="Do it."))
    assert shown["NAME"].strip() == f"pflow-{name} – do it"
    assert shown["SYNOPSIS"].strip() == f"pflow-{name} [FLAG]..."


def test_a_node_without_an_interface_has_a_page_that_says_so():
    (page,) = files([usage_of_node("mine", parse_interface("Only prose."))]).values()
    shown = _shown(page)
    assert "declares no interface" in shown["DESCRIPTION"]
    assert "EFFECTS" not in shown


def test_a_node_that_says_nothing_of_itself_has_a_name():
    shown = _shown(_page("mine"))
    assert shown["NAME"].strip() == "pflow-mine – a node of pflow"
