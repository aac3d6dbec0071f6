"""One grammar of flags: every program and every command answers the same questions alike, in the same words."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from pflow.catalog.find import Catalog
from pflow.catalog.registry import PACKAGE, names_in
from pflow.commands import _command, _dispatch, _run_sentence
from pflow.commands._click import ClickCommand
from pflow.commands._command import Command
from pflow.driver.arguments import RunFlags, split
from pflow.driver.driver import parse
from pflow.errors import USAGE, PflowError
from pflow.flow.flags import FlowFlags
from pflow.flow.pipe.steps import draft_step
from pflow.flow.subflow import load_usable, wire_and_check
from pflow.help.spec import metavar, spec_of_node
from pflow.interface.common import COMMON, NODE, OF_RUNS, RUN, STREAM
from pflow.interface.interface import ARGUMENT, READ, Field, spell_flag
from pflow.interface.source import read_interface
from pflow.saved_flows.saved import save_flow
from pflow.stage.flags import flags_of, unsaid, values_of
from pflow.stage.words import is_asked, take_words

FLOW = "split-text => join-text"
SAVED = "both-ways"
ANSWERED_FIRST = ("help", "version", "describe")
"""Flags that are answered whatever stands beside them."""


@pytest.fixture(autouse=True, scope="module")
def saved_flow(tmp_path_factory):
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        save_flow(SAVED, load_usable([FLOW]))
        yield


class Program(NamedTuple):
    """What is asked: its name, its flags and words, how it parses, and the words without which it does nothing."""

    name: str
    items: dict[str, Field]
    parse: Callable[[list[str]], Any]
    needed: tuple[str, ...] = ()
    is_open: bool = False
    is_flow: bool = False

    def ask(self, *words: str, bare: bool = False) -> Any:
        """Return what the words give, or the exit code, message and hint of what they are refused with.

        The needed words follow, but for a flag that is asked about.
        """
        said = [
            item.flag for item in self.flags(values=True) if item.letter and f"-{item.letter}" == "".join(words[:1])[:2]
        ]
        said += [word.partition("=")[0] for word in words[:1]]
        needed = [word for word in self.needed if word.partition("=")[0] not in said]
        try:
            return self.parse([*words, *([] if bare else needed)])
        except PflowError as error:
            return error.exit, error.message, error.hint

    def flags(self, *, bools: bool = False, values: bool = False) -> Iterator[Field]:
        """Yield each flag once: bools, or flags that need a value."""
        for item in {item.name: item for item in self.items.values()}.values():
            is_bool = item.type.name == "bool"
            is_wanted = (bools and is_bool) or (values and not is_bool)
            is_flag = item.kind != ARGUMENT and "secret" not in item.marks
            if is_flag and is_wanted and not item.word and item.name not in ANSWERED_FIRST:
                yield item


def nodes() -> Iterator[Program]:
    for name in names_in("nodes"):
        interface = read_interface(os.path.join(PACKAGE, "nodes", f"{name.replace('-', '_')}.py"))
        items = spec_of_node(name, interface).fields

        def parse_stage(words: list[str], interface: Any = interface) -> Any:
            flags = flags_of(words, interface)
            own = {key: (each.value, each.references) for key, each in {**flags.data, **flags.params}.items()}
            return own, {name: getattr(flags, name) for name in COMMON}

        yield Program(f"pflow-{name}", items, parse_stage, is_open=interface.open)
        common = {key: item for key, item in items.items() if getattr(item, "of", "") not in (RUN, NODE)}
        yield Program(f"step {name}", common, lambda words, name=name: step(name, words), is_open=interface.open)


def step(name: str, words: list[str]) -> Any:
    draft = draft_step(name, None, words, Catalog(), None)
    fields = (
        "inputs",
        "params",
        "input_mappings",
        "output_mappings",
        "retries",
        "wait",
        "timeout",
        "cache",
        "is_verbatim",
    )
    return {field: getattr(draft.step, field) for field in fields}, sorted(draft.stream)


def tools() -> Iterator[Program]:
    for name in names_in("store_commands"):
        spec = import_module(f"pflow.store_commands.{name.replace('-', '_')}").SPEC
        items = spec.fields
        yield Program(f"pflow-{name}", items, lambda words, items=items: values_of(take_words(words, items), items))


def runs() -> Iterator[Program]:
    def parse_run(words: list[str]) -> Any:
        flow, flags = split(words)
        found, inputs = parse(wire_and_check(load_usable(flow)), flags)
        return vars(found), inputs.values, inputs.params, inputs.data

    items = {name: item for name, item in OF_RUNS.items() if name in vars(RunFlags({}))}
    yield Program("pflow run", items, parse_run, (FLOW,), is_flow=True)
    of_flow = {item.name: item for item, _ in FlowFlags(wire_and_check(load_usable([FLOW]))).of_steps()}
    yield Program("saved flow", of_flow | items, lambda words: parse_run([SAVED, *words]), is_flow=True)


def commands() -> Iterator[Program]:
    named = {name: import_module(f"pflow.commands.{name.replace('-', '_')}") for name in names_in("commands")}
    for name, module in {**named, "'SENTENCE'": _run_sentence}.items():
        if hasattr(module, "command"):
            spec = module.command.spec
            required = [each for each in [*spec.flags, *spec.arguments] if each.required]
            needed = [f"{each.flag}={value(each)}" if each.kind != ARGUMENT else value(each) for each in required]
            made = as_click(module.command)
            parse_command = lambda words, made=made: shown(made.make_context("", [*words]).params)  # noqa: E731
            yield Program(f"pflow {name}", spec.fields, parse_command, tuple(needed), bool(module.command.others))


def as_click(command: Command) -> ClickCommand:
    return ClickCommand(command.spec, command.call, command.parse)


def shown(values: dict[str, Any]) -> Any:
    return {name: vars(value) if isinstance(value, RunFlags) else value for name, value in values.items()}


def value(item: Field) -> str:
    """Return a text that the item's type takes."""
    return item.type.choices[0] if item.type.choices else {"int": "1", "float": "1"}.get(item.type.name, "x")


PROGRAMS = [*nodes(), *tools(), *runs(), *commands()]


def every(rule: Callable[[Program], None]) -> Callable[[], None]:
    """Make a rule one test of all programs: as a test of each they would take four times as long."""

    def test() -> None:
        for program in PROGRAMS:
            try:
                rule(program)
            except Exception as error:
                error.add_note(program.name)
                raise

    return test


def assert_same(program: Program, *pairs: tuple[list[str], list[str]]) -> None:
    for one, other in pairs:
        assert (one, program.ask(*one)) == (one, program.ask(*other))


def assert_refused(
    program: Program, words: Iterable[str], message: str, hint: str | None = None, *, bare: bool = False
) -> None:
    found = program.ask(*words, bare=bare)
    assert is_refused(found), words
    assert found[1] == message or (message.endswith("…") and found[1].startswith(message[:-1]))
    assert hint is None or found[2] == hint


def is_refused(found: Any) -> bool:
    return isinstance(found, tuple) and found[0] == USAGE


def test_every_program_and_command_is_asked():
    asked = {each.name for each in PROGRAMS}
    assert {f"pflow-{name}" for name in (*names_in("nodes"), *names_in("store_commands"))} <= asked
    assert {f"pflow {name}" for name in names_in("commands")} <= asked


@every
def test_a_bool_alone_is_true(program):
    for item in program.flags(bools=True):
        assert_same(program, ([item.flag], [f"{item.flag}=true"]))


@every
def test_a_bool_may_be_off(program):
    for item in program.flags(bools=True):
        if not item.name.startswith("no_"):
            assert_same(program, ([f"--no-{item.flag[2:]}"], [f"{item.flag}=false"]))
        off, on = program.ask(f"{item.flag}=false"), program.ask(item.flag)
        assert not is_refused(off)
        is_ignored = program.name.startswith("step") and getattr(item, "of", "") == STREAM
        assert is_ignored or off != on, item.flag


@every
def test_a_bool_takes_nothing_else(program):
    for item in program.flags(bools=True):
        what = f"cannot take {item.flag}='maybe': it is neither true nor false"
        assert_refused(program, [f"{item.flag}=maybe"], what)


@every
def test_letters_may_stand_in_one_word(program):
    letters = [item.letter for item in program.flags(bools=True) if item.letter]
    for one, other in pairwise(letters):
        assert_same(program, ([f"-{one}{other}"], [f"-{one}", f"-{other}"]))


@every
def test_a_letter_with_a_value_is_the_last_in_its_word(program):
    letters = [item.letter for item in program.flags(bools=True) if item.letter]
    for item in program.flags(values=True):
        if item.letter and "pairs" not in item.marks:
            text = value(item)
            for words in ([f"-{item.letter}{text}"], [f"-{item.letter}", text]):
                assert_same(program, (words, [item.flag, text]))
            for letter in letters[:1]:
                assert_same(program, ([f"-{letter}{item.letter}{text}"], [f"-{letter}", f"{item.flag}={text}"]))


@every
def test_a_value_stands_behind_a_blank_or_an_equals_sign(program):
    for item in program.flags(values=True):
        for text in (value(item), "a value", "-v", "--", "--verbose"):
            assert_same(program, ([item.flag, text], [f"{item.flag}={text}"]))


@every
def test_an_empty_value_is_a_value(program):
    for item in program.flags(values=True):
        assert_same(program, ([item.flag, ""], [f"{item.flag}="]))
        if item.type.name in ("int", "float", "choice"):
            assert_refused(program, [f"{item.flag}="], f"cannot take {item.flag}='': it is not …")


@every
def test_a_value_may_not_be_missing(program):
    for item in program.flags(values=True):
        words = [*(() if item.required else program.needed), item.flag]
        assert_refused(program, words, f"cannot take {item.flag}: it needs a value", f"{item.flag}=VALUE", bare=True)


@every
def test_an_unknown_flag_is_refused(program):
    if not program.is_open:
        hint = None if program.is_flow else "--help lists the flags"  # the error of a flow lists its own
        assert_refused(program, ["--zzzzzz"], "cannot take --zzzzzz: no such flag", hint)


@every
def test_a_misspelt_flag_is_recognized(program):
    for item in program.flags(bools=True, values=True):
        if not program.is_open and len(item.flag) > 5 and not is_near_another(item, program):
            words = [f"{item.flag}q"]
            assert_refused(program, words, f"cannot take {words[0]}: no such flag", f"did you mean {item.flag}?")


def is_near_another(item: Field, program: Program) -> bool:
    return any(other != item.name and (item.name in other or other in item.name) for other in program.items)


@every
def test_an_unknown_letter_is_refused(program):
    free = next(letter for letter in "ZXWUYK" if letter not in [item.letter for item in program.items.values()])
    if not program.is_open or program.name.startswith(("pflow-", "step")):
        assert_refused(program, [f"-{free}"], f"cannot take -{free}: no such flag")


@every
def test_nothing_is_said_twice(program):
    for item in program.flags(values=True):
        if item.type.name != "list":
            words = [f"{item.flag}={value(item)}"] * 2
            assert_refused(program, words, f"cannot take {item.flag} twice")
            if item.letter:
                assert_refused(program, [f"-{item.letter}", value(item), words[0]], f"cannot take {item.flag} twice")
            for other in map(spell_flag, item.flags):
                assert_refused(program, [words[0], f"{other}={value(item)}"], f"cannot take {other} twice")


@every
def test_a_switch_may_be_said_twice_alike(program):
    for item in program.flags(bools=True):
        assert_same(program, ([item.flag, item.flag], [item.flag]))
        if item.letter:
            assert_same(program, ([f"-{item.letter}", item.flag], [item.flag]))
        if not item.name.startswith("no_"):
            off = f"--no-{item.flag[2:]}"
            for words in ([item.flag, off], [off, item.flag]):
                assert_refused(program, words, f"cannot take both {item.flag} and {off}", "choose one")


@every
def test_behind_two_dashes_everything_is_a_word(program):
    found = program.ask(*program.needed, "--", "--zzz", bare=True)
    assert not is_refused(found) or "no such flag" not in found[1]


@every
def test_a_word_too_many_is_refused(program):
    taken = [item for item in program.items.values() if item.kind == ARGUMENT or "word" in item.marks]
    if not taken:
        words = [*program.needed, "zzz"]
        assert_refused(program, words, "cannot take the bare word 'zzz': it takes flags only", bare=True)
    elif all(item.type.name != "list" for item in taken):
        words = [*map(value, {item.name: item for item in taken}.values()), "zzz"]
        assert_refused(program, words, "cannot take the bare word 'zzz': …", bare=True)


@every
def test_dashes_and_underscores_are_one_in_a_flag(program):
    for item in program.flags(bools=True, values=True):
        text = [] if item.type.name == "bool" else [value(item)]
        assert_same(program, ([f"--{item.flag[2:].replace('-', '_')}", *text], [item.flag, *text]))


@every
def test_a_value_has_its_type(program):
    faults = {"int": "it is not an int", "float": "it is not a number", "choice": "it is not one of …"}
    for item in program.flags(values=True):
        if fault := faults.get(item.type.name):
            assert_refused(program, [f"{item.flag}=many"], f"cannot take {item.flag}='many': {fault}")
        if item.least is not None:
            assert_refused(program, [f"{item.flag}=-1"], f"cannot take {item.flag}=-1…")


@every
def test_only_data_params_and_inputs_come_from_files_and_json(program):
    for item in program.flags(bools=True, values=True):
        if item.kind not in (READ, "param", "input"):
            for sign, what in {"@": "no file", ":=": "no JSON"}.items():
                words = [f"{item.flag}{sign}1"]
                hint = f"{item.flag}={metavar(item)}".removesuffix("=")
                assert_refused(program, words, f"cannot take {item.flag}{sign}: it takes {what}", hint)


@every
def test_help_is_asked_for_anywhere_before_two_dashes(program):
    if "help" not in program.items:
        return  # a step's help is its node's, in the quotes of its flow
    assert is_asked("help", ["--zzz", "x", "-h"], program.items)
    assert is_asked("help", ["--help", "--zzz=1"], program.items)
    assert not is_asked("help", ["--", "--help"], program.items)
    assert not any(is_asked("help", [word], program.items) for word in ("-h=true", "-h=no", "-hfoo", "--help=no"))
    for item in program.flags(values=True):
        assert not is_asked("help", [item.flag, "--help"], program.items), "it is the flag's value"
        break


@pytest.fixture
def run(warm, tmp_path):
    """Runs an executable of pflow's."""
    return lambda *words: warm.run(words, cwd=tmp_path, env=os.environ, input=None)


WITH_JSON = [each.name[6:] for each in PROGRAMS if each.name.startswith("pflow ") and "json" in each.items]


@pytest.mark.parametrize("name", [name for name in WITH_JSON if name not in _dispatch._RUNS])
def test_a_command_with_json_tells_its_error_in_json(name, capfd, monkeypatch):
    monkeypatch.setattr(_command, "written_to", set())
    error = PflowError("cannot take --zzz: no such flag", exit=USAGE)
    assert _dispatch._fail([name, "--json", "--zzz"], error) == USAGE
    assert json.loads(capfd.readouterr().out)["error"]["message"] == error.message


@pytest.mark.parametrize(
    "words",
    [
        ["pflow-get", "-zz"], ["pflow-read-file", "--json=maybe"], ["pflow", "nodes", "--json=maybe"],
        ["pflow", "list", "--jsn"], ["pflow", "run", "llm x", "--raw=maybe"], ["pflow", "map", "llm x", "--jobs=0"],
        ["pflow", "resume", "last", "--raw=maybe"], ["pflow", "resume", "last", "--reddo=x"],
        ["pflow", "read-file x", "--zzz"], ["pflow", "doctor", "x"], ["pflow", SAVED, "--jsno"],
        ["pflow", "summarize my notes", "--jsno"], ["pflow", "summarize my notes", "--modle=x"],
        ["pflow", "--jsn"], ["pflow", "-Z"], ["pflow", "-nr", "greet"], ["pflow", "-V=true"], ["pflow", "--help=maybe"],
        ["pflow", "summarize my notes", "-Z"], ["pflow", "summarize my notes", "too"],
    ],
)  # fmt: skip
def test_the_executables_say_so_with_two(run, words):
    done = run(*words)
    assert done.returncode == USAGE
    assert ": cannot take -" in done.stderr or ": cannot take the bare word" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pflow show words -nr", "pflow: cannot take -n: no such flag; --help lists the flags"),
        ("pflow cancel nosuch -jZ", "pflow: cannot take -j: no such flag; --help lists the flags"),
        ("pflow why last --=1", "pflow: cannot take --=1: no such flag; --help lists the flags"),
        ("pflow-get name -Z", "pflow-get: cannot take -Z: no such flag; --help lists the flags"),
        ("pflow runs -", "pflow: cannot take the bare word '-': it takes flags only; --help lists the flags"),
        ("pflow runs =", "pflow: cannot take the bare word '=': it takes flags only; --help lists the flags"),
        ("pflow-catch -", "pflow-catch: cannot take the bare word '-': it takes flags only; --help lists the flags"),
        (
            "pflow count_the_words -- --help",
            "pflow: cannot take the bare word '--help': a sentence is one argument, and only flags follow it; "
            "put quotes around the whole sentence",
        ),
        ("pflow count_the_words --max-csot=1", "pflow: cannot take --max-csot: no such flag; did you mean --max-cost?"),
        (f"pflow {SAVED} -", "pflow run: cannot take '-'; leave the word out: the pipe already gives the value"),
        ("pflow-git-status = x", "pflow-git-status: cannot take '='; no blanks around it: --KEY=VALUE"),
        (
            "pflow-template -",
            ": cannot take '-'; leave the word out: the pipe already gives the value; -- - if it is the value",
        ),
        ("pflow map template_x -Z", "pflow map: cannot take -Z: no such flag; pflow run FLOW --help lists the flags"),
        ("pflow map template_x -vr", "pflow map: cannot take --verbose for a map; pflow map --help"),
        (
            "pflow map llm_x -m y",
            "cannot take -m: no such flag; -m stands in the quotes of the flow; --model=… may stand behind them",
        ),
        ("pflow resume last --timeout=5", "pflow: cannot take --timeout: no such flag; --help lists the flags"),
        (
            "pflow-set -n a",
            "pflow-set: cannot set 'a'; it is written KEY=VALUE, KEY:=JSON, KEY@FILE or KEY:@FILE",
        ),
        ("pflow-set -n a:@", "pflow-set: cannot take a:@: no file is named; a:@FILE, or a:=JSON"),
        ("pflow-shell --max-output=-1 true", "pflow-shell: cannot take --max-output=-1: it must be 0 or more"),
        ("pflow --hlep", "pflow: cannot take --hlep: no such flag; did you mean --help?"),
        ("pflow --json", "pflow: cannot take --json: no such flag; --help lists the flags"),
        ("pflow map --jobs many", "pflow: cannot take --jobs='many': it is not an int"),
        ("pflow nodes --json -j=1", "pflow: cannot take -j: no such flag; --help lists the flags"),
        (
            "pflow-template x -r=no",
            "pflow-template: cannot take -r=no: no = stands behind a letter; --raw=true, or --raw=false",
        ),
        (
            "pflow-get -ej=no",
            "pflow-get: cannot take -ej=no: no = stands behind a letter; --json=true, or --json=false",
        ),
        ("pflow-llm x --temp=1", "pflow-llm: cannot take --temp: no such flag; did you mean --temperature?"),
        ("pflow-template x --timeout=-1", "cannot take --timeout=-1: it must be from 0.001 to 315360000"),
        ("pflow runs -n1 -n2", "pflow: cannot take --most twice"),
        ("pflow-template x --timeout@n.txt", "cannot take --timeout@: it takes no file; --timeout=SECONDS"),
        ("pflow-template x --json@n.txt", "cannot take --json@: it takes no file; --json"),
        (
            "pflow-template x --max-retries=5",
            "pflow-template: cannot take --max-retries: no such flag; "
            "--retries is 4 for it: max_retries counts the first try too",
        ),
        (
            f"pflow {SAVED} --max-retries 5",
            "pflow run: cannot take --max-retries: no such flag; "
            "a step's --retries is one less: max_retries counts the first try too",
        ),
        ("pflow help read-file x", "pflow: cannot take the bare word 'x': WORD is 'read-file'; leave one of them out"),
        ("pflow models default a b", "pflow: cannot take the bare word 'b': NAME is 'a'; leave one of them out"),
        ("pflow count_the_words --=1", "pflow: cannot take --=1: no such flag; --help lists the flags"),
        ("pflow-template x --max-input=0", "pflow-template: cannot take --max-input=0: it must be at least 1"),
        (
            "pflow export words",
            "pflow: cannot run pflow export: --to is missing; --to=dot|json|mermaid|pack|pipe|python|sh",
        ),
        (
            "pflow trace last --html z-.html",
            "cannot take --html with 'z-.html': it is not a run; --html=z-.html if it is the page to write",
        ),
        ("pflow merge a.db", "pflow: cannot run pflow merge: --output is missing; --output=FILE"),
        (
            "pflow-template x --ma_input=1",
            "pflow-template: cannot take --ma_input: no such flag; did you mean --max-input?",
        ),
    ],
)
def test_a_refusal_fits_the_program(run, words, said):
    words = [word if "-" in word else word.replace("_", " ") for word in words.split()]
    done = run(*words)
    assert (done.returncode, done.stderr.strip().endswith(said)) == (USAGE, True), done.stderr


@pytest.mark.parametrize(
    "words",
    ["run nope", "run --jsn", "replay", "replay nope", "resume", "resume nope", "resume last x", "resume last --jsn"],
)
def test_a_run_that_is_refused_prints_an_error_document(run, words):
    shown, quiet = [run("pflow", *words.split(), form) for form in ("-j", "-q")]
    assert json.loads(shown.stdout)["$pflow"]["error"]["exit"] == shown.returncode == quiet.returncode
    assert quiet.stdout == ""


def test_help_that_is_not_there_is_named_as_it_was_typed(run):
    done = run("pflow", "help", "--zzz")
    assert done.stderr.startswith("pflow: cannot find help on '--zzz'; ")


def test_the_words_of_a_command_before_a_flow_may_stand_behind_two_dashes():
    parse = import_module("pflow.commands.save").command.parse
    assert parse(["--", "count", "a", "::", "b"]) == parse(["count", "a", "::", "b"])
    assert parse(["--", "count"]) == parse(["count"])
    assert parse(["count", "--", "-a"])["flow"] == ["-a"]


@pytest.mark.parametrize("words", ["shell x y", "run shell x y", "shell x -- v :: nonode", "run nonode --jsno -- x"])
@pytest.mark.parametrize(
    ("flag", "is_form"),
    [
        ("-r", True), ("--quiet", True), ("--jobs=2", False), ("-- -r", False),
        ("--quiet=", False), ("--quiet:=true", False), ("--quiet@true", False),
    ],
)  # fmt: skip
def test_two_dashes_end_the_flags_of_their_own_step_only(run, words, flag, is_form):
    done = run("pflow", *words.split(), "--", "v", "::", "shell", "cat", *flag.split())
    assert (bool(done.returncode), done.stdout == "") == (True, is_form)


@pytest.mark.parametrize("words", [["read-file", "--"], ["--", "read-file"], ["--", "save"], ["exit", "--"]])
def test_help_is_shown_on_either_side_of_two_dashes(run, words):
    wanted = [word for word in words if word != "--"]
    shown, other = [run("pflow", "help", *each) for each in (wanted, words)]
    assert (shown.returncode, other.returncode, shown.stdout) == (0, 0, other.stdout)


@pytest.mark.parametrize(
    "program",
    [
        ["pflow"],
        ["pflow-get"],
        ["pflow-llm"],
        ["pflow", "list"],
        ["pflow", "resume"],
        ["pflow", SAVED],
        ["pflow", "count it"],
    ],
)
def test_the_executables_show_their_help_beside_wrong_flags(run, program):
    done = run(*program, "--zzz=1", "x", "-h")
    assert (done.returncode, done.stdout[:7]) == (0, "Usage: ")


def test_a_flag_that_no_planned_flow_may_have_is_refused_before_it_is_planned():
    _run_sentence.check_words(["--path", "a.txt", "--form=x", "-qv", "--jobs=4", "--yes", "--allow", "commands"])
    wrong = "--max_cots=1|--max-tokens-totla 9|--encodign=x|--=1|--jsno|--yse|--modle=x|--alow commands|-Z|-qZ|too|-- x"
    for words in wrong.split("|"):
        with pytest.raises(PflowError, match="cannot take"):
            _run_sentence.check_words(words.split())


COMMANDS = [import_module(f"pflow.commands.{name.replace('-', '_')}") for name in names_in("commands")]
COMMANDS = [module.command for module in [*COMMANDS, _run_sentence] if hasattr(module, "command")]


@pytest.mark.parametrize("command", [pytest.param(each, id=each.spec.name) for each in COMMANDS])
def test_click_has_the_parameters_that_a_command_declares(command):
    declared = [*command.spec.flags, *command.spec.arguments]
    made = as_click(command)
    assert [each.name for each in made.params] == [item.name for item in declared]
    for item, param in zip(declared, made.params, strict=True):
        is_list = item.type.name == "list"
        assert (param.required, param.metavar) == (item.required, metavar(item) or None)
        if item.kind == ARGUMENT:
            assert (param.param_type_name, param.nargs) == ("argument", -1 if is_list else 1)
            continue
        assert (param.param_type_name, *sorted(param.opts)) == ("option", *sorted(item.names))
        assert (param.help, param.multiple, param.default) == (item.doc, is_list, unsaid(item))
        assert param.is_flag == (item.type.name == "bool" and not item.word)
        assert tuple(getattr(param.type, "choices", ())) == item.type.choices


def test_the_parameters_of_click_make_the_values(monkeypatch):
    made = as_click(import_module("pflow.commands.runs").command)
    monkeypatch.setattr(made.params[0], "type_cast_value", lambda ctx, texts: f"made of {texts}")
    assert made.make_context("", ["-n3", "--failed"]).params["most"] == "made of ['3']"


def test_the_flags_of_a_flow_are_handed_on_as_they_were_typed():
    parse = _run_sentence.command.parse
    assert parse(["count it", "--path", "a.txt", "-q", "--yes", "--jobs=4"])["words"] == [
        "--path",
        "a.txt",
        "-q",
        "--jobs=4",
    ]
    found = import_module("pflow.commands.map").command.parse(
        ["flow", "--dry", "a", "-j4", "b", "--tone=x", "--", "--c"]
    )
    assert (found["flow_flags"], found["items"], found["flags"].jobs) == (["--dry", "--tone=x"], ["a", "b", "--c"], 4)


@pytest.mark.parametrize("program", [pytest.param(each, id=each.name) for each in PROGRAMS if each.needed])
def test_what_is_missing_is_named(program):
    code, message, _ = program.ask(bare=True)
    assert (code, " is missing" in message) == (USAGE, True)
