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
from pflow.values.encoding import not_utf8, remedy, wide_codec

PIPE = "-"
"""llm's name for the bytes from the pipe, which are always attached."""
_PIPED = "what the pipe brings"


def attach(model: Model, prompt: str, piped: bytes | None, places: list[str]) -> tuple[str, list[Attachment]]:
    """Return the prompt and its attachments: the piped bytes, then the files and addresses.

    An SVG goes before the prompt, as text, if the model takes no drawings. Raises PflowError: 65, or a failed read's
    code.
    """
    found = [(_PIPED, Attachment(content=piped, type=_type_of(piped, _PIPED)))] if piped else []
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
    kind = _type_of(data, f"'{place}'", place)
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


def _type_of(data: bytes, shown: str, name: str = "") -> str | None:
    """Tell the media type by the content; for a text without a signature, by the file's name.

    Raises PflowError (65) for a text that is not UTF-8.
    """
    text = _text(data)
    if text is not None:
        return media_type(text) or guess_type(name)[0] or "text/plain"
    kind = mimetype_from_string(data) or None
    is_wide = wide_codec(data)
    if is_wide or (kind is None and not_utf8(data)):
        why = not_utf8(data) + ("" if is_wide else ", and of an unknown type")
        raise PflowError(f"cannot attach {shown}: {why}", hint=remedy(data), exit=BAD_DATA)
    return kind


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
