"""The attachments of a prompt: the bytes of the pipe, files and addresses, and the type of each."""

import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from llm import Attachment, Model

from pflow.errors import BAD_DATA, MISSING, Attempt, PflowError
from pflow.files.beneath import is_confined, open_file
from pflow.files.reading import read_to_end
from pflow.models.media import HTML, SVG, common_name, type_of

PIPE = "-"
"""llm's name for the bytes from the pipe, which are always attached."""
_PIPED = "what the pipe brings"


def attach(
    model: Model, prompt: str, piped: bytes | None, places: list[str], types: Mapping[str, str]
) -> tuple[str, list[Attachment]]:
    """Return the prompt and its attachments: the piped bytes, then the files and addresses.

    `types` names the type of places, which are attached too. An SVG goes before the prompt, as text, if the model takes
    no drawings. Raises PflowError: 65, or a failed read's code.
    """
    places = [*places, *(place for place in types if place not in places)]
    found = []
    if piped:
        found.append((_PIPED, Attachment(types.get(PIPE) or type_of(piped, _PIPED), content=piped)))
    elif PIPE in places:
        raise PflowError(f"cannot attach '{PIPE}': no file comes through the pipe", exit=MISSING)
    found += [(f"'{each}'", _at(each, model, types.get(each))) for each in places if each != PIPE]
    words, attachments = [], []
    for name, each in found:
        each.type = common_name(each.type, model.attachment_types)
        if each.type in model.attachment_types:
            attachments.append(each)
        elif each.type == SVG:
            words.append(each.content_bytes().decode(errors="replace").rstrip("\n"))  # type: ignore[no-untyped-call]
        else:
            raise _refused(name, each.type, model)
    return "\n\n".join(filter(None, [*words, prompt])), attachments


def _at(place: str, model: Model, kind: str | None) -> Attachment:
    """Attach a path or an address, as this kind if it is known.

    llm's log keeps the path of a regular file, and the content of anything else.
    """
    if place.lower().startswith(("http://", "https://")):
        return _at_address(place, model, kind)
    act = f"cannot attach '{place}'"
    with Attempt(act), open(open_file(place), "rb", buffering=0) as file:
        data = read_to_end(file.fileno(), act)
    if not data:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    kind = kind or type_of(data, f"'{place}'", place)
    if is_confined() or not os.path.isfile(place):  # llm would open the path once more
        return Attachment(kind, content=data)
    return Attachment(kind, path=os.path.realpath(place))


def _at_address(url: str, model: Model, kind: str | None) -> Attachment:
    """Attach an address, which the provider reads; its content if it cannot, or if that is to be text."""
    from pflow.models.remote_file import fetch, look_at
    from pflow.web.hosts import is_near

    act, shown, name = f"cannot attach '{url}'", f"'{url}'", unquote(urlsplit(url).path)
    host, base = (urlsplit(each or "").hostname or "" for each in (url, getattr(model, "api_base", None)))
    if not is_near(host) or is_near(base):
        if kind is None:
            said, data = look_at(url, act, name)
            kind = type_of(data, shown, name, said) if data else said
        if kind != SVG or SVG in model.attachment_types:
            return Attachment(kind, url=url)
    said, data = fetch(url, act)
    return Attachment(kind or type_of(data, shown, name, said), content=data)


def _refused(name: str, kind: str | None, model: Model) -> PflowError:
    takes = ", ".join(sorted(model.attachment_types)) or "no attachments"
    told = "an HTML page" if kind == HTML else kind or "of an unknown type"
    what = f"it is {told}, and the model '{model.model_id}' takes {takes}"
    is_text = (kind or "").startswith("text/")
    hint = "send text through the pipe" if is_text else "`llm models --options` shows what each model takes"
    hint = hint if kind else "--at PATH TYPE names its type"
    return PflowError(f"cannot attach {name}: {what}", hint=hint, exit=BAD_DATA)
