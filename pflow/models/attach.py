"""The attachments of a prompt: the bytes of the pipe, files and addresses, and the type of each."""

import os
from mimetypes import guess_type

from llm import Attachment, Model
from llm.utils import mimetype_from_string

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, PflowError, exit_code, reason_of
from pflow.files.beneath import is_confined, open_file
from pflow.files.reading import read_to_end
from pflow.models.errors import explain
from pflow.models.media import SVG, media_type
from pflow.values.encoding import ELSE, not_utf8

PIPE = "-"
"""llm's name for the bytes from the pipe, which are always attached."""


def attach(model: Model, prompt: str, piped: bytes | None, places: list[str]) -> tuple[str, list[Attachment]]:
    """Return the prompt and its attachments: the piped bytes, then the files and addresses.

    An SVG goes before the prompt, as text, if the model takes no drawings. Raises PflowError: 65, or a failed read's
    code.
    """
    found = [("what the pipe brings", Attachment(content=piped, type=_type_of(piped)))] if piped else []
    found += [(f"'{place}'", _at(place, model)) for place in places if place != PIPE]
    if PIPE in places and not piped:
        raise PflowError(f"cannot attach '{PIPE}': no file comes through the pipe", exit=MISSING)
    words, attachments = [], []
    for name, each in found:
        if each.type in model.attachment_types:
            attachments.append(each)
        elif each.type == SVG and (text := _text(each.content_bytes())):  # type: ignore[no-untyped-call]
            words.append(text.rstrip("\n"))
        else:
            if each.type is None and (why := not_utf8(each.content_bytes())):  # type: ignore[no-untyped-call]
                raise PflowError(f"cannot attach {name}: {why}, and of an unknown type", hint=ELSE, exit=BAD_DATA)
            raise _refused(name, each.type, model)
    return "\n\n".join(filter(None, [*words, prompt])), attachments


def _at(place: str, model: Model) -> Attachment:
    """Attach a path or an address. llm's log keeps the path of a regular file, and the content of anything else."""
    if place.lower().startswith(("http://", "https://")):
        return Attachment(url=place, type=_type_at(place, model))
    act = f"cannot attach '{place}'"
    try:
        with open(open_file(place), "rb", buffering=0) as file:
            data = read_to_end(file.fileno(), act)
    except OSError as error:
        raise PflowError(f"{act}: {reason_of(error)}", exit=exit_code(error)) from error
    if not data:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    kind = _type_of(data, place)
    if is_confined() or not os.path.isfile(place):  # llm would open the path once more
        return Attachment(kind, content=data)
    return Attachment(kind, path=os.path.realpath(place))


def _type_at(url: str, model: Model) -> str:
    try:
        told = Attachment(url=url).resolve_type()  # type: ignore[no-untyped-call]
        return str(told or "").partition(";")[0].strip().lower()
    except Exception as error:
        why = explain(error, model, f"cannot attach '{url}'")
        raise PflowError(why.message, exit=MISSING if why.exit == BAD_CONFIG else why.exit) from error


def _type_of(data: bytes, name: str = "") -> str | None:
    """Tell the media type by the content; for a text without a signature, by the file's name."""
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
    what = f"it is {kind or 'of an unknown type'}, and the model '{model.model_id}' takes {takes}"
    is_text = (kind or "").startswith("text/")
    hint = "send text through the pipe" if is_text else "`llm models --options` shows what each model takes"
    return PflowError(f"cannot attach {name}: {what}", hint=hint, exit=BAD_DATA)
