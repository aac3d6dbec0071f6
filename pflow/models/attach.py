"""What goes along with a question: bytes, files and addresses, each with its media type, as far as a model takes it."""

from __future__ import annotations

import os
from mimetypes import guess_type
from pathlib import Path

from llm import Attachment, Model
from llm.utils import mimetype_from_string

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, PflowError, exit_code, reason_of
from pflow.models.errors import explain
from pflow.models.media import SVG, media_type

PIPE = "-"
"""llm's name for the bytes that come through the pipe, which go along anyway."""


def attach(model: Model, prompt: str, piped: bytes | None, places: list[str]) -> tuple[str, list[Attachment]]:
    """The words, and what goes with them: what came through the pipe, then the files and addresses.

    A drawing is words where the model takes no drawings. Raises PflowError: 65 for what the model does not take, else
    the code of what cannot be read.
    """
    found = [("the text", Attachment(content=piped, type=_type_of(piped)))] if piped else []
    found += [(f"'{place}'", _at(place, model)) for place in places if place != PIPE]
    if PIPE in places and not piped:
        raise PflowError(f"cannot attach '{PIPE}': no file comes through the pipe", exit=MISSING)
    words, attachments = [prompt], []
    for name, each in found:
        if each.type in model.attachment_types:
            attachments.append(each)
        elif each.type == SVG and (text := _text(each.content_bytes())):  # type: ignore[no-untyped-call]
            words.append(text)
        else:
            raise _refused(name, each.type, model)
    return "\n\n".join(filter(None, words)), attachments


def _at(place: str, model: Model) -> Attachment:
    """What lies at an address or a path. llm's log keeps the path of a file, and the content of what is none."""
    if place.lower().startswith(("http://", "https://")):
        return Attachment(url=place, type=_type_at(place, model))
    try:
        data = Path(place).read_bytes()
    except OSError as error:
        raise PflowError(f"cannot attach '{place}': {reason_of(error)}", exit=exit_code(error)) from error
    if not data:
        raise PflowError(f"cannot attach '{place}': it is empty", exit=MISSING)
    kind = _type_of(data, place)
    return Attachment(kind, path=os.path.realpath(place)) if os.path.isfile(place) else Attachment(kind, content=data)


def _type_at(url: str, model: Model) -> str:
    """The type that the server tells llm."""
    try:
        told = Attachment(url=url).resolve_type()  # type: ignore[no-untyped-call]
        return str(told or "").partition(";")[0].strip().lower()
    except Exception as error:
        why = explain(error, model, f"cannot attach '{url}'")
        raise PflowError(why.message, exit=MISSING if why.exit == BAD_CONFIG else why.exit) from error


def _type_of(data: bytes, name: str = "") -> str | None:
    """The media type, by the content; of a text without a signature by its file's name."""
    text = _text(data)
    if text is None:
        return mimetype_from_string(data)
    return media_type(text) or guess_type(name)[0] or "text/plain"


def _text(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _refused(name: str, kind: str | None, model: Model) -> PflowError:
    takes = ", ".join(sorted(model.attachment_types)) or "no attachments"
    is_text = (kind or "").startswith("text/")
    return PflowError(
        f"cannot attach {name}: it is {kind or 'of an unknown type'}, and the model '{model.model_id}' takes {takes}",
        hint="text goes through the pipe" if is_text else "`llm models --options` shows what each model takes",
        exit=BAD_DATA,
    )
