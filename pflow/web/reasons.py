"""The reason that a provider gives for a failure, in any form, and its meaning."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, FAILED, MISSING, TRY_AGAIN, causes

_MOST = 20_000
"""The most characters of a response that are read for its reason."""

_VAGUE = (None, 400, 500, 502)
"""The statuses that say little: a status in the body counts instead, if it is below 500."""

_CODES = "status_code statuscode code status type __type reason error_code errorcode error_type error_status_code"
_WORDS = (
    "title loc message msg error_message error_msg errormessage status_msg faultstring error errors detail "
    "error_description fault innererror metadata raw base_resp"
)
"""The members of an error that hold codes, and those that hold words or further members."""

_QUOTED = r"""`[^`]*`|"[^"]*"|(?<!\w)'[^']*'(?!\w)|“[^”]*”"""
_MEMBER = r"""['"](message|code|type|status|error)['"]: *(?:'([^']*)'|"([^"]*)"|(\d+))"""
_KEY = "(api|access|secret|x-api)[ _-]?(key|token)"
_MODEL = r"\b(models?|deployment|engine)\b.{0,80}?"


class FailureKind(NamedTuple):
    """A kind of failure: its exit code, and the patterns that name it.

    `codes` are looked for in codes such as `invalid_api_key`, of which only the letters are left, and `words` in
    sentences, both in lower case.
    """

    exit: int
    codes: str
    words: str


KINDS = {
    # The provider's filter refused the question or the answer: other words, not another try, may help.
    "filter": FailureKind(
        FAILED,
        "content(filter|policy)|responsibleai|moderation|datainspection|invalidprompt|safety|sensitive|policyviolation",
        "content (management |usage )?(policy|filter)|safety (system|filter)|(was|were|been) (flagged|blocked)"
        "|requires moderation|inappropriate content|content exists risk",
    ),
    # The account has no money. OpenAI says "exceeded your current quota"; so does Gemini's rate limit, but that names
    # a metric or a time to retry.
    "credit": FailureKind(
        DENIED,
        "insufficient(user)?(quota|credit|balance|fund)|billing|payment|creditbal|arrear|freetieronly|currentquota"
        "|budgetexceeded",
        "credit balance|insufficient (account |user )?(credit|balance|fund|quota)|payment required|can only afford"
        "|(out of|not enough|requires more|monthly included) credits|account is (overdue|not act)|specified api usage"
        "|credits? (are|is|been) (depleted|exhausted)|(enable|activate) billing|billing (is not active|hard limit)"
        "|balance is (insufficient|too low)|余额不足|额度不足"
        "|^(?!.*(exhausted|retry in|for metric)).*exceeded your current quota",
    ),
    # The key, or the login, is missing or wrong, so that another key helps.
    "key": FailureKind(
        DENIED,
        "apikey|authentica|unauthori|authorization|invalidkey|deactivated|expiredtoken|unrecognizedclient|invalidclient",
        f"(incorrect|invalid|missing|expired|no|wrong) {_KEY}|{_KEY}s? (is |was |has )?(not|inv|inc|exp|miss|req)"
        "|no auth credentials|not authenticated|(invalid|could not resolve) authentication|authentication (fail|error)"
        "|login fail|unregistered callers|organization has been disabled",
    ),
    # The key is right, but has no right to this, or not from this country: `llm keys set` would not help.
    "access": FailureKind(
        DENIED,
        "permission|^(request)?forbidden|accessdenied|accessterminated|unsupportedcountry",
        "permission denied|(country|location|region).{0,40}not supported",
    ),
    # The question is too long for the model. OpenAI calls it a rate limit if an account's limit is smaller than one
    # question, but to wait does not help.
    "length": FailureKind(
        BAD_DATA,
        "context(length|window|size)|toolong|toolarge|toomanytokens|tokenslimit|tokensper|maxlength",
        "(maximum|max) (context|prompt|input|sequence) length|context[ _](length|window|size)"
        "|(prompt|input|request|message|query)s? (is |are |was )?too (long|large)|too many tokens( in|:)"
        "|token count.{0,40}exceed|input tokens exceed|reduce the length|must be reduced"
        "|exceed.{0,40}(number of tokens|token limit)",
    ),
    # The model does not exist or was retired. Only a sentence about a model counts: anything may be "not found".
    "model": FailureKind(
        BAD_CONFIG,
        "model(is|does)?not(found|exist|support)|(nosuch|unknown|invalid|unavailable)model|modeldec|modeldep"
        "|(deployment|resource)notfound",
        f"(no such|unknown|invalid|not a valid) model|{_MODEL}(does not|doesn't) exist|{_MODEL}not found|try pulling it"
        f"|{_MODEL}(is|been|was) (deprecated|decommissioned|retired|discontinued|shut ?down)"
        "|no endpoints found|no models? loaded",
    ),
    # A member of the request is unknown, missing or malformed. There is no pattern for words: they vary too much.
    "value": FailureKind(
        BAD_DATA,
        "invalid(value|type|schema|json|image|base64)|unsupported(value|param)|unknownparam|missingrequired|(above|below)m",
        "(?!)",
    ),
    # There are too many requests, from us or from all users. "credit" and "length" come first, since they share words.
    "busy": FailureKind(
        TRY_AGAIN,
        "ratelimit|toomanyrequests|throttl|exhausted|overload|capacity|slowdown|busy|quotaexceeded|concurren",
        "rate.?limit|too many requests|overloaded|high demand|at capacity|slow down|resource (has been )?exhausted"
        "|exceeded your current quota",
    ),
    # The provider failed or was too slow. It comes last, since rate limits say "try again", too.
    "down": FailureKind(
        TRY_AGAIN,
        "unavailable|servererror|internal|timeout|timedout|deadline|upstream|badgateway|notready|^apierror|aborted",
        "try again|retry (in|after|later)|temporarily|timed? ?out|unavailable|bad gateway|internal (server )?err"
        "|is (currently )?loading",
    ),
}
"""The kinds of failure; the first whose pattern is found counts."""


class StatusMeaning(NamedTuple):
    """The meaning of an HTTP status: an exit code for any server, and the kind in KINDS if a provider sends it."""

    exit: int
    kind: str


_STATUSES = {
    **dict.fromkeys((400, 411, 415, 422, 431), StatusMeaning(BAD_DATA, "value")),
    **dict.fromkeys((401, 407), StatusMeaning(DENIED, "key")),
    402: StatusMeaning(BAD_DATA, "credit"),
    403: StatusMeaning(DENIED, "access"),
    **dict.fromkeys((404, 410), StatusMeaning(MISSING, "model")),
    405: StatusMeaning(BAD_DATA, "model"),
    **dict.fromkeys((408, 425), StatusMeaning(TRY_AGAIN, "down")),
    **dict.fromkeys((409, 424), StatusMeaning(BAD_DATA, "down")),
    **dict.fromkeys((413, 414), StatusMeaning(BAD_DATA, "length")),
    423: StatusMeaning(TRY_AGAIN, "other"),
    429: StatusMeaning(TRY_AGAIN, "busy"),
    451: StatusMeaning(DENIED, "other"),
    501: StatusMeaning(TRY_AGAIN, "model"),
}
_CLASSES = {4: StatusMeaning(BAD_DATA, "other"), 5: StatusMeaning(TRY_AGAIN, "down")}


def meaning_of_status(status: int) -> StatusMeaning:
    """Return the meaning of a status, else that of its class (4xx or 5xx)."""
    return _STATUSES.get(status, _CLASSES.get(status // 100, StatusMeaning(FAILED, "other")))


_LASTING = {"busy": (405, 413, 422), "down": (401, 402, 403, 404, 405, 413, 422)}
"""The statuses that outweigh a code of these kinds: another try would not help."""

_VAGUE_CODES = {"model": "notfound", "value": "invalid(request|arg)|badrequest|validation|unprocess|precondition"}
"""The kinds of vague codes, which count only if there is no status."""


def exit_of(kind: str) -> int:
    """Return the exit code of a kind of failure; 1 for an unknown kind."""
    return KINDS[kind].exit if kind in KINDS else FAILED


@dataclass
class Reason:
    """A provider's account of a failure: an HTTP status, codes such as `invalid_api_key`, and words on one line."""

    status: int | None = None
    codes: list[str] = field(default_factory=list)
    words: str = ""

    def kind(self) -> str:
        """Return the kind in KINDS, "other" for a status without a kind, "" if nothing tells it.

        Look first for a failure that will last: in the codes, then in the words. Then look for one that may pass: in
        the codes, the status and the words.
        """
        codes = [re.sub("[^a-z0-9]", "", code.lower()) for code in self.codes]
        words = " ".join([*codes, *re.sub(_QUOTED, "", self.words).lower().split()])  # not a quoted prompt or name
        by_code = _first({kind: each.codes for kind, each in KINDS.items()}, *codes)
        by_words = _first({kind: each.words for kind, each in KINDS.items()}, words)
        for kind in (by_code, by_words):
            if kind and KINDS[kind].exit != TRY_AGAIN:
                return kind
        if by_code and self.status not in _LASTING[by_code]:
            return by_code
        if self.status is not None:
            return meaning_of_status(self.status).kind
        return (by_words == "busy" and by_words) or _first(_VAGUE_CODES, *codes) or by_words

    def note(self, said: Any) -> None:
        """Store a status, which may be a number or a text, or a code."""
        text = "" if isinstance(said, bool) or not isinstance(said, int | str) else str(said).strip()
        if re.fullmatch(r"[345]\d\d", text):
            if self.status is None or (self.status in _VAGUE and int(text) < 500):
                self.status = int(text)
        elif text and not text.isdigit():
            self.codes.append(text)

    def read(self, said: Any, depth: int = 8) -> str:
        """Store the codes of an error of any shape, and return its words."""
        if isinstance(said, str | bytes):
            return self._read_text(str(said, "utf-8", "replace") if isinstance(said, bytes) else said, depth)
        if depth == 0 or not isinstance(said, dict | list):
            self.note(said)
            return ""
        if isinstance(said, list):
            return "; ".join(filter(None, (self.read(each, depth - 1) for each in said[:5])))
        members = {str(name).lower(): member for name, member in said.items()}
        if isinstance(loc := members.get("loc"), list):  # FastAPI's path to a missing member
            members["loc"] = ".".join(map(str, loc))
        for name in _CODES.split():
            self.note(members.get(name))
        self.read(members.get("details"), depth - 1)  # only for its codes: Gemini's words here are for its own clients
        found = [self.read(members.get(name), depth - 1) for name in _WORDS.split()]
        return ": ".join(dict.fromkeys(filter(None, found)))

    def _read_text(self, text: str, depth: int) -> str:
        text = text.strip()[:_MOST]
        if re.match("<[A-Za-z!?]", text):  # a gateway sends a page, whose title says what happened
            from html import unescape  # takes milliseconds to load, and is seldom needed

            title = re.search(r"(?is)<(title|h1|message)\b[^>]*>(.*?)</", text)
            return unescape(title[2]).strip() if title else "a page without a title"
        if depth and (start := re.search(r"[\[{]", text)):
            said = _decode(text[start.start() :])
            is_error = isinstance(said, list) or {*map(str.lower, said or {})} & {*_WORDS.split()}
            if is_error and (words := self.read(said, depth - 1)):
                return f"{text[: start.start()]}{words}"
        if len(text.split()) == 1:
            self.note(text)
        return text


def read_reason(error: BaseException) -> Reason:
    """Return the reason in an exception of any library, or in those that led to it. It may be empty."""
    reason = Reason()
    for each in causes(error):
        response: Any = getattr(each, "response", None)
        for holder in (each, response):
            reason.note(getattr(holder, "status_code", None))
        for name in ("code", "status", "type"):
            reason.note(getattr(each, name, None))
        text = None
        with suppress(Exception):  # httpx raises if the stream was not read, or is closed
            text = response.text
        bodies = [getattr(each, name, None) for name in ("body", "details", "error")]
        for body in (*bodies, response if isinstance(response, dict) else None, text):
            reason.words = reason.words or reason.read(body)
    return reason


def _first(patterns: dict[str, str], *texts: str) -> str:
    """Return the name of the first pattern that is in one of the texts; "" if none is."""
    return next((name for name, each in patterns.items() if any(re.search(each, text) for text in texts)), "")


def _decode(text: str) -> Any:
    """Return the JSON at the beginning of a text; if it is cut or written as Python, its members that give a reason."""
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(text)[0]
    return {name: one or two or number for name, one, two, number in re.findall(_MEMBER, text)}
