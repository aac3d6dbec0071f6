"""The llm node against a real server of OpenAI's protocol, and against the small local model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from base64 import b64decode
from functools import cache
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from pflow.errors import PflowError
from pflow.models import choose, local, log, request_form
from pflow.nodes.llm import Llm
from tests.peers.openai_server import KEY, MODELS, REPLY

ROOT = Path(__file__).parents[2]
PDF = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"
SVG = '<?xml version="1.0"?>\n<!-- a --> <!-- b -->\n<!DOCTYPE svg [\n<!ENTITY a "b">\n]>\n<svg a="b">\n</svg>\n'
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde"
ORDINARY = [
    "%PDF-1.4 is how each PDF begins.\nMore.",
    "PDF files begin with %PDF-1.4\n",
    "ID3 tags and GIF89a",
    "BM\nII",
    "<svgs>no</svgs>",
    "# Title\n\n<svg></svg>\n</svg>",
    "<!DOCTYPE html>\n<svg></svg>",
    "<!-- a -->" * 5000,
    '<?xml version="1.0"?>\n<a><svg></svg></a>\n',
    '{"a": "%PDF-1.4\\n"}',
    "P3\n1,2\n",
    "#define x 1\n",
    "import re\n",
    "From: a\n\nhello",
    "RIFF WAVEfmt OggS",
    "<svg>\n<g>",
    "<svg>\n</svg>\n",
]
"""Texts that look like files of other kinds to who looks at a few letters."""

TREE = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name", "height"]}


def run(model, prompt="hi", *, text=None, tries=1, **params):
    """The store after the node has run, with the parts that it emitted."""
    node, parts = Llm(max_retries=tries), []
    node.set_params({"model": model, **params})
    node.sink = parts.append
    shared = {"prompt": prompt, "text": text}
    assert node.run(shared) is None
    return {**shared, "parts": parts}


def failure(*args, **kwargs):
    with pytest.raises(PflowError) as caught:
        run(*args, **kwargs)
    error = caught.value
    assert "\n" not in error.message + error.hint
    return error


class TestAsking:
    def test_the_answer_and_what_it_took_are_written(self, server):
        shared = run("reply")

        assert shared["response"] == REPLY
        assert shared["usage"] == {"model": "reply", "input": 4, "output": 4}

    def test_the_parts_arrive_one_by_one_and_make_up_the_answer(self, server):
        assert run("reply")["parts"] == ["Oak, ", "ash ", "and ", "elm."]

    @pytest.mark.parametrize(
        ("prompt", "text", "asked"),
        [
            ("sum up", "a long story", "a long story\n\nsum up"),
            ("sum up", "two\nlines\n", "two\nlines\n\nsum up"),
            (None, "a long story\n", "a long story\n"),
            ("sum up", {"ä": [1, None]}, '{"ä":[1,null]}\n\nsum up'),
        ],
    )
    def test_the_text_comes_before_the_prompt_and_an_empty_line(self, server, prompt, text, asked):
        assert run("echo", prompt, text=text)["response"] == asked

    @pytest.mark.parametrize(("prompt", "text"), [(None, None), ("", ""), (None, b"")])
    def test_with_neither_prompt_nor_text_nothing_is_asked(self, server, prompt, text):
        assert failure("echo", prompt, text=text).exit == 66
        assert server.requests() == []

    def test_nothing_is_sent_that_was_not_set(self, server):
        run("reply")
        run("whole")

        streamed, whole = (request["body"] for request in server.requests())
        assert streamed.keys() == {"model", "messages", "stream", "stream_options"}
        assert whole.keys() == {"model", "messages", "stream"}
        assert streamed["messages"] == [{"role": "user", "content": "hi"}]

    def test_what_was_set_is_sent(self, server):
        run("reply", system="be brief", temperature=0.5, max_tokens=9)

        body = server.requests()[0]["body"]
        assert (body["temperature"], body["max_tokens"]) == (0.5, 9)
        assert body["messages"][0] == {"role": "system", "content": "be brief"}

    def test_a_cost_that_the_provider_tells_is_passed_on(self, server):
        assert run("priced")["usage"]["cost"] == 0.25
        with warnings.catch_warnings(action="error"):  # pydantic would warn of tokens that are no number
            for model in ("misused", "misbilled"):
                assert run(model)["usage"] == {"model": model}

    def test_an_answer_that_cannot_be_used_tells_what_it_took(self, server):
        assert failure("json-misfit", schema=TREE).usage["tokens"]["out"] > 0
        assert failure("torn").usage == {"model": "torn"}
        assert failure("refused").usage is None

    @pytest.mark.parametrize("model", ["completion", "responses"])
    def test_openai_s_other_protocols_stream_and_count_too(self, server, model):
        shared = run(model)

        assert len(shared["parts"]) == 4
        assert shared["usage"]["output"] == 4

    def test_a_part_arrives_while_the_model_still_writes(self, server):
        node, parts = Llm(), []

        def open_the_gate(part):
            parts.append(part)
            (server.directory / "go").touch()

        node.set_params({"model": "slow-stream"})
        node.sink = open_the_gate
        node.run({"prompt": "hi"})

        assert "".join(parts) == REPLY

    def test_a_model_that_cannot_stream_answers_whole(self, server):
        assert run("whole")["parts"] == [REPLY]
        assert "stream_options" not in server.requests()[0]["body"]


class TestAttachments:
    def test_bytes_go_along_as_an_attachment(self, server):
        assert run("see", "what is it?", text=PNG)["response"] == "what is it?[image_url]"
        _, image = server.requests()[0]["body"]["messages"][0]["content"]
        assert image["image_url"]["url"].startswith("data:image/png;base64,iVBOR")

    def test_so_does_a_pdf_though_it_be_text_and_a_drawing_where_the_model_takes_one(self, server, monkeypatch):
        assert run("see", "what is it?", text=PDF)["response"] == "what is it?[file]"
        _, file = server.requests()[0]["body"]["messages"][0]["content"]
        assert b64decode(file["file"]["file_data"].partition(",")[2]).decode() == PDF
        assert run("see", "what is it?", text=SVG)["response"] == f"{SVG}\nwhat is it?"

        def takes_drawings(name, choose=choose.choose):
            model = choose(name)
            model.attachment_types = {"image/svg+xml"}
            return model

        monkeypatch.setattr(log, "choose", takes_drawings)
        for drawing in (SVG, "\ufeff\n<svg>x</svg>", "<svg\n><g>"):
            assert run("see", "what is it?", text=drawing)["response"] == "what is it?[image_url]"

    def test_files_and_addresses_go_along_beside_what_comes_through_the_pipe(self, server, tmp_path):
        (tmp_path / "a.png").write_bytes(PNG)
        (tmp_path / "b.txt").write_text(PDF)
        (tmp_path / "c").write_text(SVG)
        url = f"http://127.0.0.1:{server.port}/d.jpg"
        paths = [str(tmp_path / "b.txt"), "-", str(tmp_path / "c"), url]

        assert (
            run("see", "what?", text=PNG, attachment=paths)["response"] == f"{SVG}\nwhat?[image_url][file][image_url]"
        )
        assert run("see", None, attachment=[str(tmp_path / "a.png")])["response"] == "[image_url]"
        _, piped, file, address = server.requests()[0]["body"]["messages"][0]["content"]
        assert b64decode(piped["image_url"]["url"].partition(",")[2]) == PNG
        assert b64decode(file["file"]["file_data"].partition(",")[2]).decode() == PDF
        assert address["image_url"]["url"] == url

    @pytest.mark.parametrize(
        ("model", "place", "exit", "words"),
        [
            ("see", "gone.png", 66, "cannot attach '{}/gone.png': no such file or directory"),
            ("see", "", 66, "is a directory"),
            ("see", "empty.png", 66, "it is empty"),
            ("see", "-", 66, "cannot attach '-': no file comes through the pipe"),
            ("see", "notes.md", 65, "it is text/markdown, and the model 'see' takes application/pdf, "),
            ("see", "odd", 65, "it is text/plain, and"),
            ("see", "bytes", 65, "it is of an unknown type"),
            ("echo", "a.png", 65, "it is image/png, and the model 'echo' takes no attachments"),
            ("see", "http://127.0.0.1:1/a.png", 69, "/a.png': connection refused"),
            ("see", "http://127.0.0.1:{}/gone", 66, "/gone': 404 Not Found"),
            ("see", "http://127.0.0.1:{}/a.wav", 65, "it is audio/x-wav, and"),
            ("see", "http://127.0.0.1:{}/untyped", 65, "/untyped': it is of an unknown type, and"),
            ("see", "file:///etc/passwd", 66, "cannot attach 'file:///etc/passwd': no such file"),
        ],
    )
    def test_what_cannot_go_along_is_named_before_anything_is_asked(self, server, tmp_path, model, place, exit, words):
        directory = tmp_path / "files"
        directory.mkdir()
        for name, data in {"empty.png": b"", "notes.md": b"# a", "odd": b"a", "bytes": b"\0\1", "a.png": PNG}.items():
            (directory / name).write_bytes(data)
        error = failure(
            model, attachment=[place.format(server.port) if "://" in place or place == "-" else f"{directory}/{place}"]
        )

        assert (error.exit, words.format(directory) in error.message) == (exit, True), error
        assert server.requests() == []

    @pytest.mark.parametrize("text", ORDINARY)
    def test_ordinary_text_stays_text(self, server, text):
        assert run("see", "what is it?", text=text)["response"] == text.rstrip("\n") + "\n\nwhat is it?"

    @pytest.mark.parametrize(
        ("model", "text", "words"),
        [
            ("echo", PDF, "it is application/pdf, and the model 'echo' takes no attachments"),
            ("echo", PNG, "it is image/png, and the model 'echo' takes no attachments"),
            ("see", b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0", "it is audio/wav, and the model 'see' takes app"),
            ("see", b"\0\1\2\3", "it is of an unknown type"),
        ],
    )
    def test_a_model_gets_only_what_it_takes(self, server, model, text, words):
        error = failure(model, text=text)

        assert error.exit == 65
        assert words in error.message
        assert server.requests() == []


class TestOptions:
    def test_a_param_counts_more_than_an_option_of_its_name(self, server):
        run("reply", option=["temperature=1.5"], temperature=0.5)

        assert server.requests()[0]["body"]["temperature"] == 0.5

    @pytest.mark.parametrize(
        ("params", "words"),
        [
            ({"option": ["sed=1"]}, "cannot set 'sed': the model 'reply' has no such option"),
            ({"option": ["seed"]}, "cannot read --option='seed'"),
            ({"option": ["seed=x"]}, "cannot set 'seed' to 'x': input should be a valid integer"),
            ({"temperature": 9.0}, "cannot set 'temperature' to '9.0': input should be less than or equal to 2"),
        ],
    )
    def test_a_wrong_option_is_named_before_anything_is_sent(self, server, params, words):
        error = failure("reply", **params)

        assert error.exit == 2
        assert error.message.startswith(words)
        assert server.requests() == []

    def test_max_tokens_is_the_limit_whatever_a_model_calls_it(self):
        import llm

        from pflow.models.request_form import fit_options

        class Other(llm.Model):
            model_id = "other"

            class Options(llm.Options):
                max_output_tokens: int | None = None

        assert fit_options(Other, {"max_tokens": 5}) == {"max_output_tokens": 5}


class TestSchema:
    @pytest.mark.parametrize("model", ["json", "json-native", "json-fenced"])
    def test_the_response_is_a_value_that_was_checked_and_no_part_of_it_is_emitted(self, server, model):
        shared = run(model, schema=json.dumps(TREE))

        assert shared["response"] == {"name": "oak", "height": 40}
        assert shared["parts"] == []

    def test_a_model_with_schemas_gets_it_as_one_and_another_in_words(self, server):
        run("json-native", schema=TREE)
        run("json", schema=TREE)

        native, in_words = (request["body"] for request in server.requests())
        assert native["response_format"]["json_schema"]["schema"] == TREE
        assert native["messages"] == [{"role": "user", "content": "hi"}]
        assert "response_format" not in in_words
        assert '{"type":"object","properties":{"name"' in in_words["messages"][0]["content"]

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            ("json-misfit", "it does not fit the schema: $"),
            ("reply", "it is not JSON: 'Oak, ash and elm.'"),
            ("empty", "it is not JSON: nothing"),
        ],
    )
    def test_an_answer_that_does_not_fit_is_bad_data(self, server, model, words):
        error = failure(model, schema=TREE)

        assert error.exit == 65
        assert words in error.message

    def test_a_misfit_is_asked_again_by_retries(self, server):
        assert run("json-once", schema=TREE, tries=2)["response"]["name"] == "oak"

    @pytest.mark.parametrize(
        ("schema", "exit", "words"),
        [
            ("gone.json", 66, "cannot read the schema 'gone.json': no such file or directory"),
            ('{"type":\n 7,}', 65, "cannot read the schema at line 2, column"),
            ('{"type": "strin"}', 65, "cannot use the schema: $.type: 'strin' is not valid"),
            (
                "my schema.json",
                65,
                "cannot read the schema 'my schema.json': 'schema.json' is not a type",
            ),
            ("a: \nb nt", 65, "cannot read the schema 'a: b nt': 'nt' is not a type"),
            ("name, name", 65, "'name' appears twice"),
            (", ,", 65, "it names no field"),
            ("", 65, "it names no field"),
            ('{"$ref": "#/$defs/gone"}', 65, "nothing is at its $ref '/$defs/gone'"),
            ('{"$ref": "http://127.0.0.1:1/a"}', 65, "nothing is at its $ref 'http://127.0.0.1:1/a'"),
        ],
    )
    def test_a_bad_schema_is_named(self, server, schema, exit, words):
        error = failure("json", schema=schema)

        assert error.exit == exit
        assert words in error.message

    @pytest.mark.parametrize("schema", ['{"$ref":"#"}', '{"anyOf":[{"$ref":"#"}]}'])
    def test_a_schema_that_leads_back_to_itself_is_refused_before_anything_is_asked(self, server, schema):
        error = failure("json", schema=schema)

        assert error.exit == 65
        assert error.message == "cannot use the schema: it is nested too deeply, or leads back to itself"
        assert server.requests() == []

    def test_a_schema_may_be_a_file(self, server, tmp_path):
        (tmp_path / "tree.json").write_text(json.dumps(TREE))

        assert run("json", schema=str(tmp_path / "tree.json"))["response"]["name"] == "oak"

    def test_a_schema_may_be_in_llm_s_short_form(self, server):
        run("json-native", schema="name: which tree, height int")
        run("json-native", schema="name\nheight int: in metres, about\n")

        short, lines = (
            request["body"]["response_format"]["json_schema"]["schema"]["properties"] for request in server.requests()
        )
        assert short == {"name": {"type": "string", "description": "which tree"}, "height": {"type": "integer"}}
        assert lines["height"] == {"type": "integer", "description": "in metres, about"}
        assert failure("json-misfit", schema="name, height").exit == 65

    def test_a_schema_may_be_that_of_each_of_many(self, server, tmp_path):
        (tmp_path / "tree.json").write_text(json.dumps(TREE))
        params = {"schema_multi": str(tmp_path / "tree.json")}

        assert [tree["name"] for tree in run("json-list", **params)["response"]["items"]] == ["oak", "ash"]
        sent = server.requests()[0]["body"]["response_format"]["json_schema"]["schema"]
        assert sent["properties"]["items"]["items"] == TREE
        assert failure("json-list", schema="name, x", **params).exit == 2
        node = Llm()
        node.set_params({"model": "json-list", **params})
        assert ("schema's file" in node.cache_parts({}), node.looks_at({})) == (True, [params["schema_multi"]])

    def test_the_empty_schema_takes_any_json(self, server):
        assert run("json-native", schema="{}")["response"] == {"name": "oak", "height": 40}
        assert failure("reply", schema="{}").exit == 65

    def test_a_misfit_at_the_token_limit_says_so(self, server):
        assert "--max-tokens" in failure("json-cut", schema=TREE).hint


class TestFailures:
    @pytest.mark.parametrize(
        ("model", "exit", "words"),
        [
            ("rate-limited", 75, "429: slow down"),
            ("bad-request", 65, "400: this prompt is too long"),
            ("missing", 78, "404: The model `missing` does not exist"),
            ("unauthorized", 77, "401: Incorrect API key provided: ***"),
            ("refused", 69, "cannot connect"),
            ("cut", 75, "it was cut off"),
            ("completion-cut", 75, "it was cut off"),
            ("responses-cut", 75, "it was cut off"),
            ("cut-once", 75, "it did not come"),
            ("torn", 75, "the answer was cut"),
            ("garbled", 75, "its answer is garbled"),
            ("bomb", 65, "it has more than 50,000,000 bytes"),
            ("overloaded-midway", 75, "502: overloaded"),
            ("no-credit", 77, "402: Insufficient credits"),
            ("no-credit-list", 77, "top up"),
            ("no-credit-flat", 77, "402: top up"),
            ("no-credit-choice", 77, "402: top up"),
            ("responses-no-credit", 77, "top up"),
            ("responses-too-long", 65, "too long"),
            ("event-too-long", 65, "too long"),
            ("event-overloaded", 75, "overloaded_error"),
            ("page", 78, "a web page came in place of an answer (Log in)"),
            ("plain", 77, "sorry, the account is out of credits"),
            ("gateway", 75, "502: Bad Gateway"),
            ("no-route", 78, "405: method not allowed"),
            ("wrong-key", 77, "400: API key not valid"),
            ("filtered", 1, "it refused"),
            ("responses-failed", 75, "out of luck"),
            ("refuse", 1, "it refused: I will not say."),
        ],
    )
    def test_each_has_its_code_and_one_line_and_costs_one_request(self, server, model, exit, words):
        error = failure(model)

        assert (error.exit, error.is_permanent) == (exit, exit not in (69, 75))
        assert words in error.message
        assert f"'{model}'" in error.message
        assert len(server.requests()) == (model != "refused")

    @pytest.mark.parametrize(
        ("model", "exit"),
        [(name, 77) for name in MODELS if "no-credit" in name]
        + [("event-too-long", 65), ("event-overloaded", 75), ("wrong-key", 77), ("plain", 77), ("page", 78)],
    )
    def test_an_error_means_the_same_in_a_whole_answer(self, server, model, exit):
        assert failure(model, option=["stream=false"]).exit == exit

    @pytest.mark.parametrize("model", ["rate-limited-once", "conflict-once", "broken-once", "cut-once"])
    def test_a_passing_one_is_retried(self, server, model):
        assert run(model, tries=3)["response"] == REPLY
        assert len(server.requests()) == 2

    @pytest.mark.parametrize(("model", "seconds"), [("rate-limited", 0), ("rate-limited-minute", 60), ("broken", None)])
    def test_it_knows_how_long_the_server_wants_to_rest(self, server, model, seconds):
        assert failure(model).retry_after == seconds

    def test_a_key_is_sent_and_never_shown(self, server):
        assert run("keyed")["response"] == REPLY
        assert KEY not in failure("unauthorized").message
        assert server.requests("keyed")[0]["headers"]["authorization"] == "Bearer ***"
        assert KEY not in (server.directory / "requests.jsonl").read_text()

    def test_without_a_key_nothing_is_sent(self, server):
        error = failure("nokey")

        assert error.exit == 77
        assert error.hint.startswith("llm keys set nobody-has-this-key")
        assert server.requests() == []

    @pytest.mark.parametrize("key", ["sk-1 ", " sk-1", "sk-1\n", "sk-1\r\n", "\tsk-1", " ", "sk-é", "“sk-1”"])
    @pytest.mark.parametrize("is_kept", [True, False])
    def test_a_key_that_no_header_can_hold_is_never_sent(self, server, monkeypatch, key, is_kept):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        (server.llm_user_path / "keys.json").write_text(json.dumps({"peer": key} if is_kept else {}))
        error = failure("keyed")

        assert (error.exit, server.requests()) == (77, [])
        assert error.message.startswith("cannot ask 'keyed': its key has a ")
        assert "sk-" not in error.message + error.hint

    def test_an_answer_at_its_token_limit_is_an_answer_and_says_so(self, server, capfd):
        assert run("long")["response"] == REPLY
        assert run("responses-long")["usage"]["output"] == 4
        assert capfd.readouterr().err.count("token limit") == 2

    def test_a_limit_that_a_person_set_is_worth_a_word_too(self, server, capfd):
        run("long", max_tokens=4)

        said = "warning: the answer of 'long' stops at its token limit, after 4 tokens: --max-tokens sets it\n"
        assert capfd.readouterr().err == said

    @pytest.mark.parametrize("model", ["stall", "stall-midway"])
    def test_a_signal_ends_the_wait_for_an_answer(self, server, model):
        class Stop(BaseException):
            pass

        def stop_once_asked(*_):
            if server.requests():
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise Stop

        before = signal.signal(signal.SIGALRM, stop_once_asked)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        try:
            with pytest.raises(Stop):
                run(model)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_what_the_listener_raises_passes_by(self, server):
        node = Llm()
        node.set_params({"model": "reply"})

        def hang_up(part):
            raise BrokenPipeError

        node.sink = hang_up
        with pytest.raises(BrokenPipeError):
            node.run({"prompt": "hi"})


class TestTheModel:
    def test_an_unknown_one_is_answered_with_the_nearest(self, server):
        error = failure("JSON-misfid")

        assert error.exit == 78
        assert error.hint.startswith("did you mean json-misfit")

    def test_llm_s_default_is_asked_where_it_was_chosen(self, server):
        (server.llm_user_path / "default_model.txt").write_text("reply\n")

        assert run(None)["usage"]["model"] == "reply"

    def test_a_chosen_default_without_a_key_is_an_error_and_no_other_model_is_asked(self, server):
        (server.llm_user_path / "default_model.txt").write_text("nokey")

        assert failure(None).exit == 77

    @pytest.mark.parametrize(
        ("entry", "name", "fault"),
        [
            ("{model_id: yes, model_name: x}", "yes", "entry 2 ('yes') is passed over: its model_id is not text"),
            ("{model_id: 4.50, model_name: x}", "4.50", "its model_id is not text; put it in quotes"),
            ("{model_id: a}", "a", "entry 2 ('a') is passed over: it has no model_name"),
            ("{model_name: a}", None, "entry 2 is passed over: it has no model_id"),
            ("{model_id: '', model_name: a}", None, "its model_id or model_name is empty"),
            ("{model_id: a, model_name: a, aliases: b}", "a", "its aliases is not a list"),
            ("{model_id: a, model_name: a, aliases: [b, no]}", "b", "an alias is not text"),
            ("{model_id: a, model_name: a, headers: [b], aliases: [no]}", "no", "its headers is not an object"),
            ("yes", None, "entry 2 is passed over: it has no model_id and model_name"),
            ("null", None, "entry 2 is passed over"),
            ("{model_id: 2024-13-45, model_name: x}", "2024-13-45", "it has an impossible date; put it in quotes"),
            ("{model_id: a, model_name: x, headers: {[1]: 2}}", "a", "found unhashable key at line 1"),
            ("{model_id: a, model_name: !env x}", "a", "could not determine a constructor for the tag '!env'"),
            ("&a [*a]", None, "entry 2 is passed over"),
        ],
    )
    def test_an_entry_that_is_malformed_is_named_and_costs_no_other_model(self, server, capfd, entry, name, fault):
        file = server.llm_user_path / "extra-openai-models.yaml"
        entries = json.loads(file.read_text())
        entries = [json.dumps(each) for each in entries if each["model_id"] in ("reply", "echo")]
        file.write_text(f"[{entries[0]}, {entry}, {entries[1]}]")

        assert run("reply")["usage"]["model"] == "reply"
        assert run("echo")["usage"]["model"] == "echo"
        said = capfd.readouterr().err
        assert fault in said
        assert said.count("\n") == 1
        if name is not None:
            error = failure(name)
            assert (error.exit, fault in error.message) == (78, True), error.message

    @pytest.mark.parametrize(
        ("file", "content", "fault"),
        [
            ("aliases.json", "nothing", "aliases.json: it is not JSON at line 1, column 1"),
            ("aliases.json", "[]", "aliases.json: it is not a JSON object"),
            ("aliases.json", '{"mine": ["gpt-4o"], "yours": "gpt-4o"}', "the alias 'mine' is passed over"),
            ("extra-openai-models.yaml", "- a: [\n", "extra-openai-models.yaml: expected the node content"),
            ("extra-openai-models.yaml", "a: b", "extra-openai-models.yaml: it is not a list of models"),
            ("extra-openai-models.yaml", "- \udcff", "extra-openai-models.yaml: UnicodeDecodeError"),
            ("extra-openai-models.yaml", "[" * 3000, "extra-openai-models.yaml: it is nested too deeply"),
            ("aliases.json", "[" * 100_000, "aliases.json: it is nested too deeply"),
        ],
    )
    def test_a_file_that_is_malformed_is_named_and_costs_no_model_of_another(self, server, capfd, file, content, fault):
        from pflow.models.choose import choose

        (server.llm_user_path / file).write_text(content, errors="surrogateescape")

        assert choose("gpt-4o").model_id == "gpt-4o"
        said = capfd.readouterr().err
        assert fault in said
        assert said.count("\n") == 1
        error = failure("mine")
        assert (error.exit, fault in error.message) == (78, True), error.message

    @pytest.mark.parametrize(("content", "said"), [("[]", "it is not a JSON object"), ('{"reply": 7}', "")])
    def test_options_set_with_llm_that_are_malformed_cost_no_answer(self, server, capfd, content, said):
        (server.llm_user_path / "model_options.json").write_text(content)

        assert run("reply")["response"] == REPLY
        assert said in capfd.readouterr().err

    @pytest.mark.parametrize("content", ["nothing", '["peer"]'])
    def test_keys_that_cannot_be_read_are_named_where_one_is_needed(self, server, content):
        (server.llm_user_path / "keys.json").write_text(content)

        assert run("reply")["response"] == REPLY
        error = failure("keyed")
        assert (error.exit, "keys.json" in error.message) == (78, True)

    def test_llm_s_own_default_is_asked_where_it_has_a_key(self, server, monkeypatch):
        from pflow.models.choose import choose

        monkeypatch.setenv("OPENAI_API_KEY", KEY)

        assert choose(None).needs_key == "openai"

    def test_settings_that_cannot_be_are_named(self, server, monkeypatch):
        monkeypatch.setenv("LLM_USER_PATH", "/dev/null/llm")

        error = failure("reply")

        assert error.exit == 78
        assert "LLM_USER_PATH '/dev/null/llm'" in error.message


def test_tab_offers_the_models_that_there_are(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run("reply")
    offered = (tmp_path / "cache" / "pflow" / "completion" / "models").read_text().splitlines()
    models = dict(line.split("\t") for line in offered)
    assert models["reply"] == "OpenAI Chat: reply"
    assert any(about.startswith("alias of ") for about in models.values())


@pytest.fixture(scope="module")
def load():
    """Loads the engine once for each file: a start and the first words take two seconds of CPU."""
    load = cache(local.load)
    yield load
    load.cache_clear()


class TestLocalModels:
    @pytest.fixture(autouse=True)
    def _nothing_set_up(self, tmp_path, monkeypatch, local_models, load):
        monkeypatch.setattr(local, "load", load)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
        monkeypatch.setenv("XDG_DATA_HOME", local_models)

    def test_one_streams_and_counts(self):
        shared = run(None, "Say hi", max_tokens=5)

        assert "".join(shared["parts"]) == shared["response"]
        assert len(shared["parts"]) > 1
        assert shared["usage"].keys() == {"model", "input", "output", "cost"}
        assert shared["usage"]["cost"] == 0
        assert 0 < shared["usage"]["output"] <= 5

    @pytest.mark.parametrize("by_file", [False, True])
    def test_a_text_of_the_small_one_is_brief_and_says_where_it_ends(self, capfd, local_models, monkeypatch, by_file):
        monkeypatch.setattr(request_form, "BRIEF", 8)
        model = str(Path(local_models, "pflow", "models", "SmolLM2.gguf")) if by_file else "SmolLM2"

        assert run(model, "Tell a story")["usage"]["output"] == 8
        assert "stops at its token limit, after 8 tokens: --max-tokens sets it" in capfd.readouterr().err
        assert run(model, "Tell a story", max_tokens=12)["usage"]["output"] == 12
        assert "after 12 tokens" in capfd.readouterr().err

    def test_its_answers_fit_a_schema_which_has_no_such_limit(self, monkeypatch):
        monkeypatch.setattr(request_form, "BRIEF", 1)
        schema = {"type": "object", "properties": {"tall": {"type": "boolean"}}, "required": ["tall"]}

        assert isinstance(run(None, "Is an oak tall?", schema=schema)["response"]["tall"], bool)

    def test_a_schema_may_refer_to_itself_and_what_no_grammar_holds_is_asked_in_words(self):
        schema = {"type": "object", "properties": {"name": {"const": "oak"}, "in": {"$ref": "#"}}, "required": ["name"]}
        assert run(None, "Name an oak", schema=schema)["response"]["name"] == "oak"

        schema["properties"]["in"] = True
        error = failure(None, "Name an oak", schema={**schema, "required": ["x"]})
        assert (error.exit, error.usage["calls"]) == (65, 2)
        assert "it does not fit the schema" in error.message

    def test_a_grammar_holds_its_answers(self):
        assert run(None, "Name a bird", option=['grammar=root ::= "oak"'])["response"] == "oak"
        error = failure(None, "Name a bird", option=["grammar=root ::= ("])
        assert (error.exit, "failed to parse grammar" in error.message) == (65, True)

    def test_a_question_may_be_longer_than_512_tokens_but_not_than_its_context(self):
        assert run(None, "Sum up", text="a word " * 280, max_tokens=1)["usage"]["input"] > 512
        error = failure(None, "Sum up", text="a word " * 4200)
        assert error.exit == 65
        assert "8192 tokens" in error.message

    def test_any_gguf_file_is_a_model_and_a_conversation_with_it_goes_on(self, local_models, tmp_path):
        model = str(tmp_path / "other.gguf")
        Path(model).symlink_to(Path(local_models, "pflow", "models", "SmolLM2.gguf"))
        first = run(model, "Say hi", max_tokens=3, log=True)["usage"]
        second = run(None, "Say hi", max_tokens=3, **{"continue": True})["usage"]

        assert first["model"] == second["model"] == model
        assert second["input"] > first["input"] + first["output"]

    def test_what_is_no_model_is_refused(self, tmp_path):
        wrong = tmp_path / "wrong.gguf"
        wrong.write_text("text")

        assert failure(str(tmp_path / "missing.gguf"), "Say hi").exit == 66
        assert failure(str(wrong), "Say hi").exit == 65

    def test_a_question_that_the_engine_refuses_at_once_ends(self):
        schema = '{"properties": {"tall": {"$ref": "#/gone"}}}'
        argv = ["pflow-llm", "Say hi", "--schema", schema, "-q"]
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=60)

        assert ended.returncode == 65
        assert "cannot resolve $ref #/gone" in ended.stderr

    def test_nobody_else_can_ask_the_engine(self, local_models, load):
        loaded = load(str(Path(local_models, "pflow", "models", "SmolLM2.gguf")))

        with pytest.raises(HTTPError, match="401"):
            urlopen(f"{loaded.listening_address}/v1/models", timeout=10)


class TestStarting:
    def test_the_node_itself_imports_nothing_slow(self):
        slow = "{'llm', 'openai', 'pydantic', 'jsonschema', 'click', 'threading'}"
        program = f"import sys; from pflow.nodes.llm import Llm; Llm(); print({slow} & set(sys.modules))"
        env = {**os.environ, "PYTHONPATH": str(ROOT)}

        assert subprocess.check_output([sys.executable, "-c", program], env=env, text=True) == "set()\n"
