"""A tool's result as the values of a node."""

from typing import Any

import mcp_types as types


def reply_of(result: types.CallToolResult) -> dict[str, Any]:
    """Return `result`, what the tool gives; `files`, its images, audio and blobs, in base64; and `links`, as data.

    The result is the structured content, else the text. What frameworks wrap because it is no object, `{"result": …}`,
    is unwrapped.
    """
    value = result.structured_content
    if isinstance(value, dict) and list(value) == ["result"]:
        value = value["result"]
    reply: dict[str, Any] = {"result": texts_of(result) if value is None else value, "files": [], "links": []}
    for block in result.content:
        if isinstance(block, types.ImageContent | types.AudioContent):
            reply["files"].append({"type": block.mime_type, "data": block.data})
        elif isinstance(block, types.EmbeddedResource) and isinstance(block.resource, types.BlobResourceContents):
            about = block.resource
            file = {"uri": str(about.uri), "type": about.mime_type or "application/octet-stream", "data": about.blob}
            reply["files"].append(file)
        elif isinstance(block, types.ResourceLink):
            reply["links"].append(block.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"type"}))
    return reply


def texts_of(result: types.CallToolResult) -> str:
    """Return the texts of a result, those of embedded resources too, one below the other."""
    texts = []
    for block in result.content:
        if isinstance(block, types.TextContent):
            texts.append(block.text)
        elif isinstance(block, types.EmbeddedResource) and isinstance(block.resource, types.TextResourceContents):
            texts.append(block.resource.text)
    return "\n".join(texts)
