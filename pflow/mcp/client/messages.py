"""A server's messages: mended to the form that the SDK takes, and the result of a call as the values of a node."""

import json
from contextlib import suppress
from math import inf
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from pflow.mcp.schema import as_dict, as_list

MOST_TOOLS = 10_000
"""The most tools of a server."""

_PATIENCE = 1.0
"""Seconds to wait for the answer to the first question: servers of older protocols may not answer it."""
_UNKNOWN = types.JSONRPCError(
    jsonrpc="2.0", id=1, error=types.ErrorData(code=types.METHOD_NOT_FOUND, message="it does not say")
)


class Mended(ObjectReceiveStream[Any]):
    """A stream of a server's messages in the form that the SDK takes.

    Tools that the SDK would refuse, the others with them, are mended, or `left_out` gets the reason. A list of too many
    tools is cut. The schemas of results are removed: the SDK would check each result against them, and a server's
    `pattern` or `$ref` could take for ever, as nothing interrupts `re`. If the SDK's first question, `server/discover`,
    has no answer soon, or one without its id, as from older servers, the SDK gets an error instead: it would wait for
    ten seconds.
    """

    def __init__(self, messages: Any, left_out: dict[str, str]) -> None:
        self.messages = messages
        self.left_out = left_out
        self.patience = _PATIENCE

    async def aclose(self) -> None:
        await self.messages.aclose()

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = SessionMessage(_UNKNOWN)
        with anyio.move_on_after(self.patience):
            item = await self.messages.receive()
        message = getattr(item, "message", None)
        if self.patience < inf and isinstance(message, types.JSONRPCError) and message.id is None:
            item = SessionMessage(_UNKNOWN)
        self.patience = inf
        if isinstance(message, types.JSONRPCResponse):
            self._mend(message.result)
        return item

    def _mend(self, result: dict[str, Any]) -> None:
        """Give a result the form that the SDK takes: it refuses a list for one tool in it, a reply for one member."""
        if isinstance(tools := result.get("tools"), list):
            del tools[MOST_TOOLS + 1 :]
            tools[:] = filter(None, [self._tool(each) for each in tools])
        if isinstance(content := result.get("content"), str | dict | list):
            result["content"] = [_block(each) for each in (content if isinstance(content, list) else [content])]
        if result.get("isError", "") is None:
            del result["isError"]
        if (value := result.get("structuredContent")) is not None:
            result["content"] = result.get("content") or []
            result["structuredContent"] = value if isinstance(value, dict) else {"result": value}

    def _tool(self, tool: Any) -> dict[str, Any] | None:
        """Return what we use of a tool, as the protocol has it; None without a name, by which it could be called."""
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not name.strip():
            self.left_out[""] = "it has no name"
            return None
        schema = tool.get("inputSchema")
        kind = as_dict(schema).get("type", "object")
        if not isinstance(schema, dict | None) or "object" not in (as_list(kind) or [kind]):
            self.left_out[name] = "its inputSchema is not that of an object"
        schema = {key: each for key, each in as_dict(schema).items() if key != "$schema"} | {"type": "object"}
        schema["properties"] = {key: as_dict(each) for key, each in as_dict(schema.get("properties")).items()}
        schema["required"] = [each for each in as_list(schema.get("required")) if isinstance(each, str)]
        hints = {key: each for key, each in as_dict(tool.get("annotations")).items() if isinstance(each, bool)}
        texts = {key: tool[key] for key in ("name", "description", "title") if isinstance(tool.get(key), str)}
        return {**texts, "annotations": {**hints, "title": None}, "inputSchema": schema}


def _block(said: Any) -> dict[str, Any]:
    """Return a block of a reply as the protocol has it; as a text if it has no such form."""
    block = {name: each for name, each in as_dict(said).items() if each is not None}
    if block.get("type") in ("image", "audio"):
        block.setdefault("mimeType", "application/octet-stream")
    for each in (block, {**block, "annotations": None}):
        with suppress(ValidationError):
            types.CallToolResult.model_validate({"content": [each]})
            return each
    text = as_dict(said).get("text", said)
    text = "" if text is None else text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return {"type": "text", "text": text}


def reply_of(result: types.CallToolResult) -> tuple[str, dict[str, Any]]:
    """Return the texts of a result, one below the other, and the values that it gives a node.

    `result` is the structured content, else the texts; `files` are its images, audio and blobs, in base64; `links` are
    data. `{"result": …}`, in which frameworks put a value other than an object, gives the value.
    """
    texts, files, links = [], [], []
    for block in result.content:
        about = block.resource if isinstance(block, types.EmbeddedResource) else block
        if isinstance(about, types.TextContent | types.TextResourceContents):
            texts.append(about.text)
        elif isinstance(about, types.ResourceLink):
            links.append(about.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"type"}))
        elif isinstance(about, types.BlobResourceContents):
            kind = about.mime_type or "application/octet-stream"
            files.append({"uri": str(about.uri), "type": kind, "data": about.blob})
        else:
            files.append({"type": about.mime_type, "data": about.data})
    said, value = "\n".join(texts), result.structured_content
    if isinstance(value, dict) and list(value) == ["result"]:
        value = value["result"]
    return said, {"result": said if value is None else value, "files": files, "links": links}
